"""Moves that fail: the repositories stay in place, and nothing of the copy remains."""

import asyncio

import pytest

from ingot_chassis.jobs.workers import Workers
from ingot_chassis.security.keys import SigningKey
from ingot_chassis.security.principal import ServiceIdentity
from ingot_git.storage import copies
from ingot_repos.placement.rules.job_kinds import on_shard
from ingot_repos.shards.jobs.commands import ShardCommands
from ingot_repos.shards.jobs.moves import MoveJobs
from ingot_repos.shards.rules import moves
from ingot_repos.shards.rules.moves import MOST_LOCKS, NotNow
from ingot_repos.shards.store import moves as move_rows

from ..lfs_client import FILE, put
from ..shard_world import two_shards
from ..world import CALLERS, git, migrate
from .test_moves import ann, files_of, fsck, make_due, request_move, shard_of, upload, worlds
from .test_shard_commands import refusal, said

__all__ = ["ann", "worlds"]


async def move_job(world):
    (job,) = [row for row in await world.rows("job") if row.kind == "move@b"]
    return job


async def cancel(world):
    async with world.database.transaction() as tx:
        (job,) = await move_rows.list_jobs(tx, before="move@")
        assert await moves.cancel_move(tx, job.kind, job.key, job.payload)


async def require_all_as_before(a, b, repository_id):
    assert await shard_of(a, repository_id) == "a"
    assert fsck(a, repository_id).keys() == {"refs/heads/master", "refs/tags/v1"}
    assert not b.components.storage.exists(repository_id)
    assert not any((b.folder / "storage" / "staging").iterdir())
    assert [row.locked_until for row in await a.rows("repository")] == [None]
    await asyncio.gather(*(world.components.lfs.free_unlinked() for world in (a, b)))
    await make_due(a)
    await b.components.workers.step()
    assert (len(files_of(a)), len(files_of(b))) == (2, 0)


async def test_a_pack_that_arrives_otherwise_than_its_checksum_fails_for_good(worlds, ann):
    a, b, _ = worlds
    app = await ann.create("app", auto_init=True)
    await git("repack", "-a", "-d", "-q", cwd=a.components.storage.path(app["id"]))
    files = b.components.shards.files

    async def changed(shard, repository_id, paths):
        async for chunk in files(shard, repository_id, paths):
            yield chunk[:-1] + bytes([chunk[-1] ^ 1])

    b.components.shards.files = changed
    await request_move(a, app["id"], "a", "b")
    assert await b.components.move_workers.step() == 1
    job = await move_job(a)
    assert job.state == "failed"
    assert job.last_error.startswith("ann/app is damaged: objects/pack/pack-")
    assert await shard_of(a, app["id"]) == "a"


async def test_a_source_whose_refs_cannot_be_read_fails_for_good(worlds, ann):
    a, b, _ = worlds
    app = await ann.create("app", auto_init=True)
    (a.components.storage.path(app["id"]) / "packed-refs").write_text("nonsense")
    await request_move(a, app["id"], "a", "b")
    assert await b.components.move_workers.step() == 1
    job = await move_job(a)
    assert (job.state, job.last_error) == ("failed", "ann/app is damaged: the shard a cannot read its refs")


@pytest.mark.parametrize(
    "step", ["contents", "files", "stored_object", "check_connectivity", "_wait_for_pushes", "change_shard"]
)
async def test_a_move_can_be_cancelled_at_each_step(worlds, ann, monkeypatch, step):
    a, b, _ = worlds
    app = await ann.create("app", auto_init=True)
    await put(ann, FILE)
    await upload(ann)
    await request_move(a, app["id"], "a", "b")
    peers = b.components.shards
    if step in ("contents", "stored_object", "files"):
        original = getattr(peers, step)

        async def contents(*args):
            monkeypatch.undo()
            await cancel(a)
            return await original(*args)

        async def chunks(*args):
            monkeypatch.undo()
            await cancel(a)
            async for chunk in original(*args):
                yield chunk

        monkeypatch.setattr(peers, step, contents if step == "contents" else chunks)
    elif step == "check_connectivity":
        loop = asyncio.get_running_loop()

        def check(path):
            asyncio.run_coroutine_threadsafe(cancel(a), loop).result()
            return ""

        monkeypatch.setattr(copies, step, check)
    else:
        owner = moves if step == "change_shard" else MoveJobs
        act = getattr(owner, step)

        async def cancelled_before(*args, **named):
            if step == "change_shard":
                # In the same transaction, as if just before: SQLite has one writer.
                tx = args[0]
                (job,) = await move_rows.list_jobs(tx, before="move@")
                assert await moves.cancel_move(tx, job.kind, job.key, job.payload)
            else:
                await cancel(a)
            return await act(*args, **named)

        monkeypatch.setattr(owner, step, cancelled_before)
    assert await b.components.move_workers.step() == 1
    monkeypatch.undo()
    job = await move_job(a)
    assert (job.state, job.last_error) == ("failed", "cancelled")
    await require_all_as_before(a, b, app["id"])
    # And it can be moved later.
    await request_move(a, app["id"], "a", "b")
    await b.components.move_workers.step()
    assert await shard_of(a, app["id"]) == "b"


async def step_in_vain(world, error):
    """Let the worker try a move, which ends with this error."""
    assert await world.components.move_workers.step() == 1
    job = await move_job(world)
    assert (job.state, job.last_error) == ("waiting", error)
    await make_due(world)


async def test_a_source_that_answers_404_costs_no_original_in_a_store_of_both(make_database, tmp_path):
    store = tmp_path / "store"
    async with two_shards(make_database("repos", migrate), tmp_path, objects_url=store.as_uri()) as (a, b, _):
        ann = a.user(1, "ann")
        app = await ann.create("app", auto_init=True)
        await upload(ann)
        # The source shows nothing to other services.
        b.components.shards._identity = ServiceIdentity("issues", CALLERS._peer_keys["issues"])
        await request_move(a, app["id"], "a", "b")
        await step_in_vain(b, "NotFound('NotFound')")
        await cancel(a)
        assert await b.components.move_workers.step() == 1
        assert (await move_job(a)).last_error == "cancelled"
        (original,) = [file for file in store.rglob("*") if file.is_file()]
        assert original.read_bytes() == FILE


async def test_copies_of_an_earlier_worker_are_removed_without_the_source(worlds, ann, monkeypatch):
    a, b, _ = worlds
    app = await ann.create("app", auto_init=True)
    await upload(ann)
    await request_move(a, app["id"], "a", "b")

    async def break_off(*args, **named):
        raise NotNow("an end")

    monkeypatch.setattr(MoveJobs, "_change", break_off)
    await step_in_vain(b, "NotNow('an end')")
    monkeypatch.undo()
    assert (len(files_of(a)), len(files_of(b))) == (1, 1)
    b.components.shards._identity = ServiceIdentity("repos", SigningKey.generate())
    await cancel(a)
    assert await b.components.move_workers.step() == 1
    assert (len(files_of(a)), len(files_of(b))) == (1, 0)


async def test_operators_cancel_moves_that_wait(worlds, ann):
    a, b, _ = worlds
    app, other = await ann.create("app", auto_init=True), await ann.create("other", auto_init=True)
    commands = ShardCommands(a.components.jobs, ["a", "b"], poll_seconds=0.01)
    assert await refusal(commands.cancel("ann/app")) == "no move of ann/app waits or runs"
    for one in (app, other):
        await request_move(a, one["id"], "a", "b")
    lines = await said(commands.cancel("ann/app"), b)
    assert lines[-1] == f"network {app['id']} to b: ended: cancelled"
    assert await shard_of(a, app["id"]) == "a"
    await make_due(a)
    await b.components.move_workers.step()
    assert await shard_of(a, other["id"]) == "b"
    await request_move(a, app["id"], "a", "b")
    assert len(await said(commands.cancel(""), b)) == 2
    assert await shard_of(a, app["id"]) == "a"
    assert await refusal(commands.cancel("")) == "no move waits or runs"


async def test_what_does_not_fit_into_a_lock_is_given_up(worlds, ann):
    a, b, _ = worlds
    app = await ann.create("app", auto_init=True)
    await upload(ann)
    await put(ann, FILE)
    c = b.components
    work = MoveJobs(c.jobs, c.storage, c.archives, c.objects, c.shards, "b", rest_seconds=0.0).work()
    workers = Workers("repos", c.jobs, on_shard(work, "b"), concurrency=1)
    await request_move(a, app["id"], "a", "b")
    for _ in range(MOST_LOCKS - 1):
        assert await workers.step() == 1
        job = await move_job(a)
        assert (job.state, job.last_error) == ("waiting", "NotNow('copying the last changes took too long')")
        assert [row.locked_until for row in await a.rows("repository")] == [None]
        await make_due(a)
    assert await workers.step() == 1
    job = await move_job(a)
    assert job.state == "failed"
    assert job.last_error.startswith(f"1 repositories were locked {MOST_LOCKS} times for 0 s")
    await require_all_as_before(a, b, app["id"])
