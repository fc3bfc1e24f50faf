"""Hooks that are switched off because their endpoints fail, and sending what failed once more."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import update

from ingot_chassis.tables import now
from ingot_chassis.testing.receiver import Receiver
from ingot_hooks.core.rights import LOST_ORGANIZATION, LOST_REPOSITORY
from ingot_hooks.core.schedule import PAUSES

from .builders import push
from .conftest import World
from .histories import HOOKS, change_all, history, make


async def test_gone_switches_the_hook_off(world: World, receiver: Receiver) -> None:
    receiver.answer(410)
    id_ = await make(world, receiver.url)
    for _ in range(3):
        await world.hear(push())
    await world.deliverer.step()
    shown = (await world.call("GET", f"{HOOKS}/{id_}")).json()
    assert shown["active"] is False
    assert "410" in shown["disabled_reason"]
    assert len(receiver.requests) == 1
    assert [row["state"] for row in await history(world, id_)] == ["failed"] * 3


async def test_switching_a_hook_on_again_forgets_the_reason(world: World, receiver: Receiver) -> None:
    receiver.answer_next(410)
    id_ = await make(world, receiver.url)
    await world.hear(push())
    await world.deliverer.step()
    edited = await world.call("PATCH", f"{HOOKS}/{id_}", {"active": True})
    assert (edited.json()["active"], edited.json()["disabled_reason"]) == (True, "")


@pytest.mark.parametrize("status", [500, 200])
async def test_long_failure_switches_off_and_a_success_forgives(
    world: World, receiver: Receiver, status: int
) -> None:
    id_ = await make(world, receiver.url)
    async with world.db.transaction() as tx:
        table = world.db.metadata.tables["hook"]
        await tx.execute(update(table).values(failing_since=now() - timedelta(days=6)))
    receiver.answer(status)
    await world.hear(push())
    await change_all(world, attempts=len(PAUSES) - 1)
    await world.deliverer.step()
    assert (await world.call("GET", f"{HOOKS}/{id_}")).json()["active"] is (status == 200)
    async with world.db.read() as db:
        row = (await db.execute(table.select())).one()
    assert (row.failing_since is None) is (status == 200)


async def test_a_failure_after_long_silence_is_tried_again(world: World, receiver: Receiver) -> None:
    receiver.answer_next(502)
    id_ = await make(world, receiver.url)
    async with world.db.transaction() as tx:
        table = world.db.metadata.tables["hook"]
        await tx.execute(update(table).values(failing_since=now() - timedelta(days=60)))
    await world.hear(push())
    await world.deliverer.step()
    assert (await world.call("GET", f"{HOOKS}/{id_}")).json()["active"] is True
    await change_all(world, next_attempt_at=now())
    await world.deliverer.step()
    assert [(row["state"], row["attempts"]) for row in await history(world, id_)] == [("delivered", 2)]


async def test_all_that_failed_since_a_time_is_sent_once_more(world: World, receiver: Receiver) -> None:
    id_ = await make(world, receiver.url)
    for _ in range(3):
        await world.hear(push())
    ids = [row["id"] for row in await history(world, id_)][::-1]
    await change_all(world, state="failed")
    async with world.db.transaction() as tx:
        table = world.db.metadata.tables["delivery"]
        old = now() - timedelta(days=2)
        await tx.execute(update(table).where(table.c.id == ids[0]).values(created_at=old))
    path = f"{HOOKS}/{id_}/deliveries/attempts"
    answer = await world.call("POST", path, {"since": (now() - timedelta(days=1)).isoformat()})
    assert (answer.status_code, answer.json()) == (202, {"count": 2})
    await world.deliverer.step()
    assert [request.headers["webhook-id"] for request in receiver.requests] == ids[1:]


async def redelivered(world: World, id_: int) -> int:
    since = (now() - timedelta(days=1)).isoformat()
    answer = await world.call("POST", f"{HOOKS}/{id_}/deliveries/attempts", {"since": since})
    return int(answer.json()["count"])


async def test_what_waited_for_a_hook_that_was_given_up_is_sent_once_more(
    world: World, receiver: Receiver
) -> None:
    receiver.answer_next(410)
    id_ = await make(world, receiver.url)
    for _ in range(3):
        await world.hear(push())
    await world.deliverer.step()
    assert await redelivered(world, id_) == 3
    await world.deliverer.step()
    assert [request.headers["X-Ingot-Sequence"] for request in receiver.requests] == list("1123")
    assert [row["state"] for row in await history(world, id_)] == ["delivered"] * 3


@pytest.mark.parametrize(
    ("reason", "count"),
    [("", 0), (LOST_REPOSITORY, 0), (LOST_ORGANIZATION, 0), ("the endpoint answered 410 Gone", 1)],
)
async def test_what_comes_back_to_a_hook_that_is_off_failed_only_if_the_endpoint_did(
    world: World, receiver: Receiver, reason: str, count: int
) -> None:
    """As when another process had it while the hook was switched off."""
    id_ = await make(world, receiver.url)
    await world.hear(push())
    async with world.db.transaction() as tx:
        table = world.db.metadata.tables["hook"]
        await tx.execute(update(table).values(active=False, disabled_reason=reason))
    await world.deliverer.step()
    assert receiver.requests == []
    assert [row["attempts"] for row in await history(world, id_)] == [0]
    assert await redelivered(world, id_) == count


async def test_what_somebody_called_off_is_not_sent_once_more(world: World, receiver: Receiver) -> None:
    id_ = await make(world, receiver.url)
    await world.hear(push())
    await world.call("PATCH", f"{HOOKS}/{id_}", {"active": False})
    assert await redelivered(world, id_) == 0


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 422),
        ({"since": "now"}, 422),
        ({"since": 1e300}, 422),
        ({"since": []}, 400),
        ({"since": "0001-01-01T00:00:00+14:00"}, 422),
        ({"since": "9999-12-31T23:59:59-14:00"}, 422),
        ({"since": "1969-12-31T23:59:59Z"}, 422),
    ],
)
async def test_a_time_that_is_none_is_refused(world: World, body: Any, status: int) -> None:
    id_ = await make(world, "http://one.example.org/")
    refused = await world.call("POST", f"{HOOKS}/{id_}/deliveries/attempts", body)
    assert refused.status_code == status
    assert refused.json()["errors"][0]["field"] == "since"
