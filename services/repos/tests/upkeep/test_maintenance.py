"""Work that reads all repositories every hour runs in one process at a time."""

import os

import pytest
from sqlalchemy import func, select

from ingot_repos.catalog.store.counts import repository_count
from ingot_repos.upkeep.jobs.maintenance import FAILING, Maintenance
from ingot_testing.metrics import value_of

from ..lfs_client import upload

pytestmark = pytest.mark.both_databases


@pytest.fixture
def maintenance(world):
    return Maintenance(world.components.jobs, world.components.storage, world.settings.shard)


async def test_one_process_at_a_time_sweeps_the_storage(world, maintenance):
    old = world.components.storage.root / "staging" / "7-of-a-dead-process"
    old.mkdir()
    os.utime(old, (0, 0))
    async with world.database.exclusive(f"repos_sweep_storage:{world.settings.shard}"):
        await maintenance.sweep()
        assert old.exists()
    await maintenance.sweep()
    assert not old.exists()


async def test_one_process_at_a_time_counts_all_repositories(world, ann, maintenance):
    async def total():
        async with world.database.read() as db:
            return (await db.execute(select(func.sum(repository_count.c.number)))).scalar_one()

    await ann.create("app")
    async with world.database.transaction() as tx:
        await tx.execute(repository_count.insert().values(visibility="public", private=False, number=7))
    async with world.database.exclusive("repos_recount"):
        await maintenance.recount()
        assert await total() == 8
    await maintenance.recount()
    assert await total() == 1


async def test_one_process_at_a_time_measures_mirrors(world, maintenance):
    FAILING.labels(world.settings.shard).set(7)
    async with world.database.exclusive(f"repos_measure_mirrors:{world.settings.shard}"):
        await maintenance.measure()
        assert value_of(FAILING, world.settings.shard) == 7
    await maintenance.measure()
    assert value_of(FAILING, world.settings.shard) == 0


async def test_one_process_at_a_time_frees_objects_of_lfs(world, ann):
    await ann.create("app")
    await upload(ann)
    await ann.call("DELETE", "/api/v1/repos/ann/app")
    async with world.database.exclusive(f"repos_free_lfs_objects:{world.settings.shard}"):
        await world.components.lfs.free_unlinked()
        assert len(await world.rows("lfs_object")) == 1
    await world.components.lfs.free_unlinked()
    assert await world.rows("lfs_object") == []
