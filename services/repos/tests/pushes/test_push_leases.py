"""The lease of a push that takes long."""

import asyncio
from datetime import timedelta

from ingot_chassis.clock import now
from ingot_repos.pushes.rules.leases import extending_lease


async def test_the_lease_is_extended_again_and_again_until_the_block_ends(world, ann):
    created, pushes = await ann.create("app"), world.components.pushes

    async def lease_after(before):
        async with asyncio.timeout(30):
            while (until := (await world.rows("push"))[0].lease_until) == before:
                await asyncio.sleep(0)
        return until

    async with pushes.journaled(created["id"], 1, ["refs/heads/master"]) as push_id:
        before = (await world.rows("push"))[0].lease_until
        tasks = asyncio.all_tasks()
        with extending_lease(world.database, push_id, timedelta(seconds=0.03)):
            assert asyncio.all_tasks() == tasks
            first = await lease_after(before)
            assert first < before
            assert await lease_after(first) > first
        assert not [task for task in asyncio.all_tasks() - tasks if not task.cancelling()]
        assert now() - first < timedelta(seconds=30)
