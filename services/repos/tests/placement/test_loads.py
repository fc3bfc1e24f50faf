"""Requests of git clients are counted by repository, and what is asked of a shard counts in its balance."""

import asyncio

import pytest
from sqlalchemy import text, update
from sqlalchemy.exc import DBAPIError

from ingot_repos.catalog.store.tables import metadata
from ingot_repos.placement.store import loads
from ingot_repos.shards.store import moves as move_rows

from ..world import git

LOAD = metadata.tables["repository_load"]


async def usage(world):
    await world.components.loads.write()
    async with world.database.read() as db:
        return (await move_rows.usage(db))[world.settings.shard].requests


async def days_pass(world, days):
    async with world.database.transaction() as tx:
        await tx.execute(update(LOAD).values(day=LOAD.c.day - days))


async def test_fetches_and_pushes_of_today_and_yesterday_count(world, ann, base, git_url, tmp_path):
    url = f"{git_url}/ann/app.git"
    before = await usage(world)
    await git("clone", "-q", url, "copy", cwd=tmp_path, person=ann)
    cloned = await usage(world) - before
    assert cloned == 2  # the refs, and the pack
    await git("commit", "-q", "--allow-empty", "-m", "one", cwd=tmp_path / "copy", person=ann)
    await git("push", "-q", url, "HEAD:refs/heads/more", cwd=tmp_path / "copy", person=ann)
    assert await usage(world) == before + cloned + 1
    await days_pass(world, 1)
    world.components.loads.count(base)
    assert await usage(world) == before + cloned + 2
    await days_pass(world, 1)
    assert await usage(world) == 1
    await days_pass(world, 1)
    assert await usage(world) == 0


async def test_repositories_that_are_gone_are_left_out(world, base):
    for repository_id in (base, base + 1000):
        world.components.loads.count(repository_id)
    await world.components.loads.write()
    assert [row.repository_id for row in await world.rows("repository_load")] == [base]


async def test_what_was_not_written_is_written_the_next_time(world, base):
    world.components.loads.count(base)
    async with world.database.transaction() as tx:
        await tx.execute(text("ALTER TABLE repository_load RENAME TO gone"))
    with pytest.raises(DBAPIError):
        await world.components.loads.write()
    async with world.database.transaction() as tx:
        await tx.execute(text("ALTER TABLE gone RENAME TO repository_load"))
    assert await usage(world) == 1


async def test_two_processes_that_write_the_same_rows_do_not_wait_for_each_other(world, ann):
    first, second = [(await ann.create(name))["id"] for name in ("a", "b")]
    await ann.call("PATCH", "/api/v1/repos/ann/a", {"description": "behind the other one in the table"})

    async def write(*ids):
        async with world.database.transaction() as tx:
            await loads.add(tx, dict.fromkeys(ids, 1))

    async with world.database.transaction() as tx:
        await loads.add(tx, {first: 1})
        other = asyncio.create_task(write(first, second))
        await asyncio.wait([other], timeout=0.1)
        await loads.add(tx, {second: 1})
    await other
    assert sorted(row.requests for row in await world.rows("repository_load")) == [2, 2]
