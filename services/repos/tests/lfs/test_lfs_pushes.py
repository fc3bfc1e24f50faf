"""Pushes whose commits point to objects of LFS that are not here: refused, whatever git-lfs believes."""

import asyncio
from datetime import timedelta
from functools import partial

import pytest

from ingot_chassis.clock import now
from ingot_repos.catalog.store import repositories

from ..lfs_client import FILE, ask, download, oid_of, pointer_of, upload
from ..ssh_world import Client, Key, ssh_before
from ..world import commit, git, work_tree


@pytest.fixture
async def app(ann):
    return (await ann.create("app", auto_init=True))["id"]


@pytest.fixture
async def work(ann, app, git_url, tmp_path):
    tree = await work_tree(tmp_path)
    await git("remote", "add", "origin", f"{git_url}/ann/app.git", cwd=tree)
    await git("pull", "-q", "origin", "master", cwd=tree, person=ann)
    return tree


async def nothing():
    for pointers in ():
        yield pointers


async def release(world, app):
    """Remove unreferenced objects from the repository, as two checks do before and after the grace period."""
    async with world.database.read() as db:
        row = await repositories.get_unfiltered(db, app)
    links = world.database.metadata.tables["lfs_link"]
    for _ in range(2):
        await world.components.lfs.release(row, nothing(), timedelta())
        async with world.database.transaction() as tx:
            then = links.c.unneeded_since.is_not(None)
            await tx.execute(links.update().where(then).values(unneeded_since=now() - timedelta(days=1)))


async def test_a_push_whose_object_was_freed_is_refused_with_its_name(world, ann, app, work):
    """As of a branch that was deleted, of which git-lfs still believes that its objects are here."""
    await upload(ann)
    await release(world, app)
    assert (await download(ann)).status_code == 404
    await commit(work, "large.bin", pointer_of(FILE))
    code, said = await git("push", "origin", "master", cwd=work, person=ann, check=False)
    assert (code, f"your push references unknown Git LFS objects: {oid_of(FILE)};" in said) == (1, True), said
    assert "pre-receive hook declined" in said
    await upload(ann)
    await git("push", "-q", "origin", "master", cwd=work, person=ann)
    assert (await ann.get("/repos/ann/app/media/large.bin")).content == FILE


async def test_every_commit_counts_and_what_is_here_already_does_not(world, ann, app, work):
    await commit(work, "before.bin", pointer_of(b"of the time before LFS"))
    await git("push", "-q", "origin", "master", cwd=work, person=ann)
    await upload(ann)
    await commit(work, "large.bin", pointer_of(FILE))
    await git("push", "-q", "origin", "master", "master:same", cwd=work, person=ann)
    await git("push", "-q", "origin", ":same", "master:other", cwd=work, person=ann)
    names = [b"%d" % number for number in range(12)]
    for name in names:
        await commit(work, "lost.bin", pointer_of(name))
    await git("rm", "-q", "lost.bin", cwd=work)
    await commit(work, "last.txt", "no pointer\n")
    for refs in (("master",), ("HEAD:refs/for/master/x",), ("HEAD:refs/tags/v1",)):
        code, said = await git("push", "origin", *refs, cwd=work, person=ann, check=False)
        assert (code, "references unknown Git LFS objects" in said, " and more; " in said) == (
            1,
            True,
            True,
        )
    branches = [one["name"] for one in (await ann.get("/repos/ann/app/branches")).json()]
    assert branches == ["master", "other"]


async def test_what_only_a_pull_request_has_is_looked_at(world, ann, app, work):
    """Its objects may be in the fork alone, and go with it."""
    await commit(work, "large.bin", pointer_of(b"in the fork"))
    await git("push", "-q", "origin", "master:topic", cwd=work, person=ann)
    await git("update-ref", "refs/pull/1/head", "refs/heads/topic", cwd=world.components.storage.path(app))
    await git("push", "-q", "origin", ":topic", cwd=work, person=ann)
    await upload(ann)
    code, said = await git("push", "origin", "master", cwd=work, person=ann, check=False)
    assert (code, "unknown Git LFS object" in said) == (1, True), said


async def test_an_object_that_an_older_release_gave_counts(world, ann, app, work):
    await upload(ann)
    async with world.database.transaction() as tx:
        await tx.execute(world.database.metadata.tables["lfs_user"].delete())
    await commit(work, "large.bin", pointer_of(b"not here"))
    code, said = await git("push", "origin", "master", cwd=work, person=ann, check=False)
    assert (code, "unknown Git LFS object" in said) == (1, True), said


@pytest.mark.parametrize("settings", [{"max_file_bytes": 1000}])
async def test_it_is_said_over_ssh_and_beside_other_limits(world, ann, app, work, tmp_path):
    await upload(ann)
    key = Key(tmp_path, "ann")
    world.identity.ssh_keys[key.public.fingerprint] = (1, "laptop")
    await commit(work, "large.bin", pointer_of(b"not here"))
    async with ssh_before(world) as port:
        client = Client(tmp_path, port, key)
        code, said = await client.git("push", client.url("ann/app"), "master", cwd=work)
        assert (code, "unknown Git LFS object" in said) == (1, True), said
        await git("reset", "-q", "--hard", "HEAD~", cwd=work)
        await commit(work, "large.bin", pointer_of(FILE))
        await client.git("push", "-q", client.url("ann/app"), "master", cwd=work)
        await commit(work, "large.txt", "x" * 2000)
        code, said = await client.git("push", client.url("ann/app"), "master", cwd=work)
        assert (code, "the file large.txt has 2000 bytes" in said) == (1, True), said


@pytest.mark.parametrize("settings", [{"lfs_enabled": False}])
async def test_nothing_is_looked_at_where_there_is_no_lfs(ann, work):
    await commit(work, "large.bin", pointer_of(FILE))
    await git("push", "-q", "origin", "master", cwd=work, person=ann)


async def test_an_object_that_is_being_taken_away_is_sent_again(world, ann, app):
    """The batch of git-lfs comes when a release has removed the link, and has not committed."""
    await upload(ann)
    links = world.database.metadata.tables["lfs_link"]
    async with world.database.transaction() as tx:
        await tx.execute(links.update().values(unneeded_since=now() - timedelta(days=1)))
    async with world.database.transaction() as tx:
        await tx.execute(links.delete())
        asking = asyncio.create_task(ask(ann, "upload", FILE))
        await asyncio.wait([asking], timeout=0.3)
    (offered,) = (await asking).json()["objects"]
    assert "actions" in offered


async def test_a_fork_that_gets_its_objects_from_the_parent_is_looked_at_as_well(
    world, ann, bob, app, git_url, tmp_path
):
    await upload(ann)
    assert (await bob.post("/repos/ann/app/forks")).status_code == 202
    await world.components.workers.step()
    clone = partial(git, cwd=tmp_path / "fork", person=bob)
    await git("clone", "-q", f"{git_url}/bob/app.git", "fork", cwd=tmp_path, person=bob)
    await commit(tmp_path / "fork", "large.bin", pointer_of(FILE))
    await clone("push", "-q", "origin", "master")
    await commit(tmp_path / "fork", "large.bin", pointer_of(b"not here"))
    code, said = await clone("push", "origin", "master", check=False)
    assert (code, "unknown Git LFS object" in said) == (1, True), said
