"""Old deliveries are deleted."""

from datetime import timedelta

import pytest

from ingot_chassis.clock import now
from ingot_hooks.deliveries.jobs.retention import Retention

from ..builders import push

pytestmark = pytest.mark.both_databases


async def test_old_history_is_deleted_and_pending_deliveries_stay(world, receiver):
    hook_id = await world.create_hook(receiver.url)
    await world.deliver(push())
    await world.worker.step()
    await world.deliver(push())
    await world.update_all("delivery", created_at=now() - timedelta(days=31))
    assert await Retention(world.db, world.settings).step() == 1
    assert [row["state"] for row in await world.history(hook_id)] == ["pending"]
