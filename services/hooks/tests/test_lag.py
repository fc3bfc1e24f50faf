"""The metric of the lag."""

from datetime import timedelta

from prometheus_client import REGISTRY

from ingot_chassis.clock import now
from ingot_hooks.workers.lag import LagMonitor

from .builders import push


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
