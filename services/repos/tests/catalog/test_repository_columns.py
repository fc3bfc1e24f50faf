"""Rows of repositories that are older than some of their columns."""

import pytest
from sqlalchemy import select, update

from ingot_repos.catalog.store import columns as repository_columns
from ingot_repos.catalog.store.tables import repository
from ingot_repos.repositories.rules.templates import LICENSES
from ingot_repos.upkeep.jobs.maintenance import Maintenance

from ..world import commit, git, work_tree

pytestmark = pytest.mark.both_databases


@pytest.fixture
async def work(world, ann, git_url, tmp_path):
    """A work tree with two branches, both in the repository app. Its row is as a migration leaves it."""
    await ann.create("app")
    path = await work_tree(tmp_path)
    await commit(path, "LICENSE", LICENSES["MIT"])
    await git(
        "push", "-q", f"{git_url}/ann/app.git", "master", "HEAD:x", "HEAD:refs/tags/v1", cwd=path, person=ann
    )
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"archived": True})
    await forget(world)
    return path


async def forget(world):
    async with world.database.transaction() as tx:
        await tx.execute(update(repository).values(branch_count=None, licenses=None, archived_at=None))


def maintenance(world):
    return Maintenance(world.components.jobs, world.components.storage, world.settings.shard)


async def stored(world):
    columns = (repository.c.branch_count, repository.c.archived_at, repository.c.updated_at)
    async with world.database.read() as db:
        return [tuple(row) for row in await db.execute(select(*columns).order_by(repository.c.id))]


async def test_an_older_row_shows_what_is_true(ann, work):
    alone = (await ann.get("/repos/ann/app")).json()
    (listed,) = (await ann.get("/users/ann/repos")).json()
    for shown in (alone, listed):
        assert (shown["branch_count"], shown["licenses"]) == (2, [])
        assert shown["archived_at"] == shown["updated_at"]


async def test_older_rows_are_filled(world, ann, work, monkeypatch):
    monkeypatch.setattr(repository_columns, "BATCH", 1)
    await ann.create("other")
    await forget(world)
    await maintenance(world).fill_columns()
    (app_branches, archived_at, updated_at), other = await stored(world)
    assert (app_branches, archived_at) == (2, updated_at)
    assert other[:2] == (0, None)


async def test_licences_of_older_rows_are_read_from_their_files(world, ann, work, monkeypatch):
    monkeypatch.setattr(repository_columns, "BATCH", 1)
    await ann.create("other", auto_init=True, license="Unlicense")
    await forget(world)
    watch, app = world.components.storage.watch, (await ann.get("/repos/ann/app")).json()["id"]

    async def licenses():
        return [(await ann.get(f"/repos/ann/{name}")).json()["licenses"] for name in ("app", "other")]

    watch.suspect(app)
    await maintenance(world).fill_licenses()
    assert await licenses() == [[], ["Unlicense"]]
    watch.trust(app)
    await maintenance(world).fill_licenses()
    assert await licenses() == [["MIT"], ["Unlicense"]]


@pytest.mark.parametrize("database_backend", ["postgresql"], indirect=True)
async def test_a_row_that_is_locked_is_filled_another_time(world, work):
    async with world.database.transaction() as tx:
        await tx.execute(select(repository.c.id).with_for_update())
        async with world.database.transaction() as other:
            assert await repository_columns.fill(other, 0) is None
    async with world.database.transaction() as tx:
        assert await repository_columns.fill(tx, 0) is not None


async def test_the_next_push_to_an_older_row_finds_licences_that_were_there(world, ann, work, git_url):
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"archived": False})
    await commit(work, "a.txt", "a")
    await git("push", "-q", f"{git_url}/ann/app.git", "master", cwd=work, person=ann)
    shown = (await ann.get("/repos/ann/app")).json()
    assert (shown["branch_count"], shown["licenses"]) == (2, ["MIT"])


async def test_a_fork_of_an_older_row_finds_its_licences_with_its_next_push(world, ann, bob, work, git_url):
    forked = (await bob.post("/repos/ann/app/forks")).json()
    assert (forked["branch_count"], forked["licenses"]) == (2, [])
    await world.components.workers.step()
    await commit(work, "a.txt", "a")
    await git("push", "-q", f"{git_url}/bob/app.git", "master", cwd=work, person=bob)
    assert (await bob.get("/repos/bob/app")).json()["licenses"] == ["MIT"]
