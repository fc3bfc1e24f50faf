"""Deliveries to real endpoints: what arrives, what is recorded, and what follows from a failure."""

import asyncio
import itertools
import json
import random
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime, timedelta
from urllib.parse import parse_qs

import msgspec
import pytest
from sqlalchemy import make_url
from standardwebhooks import Webhook
from structlog.testing import capture_logs

from ingot_chassis.clock import now
from ingot_chassis.db import pool
from ingot_contracts.repos.events import AccessChanged
from ingot_hooks.deliveries.jobs.sending import FRESH_SECONDS
from ingot_hooks.deliveries.jobs.slots import FIRST_PER_SLOT
from ingot_hooks.deliveries.rules.schedule import PAUSES
from ingot_hooks.deliveries.store import claims
from ingot_testing.receiver import Answer, Receiver
from ingot_testing.wires import wire

from ..builders import ACME, NEW, OLD, hook, push, repository
from ..world import HOOKS, MEMBER, World

SECRET = "whsec_" + "a2s" * 16 + "aw=="


async def test_a_push_arrives_signed_and_is_recorded(world, receiver):
    receiver.answer(200, body=b"thanks", headers={"X-Run": "12"})
    hook_id = await world.create_hook(receiver.url + "/ci?x=1", secret=SECRET)
    await world.deliver(push())
    await world.worker.step()
    (request,) = receiver.requests
    assert (request.method, request.path) == ("POST", "/ci?x=1")
    assert request.headers["Content-Type"] == "application/json"
    Webhook(SECRET).verify(request.body, dict(request.headers))
    (delivery,) = await world.history(hook_id)
    assert delivery["id"] == request.headers["X-Gitea-Delivery"] == request.headers["webhook-id"]
    assert (delivery["state"], delivery["status_code"], delivery["attempts"]) == ("delivered", 200, 1)
    full = (await world.call("GET", f"{HOOKS}/{hook_id}/deliveries/{delivery['id']}")).json()
    assert full["response"]["body"] == "thanks"
    assert full["response"]["headers"]["X-Run"] == "12"
    assert full["request"]["payload"] == json.loads(request.body)


async def test_the_github_headers_keep_their_letters(world, receiver):
    await world.create_hook(receiver.url)
    await world.deliver(push())
    await world.worker.step()
    assert "X-GitHub-Event" in list(receiver.requests[0].headers)


async def test_a_form_holds_the_json_and_verifies_as_sent(world, receiver):
    await world.create_hook(receiver.url, secret=SECRET, content_type="form")
    await world.deliver(push())
    await world.worker.step()
    (request,) = receiver.requests
    assert json.loads(parse_qs(request.body.decode())["payload"][0])["ref"] == "refs/heads/main"
    Webhook(SECRET).verify(request.body, dict(request.headers), json_parse=False)


async def test_a_failure_is_attempted_again_under_the_same_id(world, receiver):
    receiver.answer_next(500)
    hook_id = await world.create_hook(receiver.url)
    await world.deliver(push())
    await world.worker.step()
    (delivery,) = await world.history(hook_id)
    assert (delivery["state"], delivery["status_code"], delivery["error"]) == ("pending", 500, "answered 500")
    assert await world.worker.step() == 0
    await world.update_all("delivery", next_attempt_at=now())
    await world.worker.step()
    (again,) = await world.history(hook_id)
    assert (again["state"], again["attempts"], again["error"]) == ("delivered", 2, "")
    assert len({request.headers["webhook-id"] for request in receiver.requests}) == 1


async def test_a_retry_after_header_lengthens_the_pause(world, receiver):
    receiver.answer_next(Answer(429, headers={"retry-after": "7200"}))
    hook_id = await world.create_hook(receiver.url)
    await world.deliver(push())
    await world.worker.step()
    (delivery,) = await world.history(hook_id)
    attempted, again = (
        datetime.fromisoformat(delivery[name]) for name in ("attempted_at", "next_attempt_at")
    )
    assert (delivery["state"], delivery["status_code"]) == ("pending", 429)
    assert timedelta(hours=2) <= again - attempted < timedelta(hours=3)


async def test_a_redirect_is_a_failure_and_not_followed(world, receiver):
    receiver.answer(302, headers={"Location": receiver.url + "/elsewhere"})
    hook_id = await world.create_hook(receiver.url)
    await world.deliver(push())
    await world.worker.step()
    assert len(receiver.requests) == 1
    assert (await world.history(hook_id))[0]["error"] == "answered 302"


async def test_the_last_attempt_fails_the_delivery(world, receiver):
    receiver.answer(500)
    hook_id = await world.create_hook(receiver.url)
    await world.deliver(push())
    await world.update_all("delivery", attempts=len(PAUSES) - 1)
    await world.worker.step()
    (delivery,) = await world.history(hook_id)
    assert (delivery["state"], delivery["next_attempt_at"]) == ("failed", None)


async def test_a_refused_connection_is_recorded_in_words(world, receiver):
    hook_id = await world.create_hook("http://127.0.0.1:1/")
    await world.deliver(push())
    await world.worker.step()
    (delivery,) = await world.history(hook_id)
    assert delivery["status_code"] == 0
    assert delivery["error"].startswith("no connection")


async def test_an_address_that_is_not_allowed_is_rejected_in_words(world):
    hook_id = await world.create_hook("http://[::1]:8080/")
    await world.deliver(push())
    await world.worker.step()
    (delivery,) = await world.history(hook_id)
    assert "loopback" in delivery["error"]
    assert "INGOT_HOOKS_ALLOWED_TARGETS" in delivery["error"]


async def test_only_the_start_of_an_answer_is_stored(world, receiver):
    receiver.answer(200, body=b"\x00\xff" * 100_000)
    hook_id = await world.create_hook(receiver.url)
    await world.deliver(push())
    await world.worker.step()
    (row,) = await world.rows("delivery")
    assert row.state == "delivered"
    assert len(row.response_body) == 64 * 1024
    assert (await world.call("GET", f"{HOOKS}/{hook_id}/deliveries/{row.id}")).status_code == 200


@pytest.fixture
async def cramped(settings):
    """Has one slot more than an endpoint may use, and a long time limit for each attempt."""
    settings.delivery_workers, settings.delivery_seconds = settings.endpoint_concurrency + 1, 60
    world = World(settings)
    yield world
    await world.close()


async def test_a_hanging_endpoint_uses_only_its_own_slots(cramped):
    async with AsyncExitStack() as open_:
        dead, *good = [await open_.enter_async_context(Receiver()) for _ in range(51)]
        dead.answer(200, delay=3600)
        for url in [dead.url] * 10 + [receiver.url for receiver in good]:
            await cramped.create_hook(url)
        await cramped.deliver(push())
        await cramped.deliver(push())
        run = asyncio.create_task(cramped.worker.run())
        for receiver in good:
            await receiver.wait_for(2, timeout=60)
        assert len(dead.requests) == cramped.settings.endpoint_concurrency
        run.cancel()
        await asyncio.gather(run, return_exceptions=True)


async def test_few_deliveries_are_claimed_for_a_hanging_endpoint(cramped, receiver):
    receiver.answer(200, delay=3600)
    slots = cramped.settings.endpoint_concurrency
    for _ in range(10 * slots):
        await cramped.create_hook(receiver.url)
    await cramped.deliver(push())
    run = asyncio.create_task(cramped.worker.run())
    await receiver.wait_for(slots)
    states = [row.state for row in await cramped.rows("delivery")]
    assert slots <= states.count("running") <= FIRST_PER_SLOT * slots
    run.cancel()
    await asyncio.gather(run, return_exceptions=True)


async def test_many_hanging_endpoints_that_have_failed_leave_half_of_the_slots(cramped):
    async with AsyncExitStack() as open_:
        good, *dead = [await open_.enter_async_context(Receiver()) for _ in range(11)]
        for receiver in dead:
            receiver.answer(200, delay=3600)
            await cramped.create_hook(receiver.url)
        await cramped.update_all("hook", failing_since=now())
        await cramped.create_hook(good.url)
        await cramped.deliver(push())
        await cramped.deliver(push())
        run = asyncio.create_task(cramped.worker.run())
        await good.wait_for(2, timeout=60)
        assert sum(len(receiver.requests) for receiver in dead) <= cramped.settings.delivery_workers // 2
        run.cancel()
        await asyncio.gather(run, return_exceptions=True)


async def test_deliveries_of_one_repository_arrive_in_order(world, receiver):
    await world.create_hook(receiver.url)
    for _ in range(5):
        await world.deliver(push())
    await world.worker.step()
    assert [request.headers["X-Ingot-Sequence"] for request in receiver.requests] == list("12345")


async def test_the_delivery_of_a_dead_worker_is_sent_again_under_its_id(world, receiver):
    hook_id = await world.create_hook(receiver.url)
    await world.deliver(push())
    (dead,) = await world.claim(lease=timedelta(seconds=-1))
    await world.worker.step()
    assert [request.headers["webhook-id"] for request in receiver.requests] == [dead.id]
    async with world.db.transaction() as tx:
        assert await claims.lock_claimed(tx, {dead.number: dead.fence}) == []
    assert [row["state"] for row in await world.history(hook_id)] == ["delivered"]


async def test_a_stopped_worker_makes_its_delivery_pending_again(world, receiver):
    receiver.answer_next(Answer(200, delay=3600))
    hook_id = await world.create_hook(receiver.url)
    await world.deliver(push())
    run = asyncio.create_task(world.worker.run())
    await receiver.wait_for(1)
    run.cancel()
    await asyncio.gather(run, return_exceptions=True)
    (delivery,) = await world.history(hook_id)
    assert (delivery["state"], delivery["attempts"]) == ("pending", 0)
    await world.worker.step()
    assert len({request.headers["webhook-id"] for request in receiver.requests}) == 1


async def test_two_workers_send_everything_once(world, receiver):
    for _ in range(5):
        await world.create_hook(receiver.url)
    for _ in range(4):
        await world.deliver(push())
    other = world.new_worker()
    await asyncio.gather(world.worker.step(), other.step())
    await world.worker.step()
    ids = [request.headers["webhook-id"] for request in receiver.requests]
    assert len(ids) == len(set(ids)) == 20


async def test_a_lane_is_sent_in_order_over_one_connection_and_stops_at_a_failure(world, receiver):
    receiver.answer_next(204, 204, 500)
    hook_id = await world.create_hook(receiver.url)
    for _ in range(5):
        await world.deliver(push())
    await world.worker.step()
    assert [request.headers["X-Ingot-Sequence"] for request in receiver.requests] == list("12345")
    assert [row["attempts"] for row in await world.history(hook_id)] == [1] * 5


def sequences(receiver) -> list[str]:
    return [request.headers["X-Ingot-Sequence"] for request in receiver.requests]


async def doubt(world: World) -> None:
    """Let the next delivery ask for the permission again, as after any change of access."""
    await world.deliver(AccessChanged(repository_id=7))


async def test_a_lane_waits_with_the_delivery_that_could_not_be_judged(world, receiver):
    hook_id = await world.create_hook(receiver.url)
    await world.deliver(push())
    world.repos.unavailable = True
    await world.worker.step()
    world.repos.unavailable = False
    await world.deliver(push())
    await world.worker.step()
    assert receiver.requests == []
    first, second = reversed(await world.history(hook_id))
    assert (first["state"], first["attempts"]) == ("pending", 0)
    assert "could not be checked" in first["error"]
    assert (second["state"], second["error"]) == ("pending", "")
    await world.new_worker().step()
    assert sequences(receiver) == ["1", "2"]


async def test_another_lane_does_not_wait(world, receiver):
    await world.create_hook(receiver.url)
    of_acme = hook(f"{receiver.url}/acme")
    created = await world.call("POST", "/orgs/acme/hooks", of_acme, user=2, organizations=MEMBER)
    assert created.status_code == 201
    world.identity.memberships[2] = MEMBER
    world.identity.unavailable = True
    acme = world.repos.add(repository(11, owner=ACME), {2: "read"})
    await world.deliver(push(target=acme))
    await world.deliver(push())
    await world.worker.step()
    assert [request.path for request in receiver.requests] == ["/"]
    world.identity.unavailable = False
    await world.new_worker().step()
    assert [request.path for request in receiver.requests] == ["/", "/acme"]


async def test_a_lane_goes_on_when_its_pause_is_over(world, receiver):
    await world.create_hook(receiver.url)
    worker = world.new_worker(lane_pause=0.0)
    world.repos.failures["level"] = (503, "not now")
    await world.deliver(push())
    run = asyncio.create_task(worker.run())
    async with asyncio.timeout(20):
        while "level" not in world.repos.operations():
            await asyncio.sleep(0.01)
    del world.repos.failures["level"]
    await world.deliver(push())
    await receiver.wait_for(2)
    run.cancel()
    await asyncio.gather(run, return_exceptions=True)
    assert sequences(receiver) == ["1", "2"]


@pytest.mark.parametrize("seed", range(3))
async def test_the_order_holds_while_peers_come_and_go(world, receiver, seed):
    """Two processes, and a peer that is down every second time."""
    chance = random.Random(seed)
    await world.create_hook(receiver.url)
    workers = [world.new_worker(lane_pause=0.02) for _ in range(2)]
    runs = [asyncio.create_task(worker.run()) for worker in workers]
    for _ in range(40):
        world.repos.unavailable = chance.random() < 0.5
        await doubt(world)
        await world.deliver(push())
        await asyncio.sleep(chance.random() * 0.03)
    world.repos.unavailable = False
    await receiver.wait_for(40)
    for run in runs:
        run.cancel()
    await asyncio.gather(*runs, return_exceptions=True)
    first_arrivals = list(dict.fromkeys(sequences(receiver)))
    assert first_arrivals == [str(number) for number in range(1, 41)]


async def test_the_chain_of_before_and_after_has_no_gap(world, receiver):
    """The next push starts from the commit that the previous one left, even if the lane had to wait."""
    await world.create_hook(receiver.url)
    tips = [OLD, *(f"{number:040x}" for number in range(1, 10)), NEW]
    for number, (before, after) in enumerate(itertools.pairwise(tips)):
        world.repos.unavailable = number in (2, 3, 6)
        await doubt(world)
        await world.deliver(push(before=before, after=after))
        await world.new_worker().step()
    world.repos.unavailable = False
    await world.new_worker().step()
    pushes = [json.loads(request.body) for request in receiver.requests]
    assert [payload["before"] for payload in pushes] == tips[:-1]
    assert [payload["after"] for payload in pushes] == tips[1:]


class Break:
    """Ends every connection that is used while it is on."""

    on = False

    async def __call__(self, part: bytes) -> bytes | None:
        return None if self.on else part


@asynccontextmanager
async def behind_a_wire(settings, up: Break):
    address = make_url(settings.database_url)
    async with wire(address.host or "127.0.0.1", address.port or 5432, up=up) as port:
        through = address.set(host="127.0.0.1", port=port).render_as_string(hide_password=False)
        world = World(msgspec.structs.replace(settings, database_url=through))
        yield world
        await world.close()


@pytest.mark.parametrize("database_backend", ["postgresql"], indirect=True)
async def test_a_lane_waits_while_the_database_is_away(settings, receiver, monkeypatch):
    monkeypatch.setattr(pool, "AWAY_SECONDS", 0.1)
    cut = Break()
    async with behind_a_wire(settings, cut) as world:
        hook_id = await world.create_hook(receiver.url)
        for _ in range(3):
            await world.deliver(push())
        receiver.answer_next(Answer(delay=2 * FRESH_SECONDS))  # Then the hook is read again.
        with capture_logs() as logs:
            step = asyncio.create_task(world.worker.step())
            await receiver.wait_for(1)
            cut.on = True
            async with asyncio.timeout(60):
                while 3 not in [line.get("count") for line in logs]:  # outcomes that are not recorded
                    await asyncio.sleep(0.02)
            cut.on = False
            await step
        assert not [line for line in logs if "attempt failed" in line["event"]]
        first, second, third = reversed(await world.history(hook_id))
        assert [first["state"], second["state"], third["state"]] == ["delivered", "pending", "pending"]
        assert second["error"] == "the permission for it could not be checked: the database does not answer"
        await world.new_worker().step()
    assert [request.headers["X-Ingot-Sequence"] for request in receiver.requests] == ["1", "2", "3"]
