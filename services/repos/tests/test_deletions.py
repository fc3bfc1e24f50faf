"""Deleting a repository: gone at once for everybody, and from disk when every service has forgotten it."""

import asyncio
from datetime import timedelta

import pytest
from repos_world import FORGOTTEN

from ingot_chassis.tables import now
from ingot_repos.core.deletions import PATIENCE
from ingot_repos.upkeep import Upkeep


@pytest.fixture
async def deleted(ann):
    """The id of a repository that its owner has deleted."""
    made = await ann.create("app", auto_init=True)
    assert (await ann.call("DELETE", "/api/v1/repos/ann/app")).status_code == 204
    return made["id"]


async def test_a_deleted_repository_is_gone_at_once_and_its_name_is_free(world, ann, deleted):
    assert (await ann.get("/repos/ann/app")).status_code == 404
    assert [event["type"] for event in await world.events("deleted")] == ["repos.repository.deleted.v1"]
    assert (await ann.create("app"))["id"] > deleted


@pytest.mark.parametrize("last", FORGOTTEN)
async def test_its_files_are_freed_when_the_last_service_has_forgotten_it(world, deleted, last):
    for sister in FORGOTTEN:
        if sister is not last:
            await world.hear(sister(repository_id=deleted))
            await world.hear(sister(repository_id=deleted))
    assert (await world.parts.workers.step(), world.parts.storage.exists(deleted)) == (0, True)
    await world.hear(last(repository_id=deleted))
    assert (await world.parts.workers.step(), world.parts.storage.exists(deleted)) == (1, False)
    assert await world.rows("tombstone") == []


async def test_of_services_that_confirm_at_once_one_is_the_last(world, deleted):
    await asyncio.gather(*(world.hear(sister(repository_id=deleted)) for sister in FORGOTTEN))
    assert (await world.parts.workers.step(), world.parts.storage.exists(deleted)) == (1, False)


async def test_nothing_is_freed_that_was_not_deleted(world, ann):
    kept = await ann.create("app", auto_init=True)
    for sister in FORGOTTEN:
        await world.hear(sister(repository_id=kept["id"]))
    assert (await world.parts.workers.step(), world.parts.storage.exists(kept["id"])) == (0, True)


async def test_a_service_that_never_confirms_is_not_waited_for_without_end(world, deleted):
    await world.hear(FORGOTTEN[0](repository_id=deleted))
    upkeep = Upkeep(world.parts.jobs, world.parts.storage, "shard-0")
    await upkeep.free_unconfirmed()
    assert (await world.parts.workers.step(), world.parts.storage.exists(deleted)) == (0, True)
    table = world.database.metadata.tables["tombstone"]
    async with world.database.transaction() as tx:
        await tx.execute(table.update().values(deleted_at=now() - PATIENCE - timedelta(days=1)))
    await upkeep.free_unconfirmed()
    assert (await world.parts.workers.step(), world.parts.storage.exists(deleted)) == (1, False)
