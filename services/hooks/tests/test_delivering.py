"""Deliveries to real endpoints: what arrives, what is recorded, what happens when it fails."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import datetime, timedelta
from urllib.parse import parse_qs

import pytest
from prometheus_client import REGISTRY
from sqlalchemy import update
from standardwebhooks import Webhook

from ingot_chassis.egress import Egress
from ingot_chassis.tables import now
from ingot_chassis.testing.receiver import Answer, Receiver
from ingot_hooks.bell import Bell
from ingot_hooks.clients.endpoints import HttpEndpoints
from ingot_hooks.core.schedule import PAUSES
from ingot_hooks.settings import Settings
from ingot_hooks.store import claims
from ingot_hooks.workers import Deliverer, Lag, Retention

from .builders import Sisters, push
from .conftest import World
from .histories import HOOKS, change_all, claim, history, make

SECRET = "whsec_" + "a2s" * 16 + "aw=="


async def test_a_push_arrives_signed_and_is_recorded(world: World, receiver: Receiver) -> None:
    receiver.answer(200, body=b"thanks", headers={"X-Run": "12"})
    id_ = await make(world, receiver.url + "/ci?x=1", secret=SECRET)
    await world.hear(push())
    await world.deliverer.step()
    (request,) = receiver.requests
    assert (request.method, request.path) == ("POST", "/ci?x=1")
    assert request.headers["Content-Type"] == "application/json"
    Webhook(SECRET).verify(request.body, dict(request.headers))
    (shown,) = await history(world, id_)
    assert shown["id"] == request.headers["X-Gitea-Delivery"] == request.headers["webhook-id"]
    assert (shown["state"], shown["status_code"], shown["attempts"]) == ("delivered", 200, 1)
    full = (await world.call("GET", f"{HOOKS}/{id_}/deliveries/{shown['id']}")).json()
    assert full["response"]["body"] == "thanks"
    assert full["response"]["headers"]["X-Run"] == "12"
    assert full["request"]["payload"] == json.loads(request.body)


async def test_the_github_headers_keep_their_letters(world: World, receiver: Receiver) -> None:
    await make(world, receiver.url)
    await world.hear(push())
    await world.deliverer.step()
    assert "X-GitHub-Event" in list(receiver.requests[0].headers)


async def test_a_form_holds_the_json_and_verifies_as_sent(world: World, receiver: Receiver) -> None:
    await make(world, receiver.url, secret=SECRET, content_type="form")
    await world.hear(push())
    await world.deliverer.step()
    (request,) = receiver.requests
    assert json.loads(parse_qs(request.body.decode())["payload"][0])["ref"] == "refs/heads/main"
    Webhook(SECRET).verify(request.body, dict(request.headers), json_parse=False)


async def test_a_failure_is_tried_again_under_the_same_id(world: World, receiver: Receiver) -> None:
    receiver.answer_next(500)
    id_ = await make(world, receiver.url)
    await world.hear(push())
    await world.deliverer.step()
    (shown,) = await history(world, id_)
    assert (shown["state"], shown["status_code"], shown["error"]) == ("pending", 500, "answered 500")
    assert await world.deliverer.step() == 0
    await change_all(world, next_attempt_at=now())
    await world.deliverer.step()
    (again,) = await history(world, id_)
    assert (again["state"], again["attempts"], again["error"]) == ("delivered", 2, "")
    assert len({request.headers["webhook-id"] for request in receiver.requests}) == 1


async def test_an_endpoint_that_asks_for_a_pause_gets_it(world: World, receiver: Receiver) -> None:
    receiver.answer_next(Answer(429, headers={"retry-after": "7200"}))
    id_ = await make(world, receiver.url)
    await world.hear(push())
    await world.deliverer.step()
    (shown,) = await history(world, id_)
    attempted, again = (datetime.fromisoformat(shown[name]) for name in ("attempted_at", "next_attempt_at"))
    assert (shown["state"], shown["status_code"]) == ("pending", 429)
    assert timedelta(hours=2) <= again - attempted < timedelta(hours=3)


async def test_a_redirect_is_a_failure_and_not_followed(world: World, receiver: Receiver) -> None:
    receiver.answer(302, headers={"Location": receiver.url + "/elsewhere"})
    id_ = await make(world, receiver.url)
    await world.hear(push())
    await world.deliverer.step()
    assert len(receiver.requests) == 1
    assert (await history(world, id_))[0]["error"] == "answered 302"


async def test_the_last_attempt_fails_the_delivery(world: World, receiver: Receiver) -> None:
    receiver.answer(500)
    id_ = await make(world, receiver.url)
    await world.hear(push())
    await change_all(world, attempts=len(PAUSES) - 1)
    await world.deliverer.step()
    (shown,) = await history(world, id_)
    assert (shown["state"], shown["next_attempt_at"]) == ("failed", None)


async def test_an_endpoint_that_is_not_there_is_recorded_in_words(world: World, receiver: Receiver) -> None:
    id_ = await make(world, "http://127.0.0.1:1/")
    await world.hear(push())
    await world.deliverer.step()
    (shown,) = await history(world, id_)
    assert shown["status_code"] == 0
    assert shown["error"].startswith("no connection")


async def test_an_address_that_is_not_allowed_is_refused_in_words(world: World) -> None:
    id_ = await make(world, "http://[::1]:8080/")
    await world.hear(push())
    await world.deliverer.step()
    (shown,) = await history(world, id_)
    assert "loopback" in shown["error"]
    assert "INGOT_HOOKS_ALLOWED_TARGETS" in shown["error"]


async def test_only_the_beginning_of_an_answer_is_kept(world: World, receiver: Receiver) -> None:
    receiver.answer(200, body=b"\x00\xff" * 100_000)
    id_ = await make(world, receiver.url)
    await world.hear(push())
    await world.deliverer.step()
    async with world.db.read() as db:
        row = (await db.execute(world.db.metadata.tables["delivery"].select())).one()
    assert row.state == "delivered"
    assert len(row.response_body) == 64 * 1024
    assert (await world.call("GET", f"{HOOKS}/{id_}/deliveries/{row.id}")).status_code == 200


@pytest.fixture
async def cramped(settings: Settings) -> AsyncIterator[World]:
    """Delivers one thing more at a time than one endpoint may get, and waits long for each."""
    settings.delivery_workers, settings.delivery_seconds = settings.endpoint_concurrency + 1, 60
    world = World(settings, Sisters())
    yield world
    await world.close()


async def test_a_hanging_endpoint_takes_its_own_places_and_fifty_others_get_all(cramped: World) -> None:
    async with AsyncExitStack() as open_:
        dead, *good = [await open_.enter_async_context(Receiver()) for _ in range(51)]
        dead.answer(200, delay=3600)
        for url in [dead.url] * 10 + [receiver.url for receiver in good]:
            await make(cramped, url)
        await cramped.hear(push())
        await cramped.hear(push())
        delivering = asyncio.create_task(cramped.deliverer.run())
        for receiver in good:
            await receiver.wait_for(2, timeout=60)
        assert len(dead.requests) == cramped.settings.endpoint_concurrency
        delivering.cancel()
        await asyncio.gather(delivering, return_exceptions=True)


async def fail_all(world: World) -> None:
    """As if the last that was sent to each hook had failed."""
    async with world.db.transaction() as tx:
        await tx.execute(update(world.db.metadata.tables["hook"]).values(failing_since=now()))


async def test_many_hanging_endpoints_that_have_failed_leave_half_of_the_places(cramped: World) -> None:
    async with AsyncExitStack() as open_:
        good, *dead = [await open_.enter_async_context(Receiver()) for _ in range(11)]
        for receiver in dead:
            receiver.answer(200, delay=3600)
            await make(cramped, receiver.url)
        await fail_all(cramped)
        await make(cramped, good.url)
        await cramped.hear(push())
        await cramped.hear(push())
        delivering = asyncio.create_task(cramped.deliverer.run())
        await good.wait_for(2, timeout=60)
        assert sum(len(receiver.requests) for receiver in dead) <= cramped.settings.delivery_workers // 2
        delivering.cancel()
        await asyncio.gather(delivering, return_exceptions=True)


@pytest.mark.parametrize("of_failing", [True, False])
async def test_claims_can_leave_out_hooks_that_fail(world: World, of_failing: bool) -> None:
    failing = await make(world, "http://one.example.org/")
    await fail_all(world)
    well = await make(world, "http://other.example.org/")
    await world.hear(push())
    claimed = await claim(world, claims.Claimable(4, of_failing=of_failing))
    assert [row.hook_id for row in claimed] == ([failing, well] if of_failing else [well])
    left = await claim(world, claims.Claimable(4))
    assert [row.hook_id for row in left] == ([] if of_failing else [failing])


async def test_whatever_waits_behind_one_delivery_others_are_found(world: World) -> None:
    hanging = await make(world, "http://one.example.org/")
    await world.hear(push())
    (held,) = await claim(world)
    backlog = [
        held._asdict()
        | {"number": 1000 + n, "id": str(n), "event_id": str(n), "sequence": 100 + n}
        | {"state": "pending", "lease_until": None}
        for n in range(2, 2 + claims.OLDEST)
    ]
    async with world.db.transaction() as tx:
        await tx.execute(world.db.metadata.tables["delivery"].insert(), backlog)
    good = await make(world, "http://other.example.org/")
    for _ in range(2):
        await world.hear(push())
    assert [(row.hook_id, row.sequence) for row in await claim(world)] == [(good, 1)]
    async with world.db.transaction() as tx:
        await claims.record(tx, [(held, {"state": "delivered"})])
    assert [(row.hook_id, row.sequence) for row in await claim(world)] == [(hanging, 102)]


async def test_deliveries_of_one_repository_arrive_in_order(world: World, receiver: Receiver) -> None:
    await make(world, receiver.url)
    for _ in range(5):
        await world.hear(push())
    await world.deliverer.step()
    assert [request.headers["X-Ingot-Sequence"] for request in receiver.requests] == list("12345")


async def test_the_delivery_of_a_dead_worker_is_taken_over_under_its_id(
    world: World, receiver: Receiver
) -> None:
    id_ = await make(world, receiver.url)
    await world.hear(push())
    (dead,) = await claim(world, lease=timedelta(seconds=-1))
    await world.deliverer.step()
    assert [request.headers["webhook-id"] for request in receiver.requests] == [dead.id]
    async with world.db.transaction() as tx:
        assert await claims.held(tx, [dead]) == set()
    assert [row["state"] for row in await history(world, id_)] == ["delivered"]


async def test_a_delivery_under_lease_is_nobody_elses(world: World, receiver: Receiver) -> None:
    await make(world, receiver.url)
    await world.hear(push())
    await claim(world)
    assert await world.deliverer.step() == 0


async def test_a_stopped_worker_hands_its_delivery_back(world: World, receiver: Receiver) -> None:
    receiver.answer_next(Answer(200, delay=3600))
    id_ = await make(world, receiver.url)
    await world.hear(push())
    delivering = asyncio.create_task(world.deliverer.run())
    await receiver.wait_for(1)
    delivering.cancel()
    await asyncio.gather(delivering, return_exceptions=True)
    (shown,) = await history(world, id_)
    assert (shown["state"], shown["attempts"]) == ("pending", 0)
    await world.deliverer.step()
    assert len({request.headers["webhook-id"] for request in receiver.requests}) == 1


async def test_a_test_reaches_an_inactive_hook(world: World, receiver: Receiver) -> None:
    id_ = await make(world, receiver.url, active=False, events=["issues"])
    assert (await world.call("POST", f"{HOOKS}/{id_}/tests")).status_code == 204
    await world.deliverer.step()
    (request,) = receiver.requests
    assert request.headers["X-Gitea-Event"] == "push"
    assert json.loads(request.body)["sender"]["login"] == "ann"


async def test_an_ended_delivery_can_be_sent_once_more(world: World, receiver: Receiver) -> None:
    id_ = await make(world, receiver.url)
    await world.hear(push())
    (waiting,) = await history(world, id_)
    path = f"{HOOKS}/{id_}/deliveries/{waiting['id']}/attempts"
    assert (await world.call("POST", path)).status_code == 409
    await world.deliverer.step()
    assert (await world.call("POST", path)).status_code == 202
    await world.deliverer.step()
    assert [request.headers["webhook-id"] for request in receiver.requests] == [waiting["id"]] * 2


async def test_the_history_of_another_hook_is_not_found(world: World, receiver: Receiver) -> None:
    one, other = await make(world, receiver.url), await make(world, receiver.url, active=False)
    await world.hear(push())
    (delivery,) = await history(world, one)
    assert (await world.call("GET", f"{HOOKS}/{other}/deliveries/{delivery['id']}")).status_code == 404
    assert (
        await world.call("POST", f"{HOOKS}/{other}/deliveries/{delivery['id']}/attempts")
    ).status_code == 404
    assert (await world.call("GET", f"{HOOKS}/{one}/deliveries", user=2)).status_code == 403


async def test_old_history_is_dropped_and_what_waits_is_kept(world: World, receiver: Receiver) -> None:
    id_ = await make(world, receiver.url)
    await world.hear(push())
    await world.deliverer.step()
    await world.hear(push())
    await change_all(world, created_at=now() - timedelta(days=31))
    assert await Retention(world.db, world.settings).step() == 1
    assert [row["state"] for row in await history(world, id_)] == ["pending"]


async def test_how_long_the_oldest_delivery_waits_is_measured(world: World, receiver: Receiver) -> None:
    async def measured() -> float:
        await Lag(world.db).measure()
        return REGISTRY.get_sample_value("ingot_hook_lag_seconds") or 0.0

    await make(world, receiver.url)
    assert await measured() == 0
    await world.hear(push())
    await change_all(world, next_attempt_at=now() - timedelta(minutes=5))
    assert await measured() >= 300
    await world.deliverer.step()
    assert await measured() == 0


async def test_two_workers_send_everything_once(world: World, receiver: Receiver) -> None:
    for _ in range(5):
        await make(world, receiver.url)
    for _ in range(4):
        await world.hear(push())
    endpoints = HttpEndpoints(Egress(["127.0.0.1"], "TARGETS").refusal, 10)
    parts = (endpoints, world.app.state.seal, Bell(), world.app.state.rights)
    other = Deliverer(world.db, world.settings, *parts)
    await asyncio.gather(world.deliverer.step(), other.step())
    await world.deliverer.step()
    await endpoints.close()
    ids = [request.headers["webhook-id"] for request in receiver.requests]
    assert len(ids) == len(set(ids)) == 20


async def test_a_lane_is_sent_in_order_over_one_connection_and_stops_at_a_failure(
    world: World, receiver: Receiver
) -> None:
    receiver.answer_next(204, 204, 500)
    id_ = await make(world, receiver.url)
    for _ in range(5):
        await world.hear(push())
    await world.deliverer.step()
    assert [request.headers["X-Ingot-Sequence"] for request in receiver.requests] == list("12345")
    assert [row["attempts"] for row in await history(world, id_)] == [1] * 5
