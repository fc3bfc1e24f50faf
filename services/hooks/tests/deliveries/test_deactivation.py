"""Hooks that are switched off because their endpoints fail, and what becomes of their deliveries."""

from datetime import UTC, datetime, timedelta

import pytest

from ingot_chassis.clock import now
from ingot_contracts.hooks.events import HookDeactivated
from ingot_hooks.catalog.rules.access import LOST_ORGANIZATION, LOST_REPOSITORY
from ingot_hooks.deliveries.rules.deactivation import deactivation_reason
from ingot_hooks.deliveries.rules.schedule import PAUSES, attempt_result
from ingot_testing.service import emitted_events

from ..builders import push
from ..world import HOOKS, World

pytestmark = pytest.mark.both_databases


async def test_an_answer_of_410_switches_the_hook_off(world, receiver):
    receiver.answer(410)
    hook_id = await world.create_hook(receiver.url)
    for _ in range(3):
        await world.deliver(push())
    await world.worker.step()
    body = (await world.call("GET", f"{HOOKS}/{hook_id}")).json()
    assert body["active"] is False
    assert "410" in body["disabled_reason"]
    assert len(receiver.requests) == 1
    assert [row["state"] for row in await world.history(hook_id)] == ["failed"] * 3


async def test_a_hook_that_is_switched_off_is_announced_without_its_url(world, receiver):
    receiver.answer(410)
    hook_id = await world.create_hook(f"{receiver.url}/secret")
    await world.deliver(push())
    await world.worker.step()
    (event,) = await emitted_events(world.db, HookDeactivated)
    assert (event.hook_id, event.creator_id, event.repository_id) == (hook_id, 1, 7)
    assert (event.host, event.reason) == ("127.0.0.1", "the endpoint answered 410 Gone")


async def test_activating_a_hook_clears_the_reason(world, receiver):
    receiver.answer_next(410)
    hook_id = await world.create_hook(receiver.url)
    await world.deliver(push())
    await world.worker.step()
    edited = await world.call("PATCH", f"{HOOKS}/{hook_id}", {"active": True})
    assert (edited.json()["active"], edited.json()["disabled_reason"]) == (True, "")


@pytest.mark.parametrize("status", [500, 200])
async def test_a_long_failure_switches_off_unless_there_was_a_success(world, receiver, status):
    hook_id = await world.create_hook(receiver.url)
    await world.update_all("hook", failing_since=now() - timedelta(days=6))
    receiver.answer(status)
    await world.deliver(push())
    await world.update_all("delivery", attempts=len(PAUSES) - 1)
    await world.worker.step()
    assert (await world.call("GET", f"{HOOKS}/{hook_id}")).json()["active"] is (status == 200)
    (row,) = await world.rows("hook")
    assert (row.failing_since is None) is (status == 200)


async def test_a_failure_after_a_long_silence_is_attempted_again(world, receiver):
    receiver.answer_next(502)
    hook_id = await world.create_hook(receiver.url)
    await world.update_all("hook", failing_since=now() - timedelta(days=60))
    await world.deliver(push())
    await world.worker.step()
    assert (await world.call("GET", f"{HOOKS}/{hook_id}")).json()["active"] is True
    await world.update_all("delivery", next_attempt_at=now())
    await world.worker.step()
    assert [(row["state"], row["attempts"]) for row in await world.history(hook_id)] == [("delivered", 2)]


async def redeliver_failed(world: World, hook_id: int) -> int:
    since = (now() - timedelta(days=1)).isoformat()
    answer = await world.call("POST", f"{HOOKS}/{hook_id}/deliveries/attempts", {"since": since})
    return int(answer.json()["count"])


async def test_what_waited_for_a_failing_hook_can_be_redelivered(world, receiver):
    receiver.answer_next(410)
    hook_id = await world.create_hook(receiver.url)
    for _ in range(3):
        await world.deliver(push())
    await world.worker.step()
    assert await redeliver_failed(world, hook_id) == 3
    await world.worker.step()
    assert [request.headers["X-Ingot-Sequence"] for request in receiver.requests] == list("1123")
    assert [row["state"] for row in await world.history(hook_id)] == ["delivered"] * 3


@pytest.mark.parametrize(
    ("reason", "count"),
    [("", 0), (LOST_REPOSITORY, 0), (LOST_ORGANIZATION, 0), ("the endpoint answered 410 Gone", 1)],
)
async def test_a_delivery_of_an_inactive_hook_fails_only_if_its_endpoint_did(world, receiver, reason, count):
    """As when another process had claimed it while the hook was switched off."""
    hook_id = await world.create_hook(receiver.url)
    await world.deliver(push())
    await world.update_all("hook", active=False, disabled_reason=reason)
    await world.worker.step()
    assert receiver.requests == []
    assert [row["attempts"] for row in await world.history(hook_id)] == [0]
    assert await redeliver_failed(world, hook_id) == count


async def test_what_a_user_cancelled_is_not_redelivered(world, receiver):
    hook_id = await world.create_hook(receiver.url)
    await world.deliver(push())
    await world.call("PATCH", f"{HOOKS}/{hook_id}", {"active": False})
    assert await redeliver_failed(world, hook_id) == 0


AT = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


@pytest.mark.parametrize(
    ("days", "attempts", "switched_off"),
    [(4, len(PAUSES), False), (5, len(PAUSES), True), (5, len(PAUSES) - 1, False), (500, 1, False)],
)
def test_a_hook_that_fails_for_long_is_switched_off_when_a_delivery_fails(days, attempts, switched_off):
    result = attempt_result(500, "", attempts=attempts, at=AT, jitter=0)
    since = AT - timedelta(days=days)
    reason = deactivation_reason(result, "answered 500", failing_since=since, at=AT, limit=timedelta(days=5))
    assert bool(reason) is switched_off
