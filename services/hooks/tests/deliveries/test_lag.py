"""The metric of the lag, and what the doctor says of it."""

from datetime import timedelta

from prometheus_client import REGISTRY

from ingot_chassis.clock import now
from ingot_chassis.events.doctor import utc
from ingot_hooks.deliveries.jobs.lag import LagMonitor

from ..builders import push


async def test_how_long_the_oldest_delivery_waits_is_measured(world, receiver):
    async def measured() -> float:
        await LagMonitor(world.db).measure()
        return REGISTRY.get_sample_value("ingot_hook_lag_seconds") or 0.0

    await world.create_hook(receiver.url)
    assert await measured() == 0
    await world.deliver(push())
    await world.update_all("delivery", next_attempt_at=now() - timedelta(minutes=5))
    assert await measured() >= 300
    await world.worker.step()
    assert await measured() == 0


async def test_the_doctor_counts_deliveries_that_are_due_for_long(world, receiver):
    async def lines() -> list[str]:
        return list(await world.app.state.parts.examine(repair=False))

    await world.create_hook(receiver.url)
    await world.deliver(push())
    await world.deliver(push())
    await world.update_all("delivery", next_attempt_at=now() - timedelta(minutes=2))
    assert await lines() == []
    due = now() - timedelta(minutes=6)
    await world.update_all("delivery", next_attempt_at=due)
    (line,) = await lines()
    assert line.startswith(
        f"hooks: 2 deliveries are due for more than 5 minutes, the first since {utc(due)}; "
    )
    await world.worker.step()
    assert await lines() == []


async def test_the_doctor_counts_a_delivery_whose_worker_died_and_none_that_is_being_sent(world, receiver):
    await world.create_hook(receiver.url)
    await world.deliver(push())
    await world.update_all("delivery", next_attempt_at=now() - timedelta(minutes=6))
    assert len(await world.claim()) == 1
    assert await world.app.state.parts.examine(repair=False) == []
    await world.update_all("delivery", lease_until=now() - timedelta(minutes=6))
    (line,) = await world.app.state.parts.examine(repair=False)
    assert line.startswith("hooks: 1 deliveries are due for more than 5 minutes, ")
