"""Deliveries that a request sends wake the workers of another process: `serve` and `work` may be apart."""

import asyncio

import msgspec
import pytest

from ingot_chassis.events import relay
from ingot_chassis.jobs.loops import running
from ingot_hooks.catalog.rules.wakeup import DeliveryWakeup
from ingot_testing.service import emitted_types

from ..world import HOOKS, World

LONG = 3600.0
"""Seconds after which a relay looks for events by itself: no test takes so long."""
WORK = "hooks relay", "hooks hears of commits", "hooks wakes workers"


async def send(world, path, body=None, *, status=202):
    answer = await world.call("POST", path, body)
    assert answer.status_code == status, answer.text


@pytest.mark.parametrize("database_backend", ["postgresql"], indirect=True)
async def test_a_delivery_on_request_wakes_the_workers_of_another_process(
    settings, receiver, own_nats, monkeypatch
):
    monkeypatch.setattr(relay, "POLL_SECONDS", LONG)
    serving, working = (World(msgspec.structs.replace(settings, nats_url=own_nats.url)) for _ in range(2))
    hook_id = await serving.create_hook(f"{receiver.url}/x")
    notified = working.parts[DeliveryWakeup].notified
    loops = [one for one in working.app.state.parts.loops if one[0].startswith(WORK)]
    async with running([*serving.app.state.parts.signals, *loops]), asyncio.timeout(60):
        while not notified.is_set():  # from when on they listen, only the broker knows
            await send(serving, f"{HOOKS}/{hook_id}/tests", status=204)
            await asyncio.sleep(0.05)
    for each in (serving, working):
        await each.app.state.parts.bus.close()
        await each.close()


async def test_each_delivery_on_request_is_announced(world, receiver):
    hook_id = await world.create_hook(f"{receiver.url}/x")
    deliveries = f"{HOOKS}/{hook_id}/deliveries"
    await send(world, f"{HOOKS}/{hook_id}/tests", status=204)
    await world.worker.step()
    [delivery] = await world.history(hook_id)
    await send(world, f"{deliveries}/{delivery['id']}/attempts")
    await send(world, f"{deliveries}/attempts", {"since": "2020-01-01T00:00:00Z"})
    assert await emitted_types(world.db) == ["hooks.delivery.requested.v1"] * 3
