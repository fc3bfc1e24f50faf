"""Replicas on other shards serve reads. They never serve less than the acknowledged state."""

import asyncio
import shutil
from datetime import timedelta
from functools import partial

import pytest

from ingot_chassis.errors import CannotStart
from ingot_chassis.jobs.loops import polls, running
from ingot_repos.placement.store import replicas as replica_rows
from ingot_repos.shards.jobs import replicas as workers
from ingot_repos.shards.jobs.commands import ShardCommands
from ingot_repos.upkeep.jobs.upkeep import UpkeepJobs
from ingot_repos.upkeep.rules.examinations import examine_storage
from ingot_wire.client import Origin

from ..git.test_packs import loose
from ..lfs_client import FILE, pointer_of, put
from ..world import Person, World, commit, git, work_tree
from .test_moves import ann, files_of, fsck, make_due, request_move, shard_of, upload, worlds

__all__ = ["ann", "worlds"]

no_sql = pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
NOWHERE = "http://127.0.0.1:9"


async def said(world, command, *args):
    """The lines of a command of operators."""
    commands = ShardCommands(world.components.jobs, ["a", "b"], poll_seconds=0.01)
    return [line async for line in getattr(commands, command)(*args)]


async def bring_up(world):
    """Everything that is due; how many of each kind."""
    replicas = world.components.replicas
    return await replicas.step(is_new=True), await replicas.step(is_new=False)


async def replicated(worlds, ann, **settings):
    """The id of a repository of shard `a` with a replica on `b`."""
    app = await ann.create("app", auto_init=True, private=True, **settings)
    await said(worlds[0], "replicate", "ann/app", "b")
    assert await bring_up(worlds[1]) == (1, 0)
    return app["id"]


def lose(world, name):
    """Let `world` not reach another shard; what it reached before."""
    origins = world.components.shards.origins
    before, origins[name] = origins[name], Origin(NOWHERE)
    return before


async def tips_at(url, person, folder):
    listed = await git("ls-remote", f"{url}/ann/app.git", cwd=folder, person=person)
    return {name: oid for oid, name in (line.split() for line in listed.splitlines())}


async def test_a_replica_answers_while_the_shard_of_the_repository_is_away(worlds, ann, tmp_path):
    a, b, urls = worlds
    there, stranger = Person(b, ann.principal), Person(b, a.user(2, "bob").principal)
    app = await replicated(worlds, ann)
    before = lose(b, "a")

    tip = (await tips_at(urls[1], ann, tmp_path))["refs/heads/master"]
    await git("clone", "-q", "--bare", f"{urls[1]}/ann/app.git", "copy", cwd=tmp_path, person=ann)
    for path in (
        "raw/README.md",
        "contents",
        "branches",
        "commits",
        "archive/master.zip",
        f"git/trees/{tip}",
    ):
        assert (await there.get(f"/repos/ann/app/{path}")).status_code == 200, path
        assert (await stranger.get(f"/repos/ann/app/{path}")).status_code == 404, path

    # A push needs the shard of the repository; afterwards the replica is silent until it has what was pushed.
    work = await work_tree(tmp_path)
    await git("pull", "-q", f"{urls[0]}/ann/app.git", "master", cwd=work, person=ann)
    new_tip = await commit(work)
    await git("push", "-q", f"{urls[0]}/ann/app.git", "master", cwd=work, person=ann)
    assert (await there.get("/repos/ann/app/branches/master")).status_code == 503
    b.components.shards.origins["a"] = before
    assert (await there.get("/repos/ann/app/branches/master")).json()["commit"]["id"] == new_tip
    assert await bring_up(b) == (0, 1)
    lose(b, "a")
    assert (await there.get("/repos/ann/app/branches/master")).json()["commit"]["id"] == new_tip
    assert fsck(b, app) == fsck(a, app)


@no_sql
async def test_nobody_reads_less_than_what_was_pushed_before(worlds, ann, tmp_path):
    _, b, urls = worlds
    await replicated(worlds, ann)
    work = await work_tree(tmp_path)
    await git("pull", "-q", f"{urls[0]}/ann/app.git", "master", cwd=work, person=ann)

    async def bring_up_for_ever():
        while True:
            await bring_up(b)
            await asyncio.sleep(0)

    bringing = asyncio.create_task(bring_up_for_ever())
    for _ in range(4):
        tip = await commit(work)
        await git("push", "-q", f"{urls[1]}/ann/app.git", "master", cwd=work, person=ann)
        assert (await tips_at(urls[1], ann, tmp_path))["refs/heads/master"] == tip
    bringing.cancel()


async def test_what_is_not_announced_reaches_a_replica_as_well(worlds, ann, tmp_path):
    a, b, urls = worlds
    app = await replicated(worlds, ann)
    work = await work_tree(tmp_path)
    await git("pull", "-q", f"{urls[0]}/ann/app.git", "master", cwd=work, person=ann)
    await git("notes", "add", "-m", "good", cwd=work)
    await git("push", "-q", f"{urls[0]}/ann/app.git", "refs/notes/commits", cwd=work, person=ann)
    assert await bring_up(b) == (0, 1)
    head = {"base_branch": "master", "head_repository_id": app, "head_branch": "master", "number": 7}
    assert (await ann.internal("POST", f"{app}/compare", head)).status_code == 200
    assert await bring_up(b) == (0, 1)
    await git("push", "-q", f"{urls[0]}/ann/app.git", "master:other", cwd=work, person=ann)
    assert (await ann.call("PATCH", "/api/v1/repos/ann/app", {"default_branch": "other"})).status_code == 200
    assert await bring_up(b) == (0, 1)
    assert await bring_up(b) == (0, 0)
    assert fsck(b, app) == fsck(a, app)
    assert {"refs/notes/commits", "refs/pull/7/head"} <= fsck(b, app).keys()
    assert (b.components.storage.path(app) / "HEAD").read_text() == "ref: refs/heads/other\n"


@no_sql
async def test_large_files_come_from_the_shard_of_the_repository(worlds, ann, tmp_path):
    _, b, urls = worlds
    await replicated(worlds, ann)
    await put(ann, FILE)
    work = await work_tree(tmp_path)
    await git("pull", "-q", f"{urls[0]}/ann/app.git", "master", cwd=work, person=ann)
    await commit(work, "big.bin", pointer_of(FILE))
    await git("push", "-q", f"{urls[0]}/ann/app.git", "master", cwd=work, person=ann)
    await bring_up(b)
    assert (await Person(b, ann.principal).get("/repos/ann/app/media/big.bin")).content == FILE


@no_sql
async def test_another_shard_asks_whoever_can_be_reached(worlds, ann, tmp_path):
    a, _, urls = worlds
    await replicated(worlds, ann)
    c = World(
        a.settings.database_url, tmp_path / "c", shard="c", shards={"a": NOWHERE, "b": urls[1]},
        identity=a.identity,
        connect_seconds=0.1,
    )  # fmt: skip
    there = Person(c, ann.principal)
    for _ in range(6):
        assert (await there.get("/repos/ann/app/branches")).status_code == 200
    await said(a, "unreplicate", "ann/app", "b")
    assert (await there.get("/repos/ann/app/branches")).status_code == 503
    await c.components.shards.close()
    await c.close()


@pytest.mark.parametrize("way", ["unreplicate", "delete", "drain"])
async def test_a_replica_that_nobody_wants_is_removed(worlds, ann, way):
    a, b, _ = worlds
    app = await replicated(worlds, ann)
    if way == "delete":
        assert (await ann.call("DELETE", "/api/v1/repos/ann/app")).status_code == 204
    else:
        await said(a, way, *(("ann/app", "b") if way == "unreplicate" else ("b",)))
    assert await bring_up(b) == (0, 1)
    assert not b.components.storage.exists(app)
    assert await a.rows("replica") == []


@no_sql
async def test_a_repository_moves_to_the_shard_of_its_replica(worlds, ann):
    a, b, _ = worlds
    app = await replicated(worlds, ann)
    await upload(ann)
    refs = fsck(a, app)
    await request_move(a, app, "a", "b")
    await b.components.move_workers.step()
    assert await shard_of(a, app) == "b"
    assert (fsck(b, app), await a.rows("replica")) == (refs, [])
    # And back the other way: what the move has left becomes a replica, and is not removed.
    await said(a, "replicate", "ann/app", "a")
    assert await bring_up(a) == (1, 0)
    await make_due(a)
    await a.components.move_workers.step()
    assert (fsck(a, app), files_of(a)) == (refs, [])


@no_sql
async def test_files_that_are_not_those_of_the_row_answer_nobody(worlds, ann):
    _, b, _ = worlds
    app = await replicated(worlds, ann)
    storage, there = b.components.storage, Person(b, ann.principal)
    shutil.rmtree(storage.path(app))
    assert (await there.get("/repos/ann/app/branches")).status_code == 200
    await b.components.replicas.examine_stamps()
    assert await bring_up(b) == (1, 0)
    lose(b, "a")
    assert (await there.get("/repos/ann/app/branches")).status_code == 200


@no_sql
async def test_operators_see_a_replica_that_is_behind(worlds, ann):
    a, b, _ = worlds
    app = await ann.create("app", auto_init=True)
    await said(a, "replicate", "ann/app", "b")
    assert (await said(a, "list_all"))[-1] == "replica of ann/app on b: is being made"
    before = lose(b, "a")
    assert await bring_up(b) == (0, 0)
    (line,) = await examine_storage(b.database, b.components.storage, b.components.objects, "b", repair=True)
    assert line.startswith("repos: the replica of ann/app on b is behind: ")
    assert b.components.storage.exists(app["id"])
    b.components.shards.origins["a"] = before
    assert (await said(a, "list_all"))[-1].startswith("replica of ann/app on b: is behind: ")


@no_sql
async def test_commands_refuse_what_cannot_be(worlds, ann):
    a, _, _ = worlds
    await ann.create("app")
    for command, name, shard, reason in (
        ("replicate", "ann/app", "a", "is on a"),
        ("replicate", "ann/app", "z", "there is no shard z"),
        ("replicate", "ann/none", "b", "there is no repository"),
        ("unreplicate", "ann/app", "b", "b has no replica"),
    ):
        with pytest.raises(CannotStart, match=reason):
            await said(a, command, name, shard)


async def is_current(world, repository_id):
    async with world.database.read() as db:
        return bool(await replica_rows.list_current(db, repository_id))


async def test_what_moves_no_ref_leaves_replicas_as_they_are(worlds, ann, tmp_path):
    a, _, urls = worlds
    bob, pushes = a.user(2, "bob"), a.components.pushes
    app = (await ann.create("app", auto_init=True))["id"]
    await said(a, "replicate", "ann/app", "b")
    assert await bring_up(worlds[1]) == (1, 0)
    async with pushes.uploading(app, 1):
        assert await is_current(a, app)
    async with pushes.journaled(app, 1, ["refs/notes/commits"]) as push_id:
        assert not await is_current(a, app)
        await pushes.settle(push_id)
    assert await bring_up(worlds[1]) == (0, 1)
    # A push by a reader, who may only propose.
    work = await work_tree(tmp_path)
    await git("pull", "-q", f"{urls[0]}/ann/app.git", "master", cwd=work, person=ann)
    await commit(work)
    refused = await git("push", f"{urls[0]}/ann/app.git", "master", cwd=work, person=bob, check=False)
    assert "needs write access" in refused[1]
    await git("push", "-q", f"{urls[0]}/ann/app.git", "HEAD:refs/for/master/x", cwd=work, person=bob)
    assert await is_current(a, app)


@no_sql
async def test_a_comparison_counts_only_where_the_ref_of_the_pull_request_moves(worlds, ann):
    a, b, _ = worlds
    app = await replicated(worlds, ann)
    head = {"base_branch": "master", "head_repository_id": app, "head_branch": "master", "number": 7}
    assert (await ann.internal("POST", f"{app}/compare", head)).status_code == 200
    assert await bring_up(b) == (0, 1)
    assert (await ann.internal("POST", f"{app}/compare", head)).status_code == 200
    assert await is_current(a, app)


@no_sql
async def test_a_death_behind_the_move_of_such_a_ref_leaves_no_replica_that_looks_current(
    worlds, ann, monkeypatch
):
    """The process reaches its database no more from the moment in which the ref has moved."""
    a, b, _ = worlds
    app = await replicated(worlds, ann)
    ref, begin = a.components.storage.path(app) / "refs/pull/7/head", a.database.transaction

    def transaction_of_the_living():
        if ref.exists():
            raise ConnectionError("dead")
        return begin()

    head = {"base_branch": "master", "head_repository_id": app, "head_branch": "master", "number": 7}
    with monkeypatch.context() as life:
        life.setattr(a.database, "transaction", transaction_of_the_living)
        assert (await ann.internal("POST", f"{app}/compare", head)).status_code == 500
    assert ref.exists()
    assert not await is_current(a, app)
    table = a.database.metadata.tables["push"]
    async with a.database.transaction() as tx:
        await tx.execute(table.update().values(lease_until=table.c.created_at))
    assert await a.components.pushes.sweep() == 1
    assert not await is_current(a, app)
    assert await bring_up(b) == (0, 1)
    assert fsck(b, app) == fsck(a, app)


@no_sql
async def test_a_merge_that_is_refused_has_moved_the_ref_of_the_pull_request(worlds, ann):
    a, b, _ = worlds
    app = await replicated(worlds, ann)
    merge = {
        "number": 7, "style": "merge", "base_branch": "master", "head_branch": "master",
        "head_repository_id": app, "head_sha": "1" * 40,
    }  # fmt: skip
    refused = await ann.internal("POST", f"{app}/merge", merge)
    assert refused.status_code == 409, refused.text
    assert not await is_current(a, app)
    assert await bring_up(b) == (0, 1)
    assert fsck(b, app) == fsck(a, app)


@no_sql
async def test_a_replica_that_is_suspect_is_checked_and_copied_anew_when_it_is_damaged(worlds, ann):
    a, b, _ = worlds
    app = await replicated(worlds, ann)
    storage = b.components.storage
    file = max(loose(storage.path(app)), key=lambda one: one.stat().st_size)
    file.chmod(0o644)
    file.write_bytes(file.read_bytes()[:10])
    storage.watch.suspect(app)
    checks = UpkeepJobs(b.components.jobs, storage, b.components.lfs, "b", timedelta())
    assert "corrupt" in await checks.check_now(app)
    assert (await is_current(a, app), storage.exists(app), storage.watch.suspects) == (False, False, set())
    assert await bring_up(b) == (1, 0)
    assert (await is_current(a, app), await checks.check_now(app)) == (True, "")


@no_sql
async def test_a_damaged_replica_is_not_copied_onto_its_damage(worlds, ann):
    """The first attempt to discard its files fails, the second succeeds."""
    _, b, _ = worlds
    app = await replicated(worlds, ann)
    storage = b.components.storage
    file = max(loose(storage.path(app)), key=lambda one: one.stat().st_size)
    file.chmod(0o644)
    file.write_bytes(file.read_bytes()[:10])
    storage.watch.suspect(app)
    trash = storage.root / "trash"
    trash.rmdir()
    trash.write_text("no folder")
    checks = UpkeepJobs(b.components.jobs, storage, b.components.lfs, "b", timedelta())
    with pytest.raises(NotADirectoryError):
        await checks.check_now(app)
    assert (await bring_up(b), storage.watch.suspects) == ((0, 0), {app})
    trash.unlink()
    trash.mkdir()
    assert "corrupt" in await checks.check_now(app)
    assert await bring_up(b) == (1, 0)
    assert await checks.check_now(app) == ""


@no_sql
async def test_a_replica_is_not_wanted_again_before_it_is_removed(worlds, ann):
    a, b, _ = worlds
    app = await replicated(worlds, ann)
    await said(a, "unreplicate", "ann/app", "b")
    assert (await said(a, "list_all"))[-1] == "replica of ann/app on b: is being removed"
    with pytest.raises(CannotStart, match="is being removed"):
        await said(a, "replicate", "ann/app", "b")
    assert await bring_up(b) == (0, 1)
    await said(a, "replicate", "ann/app", "b")
    assert not b.components.storage.exists(app)
    assert await bring_up(b) == (1, 0)


def loops_of(world, word):
    """Return the loops with a word in their name, and the one that lets them run."""
    loops = world.components.replicas.loops()
    return [(name, loop) for name, loop in loops if word in name or name == "repos looks for replicas"]


async def until(condition):
    async for _ in polls(10.0):
        if await condition():
            return
    raise AssertionError("it did not come about")


@no_sql
async def test_files_that_vanish_while_a_process_runs_are_copied_again(worlds, ann, monkeypatch):
    a, b, _ = worlds
    monkeypatch.setattr(workers, "EXAMINE_SECONDS", 0.01)
    app = await replicated(worlds, ann)

    async def is_there():
        return b.components.storage.exists(app) and await is_current(a, app)

    async with running([*loops_of(b, "files"), *loops_of(b, "makes"), *loops_of(b, "up to date")]):
        for _ in range(2):  # the first ones may have gone before the loops have begun
            shutil.rmtree(b.components.storage.path(app))
            await until(is_there)


@no_sql
async def test_a_copy_that_takes_long_holds_up_no_other(worlds, ann, monkeypatch):
    a, b, _ = worlds
    large, small = [(await ann.create(name, auto_init=True))["id"] for name in ("large", "small")]
    contents = b.components.shards.contents

    async def slow(source, repository_id, *args):
        await asyncio.sleep(60 if repository_id == large else 0)
        return await contents(source, repository_id, *args)

    monkeypatch.setattr(b.components.shards, "contents", slow)
    for name in ("large", "small"):
        await said(a, "replicate", f"ann/{name}", "b")
    async with running(loops_of(b, "makes")):
        await until(partial(is_current, a, small))


@no_sql
async def test_a_loop_that_fails_interrupts_no_copy(worlds, ann, monkeypatch):
    """The lock of an interrupted copy is released, while its threads go on with the files."""
    a, b, _ = worlds
    monkeypatch.setattr(workers, "POLL_SECONDS", 0.01)
    app, failed, attempts = (await ann.create("app", auto_init=True))["id"], asyncio.Event(), []
    contents, list_due = b.components.shards.contents, replica_rows.list_due

    async def after_the_failure(*args):
        attempts.append(args)
        await failed.wait()
        return await contents(*args)

    async def fail_once(*args, **kind):
        if attempts and not failed.is_set():
            failed.set()
            raise ConnectionError
        return await list_due(*args, **kind)

    monkeypatch.setattr(b.components.shards, "contents", after_the_failure)
    monkeypatch.setattr(replica_rows, "list_due", fail_once)
    await said(a, "replicate", "ann/app", "b")
    async with running(loops_of(b, "makes")):
        await until(partial(is_current, a, app))
    assert len(attempts) == 1


@no_sql
async def test_a_step_that_misses_its_cancellation_does_not_hold_up_the_end(worlds, ann, monkeypatch):
    """As waits of asyncio do when they end in the moment they are cancelled."""
    await ann.create("app", auto_init=True)
    await said(worlds[0], "replicate", "ann/app", "b")
    replicas, began, missed = worlds[1].components.replicas, asyncio.Event(), asyncio.Event()

    async def misses_one(**_):
        began.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if missed.is_set():
                raise
            missed.set()
        return 1

    monkeypatch.setattr(replicas, "step", misses_one)
    async with asyncio.timeout(20), running(loops_of(worlds[1], "makes")):
        await began.wait()
    assert missed.is_set()


async def test_one_process_at_a_time_makes_replicas_and_the_next_goes_on(worlds, ann, monkeypatch):
    a, b, _ = worlds
    monkeypatch.setattr(workers, "POLL_SECONDS", 0.01)
    app, attempts, exclusive = await ann.create("app", auto_init=True), [], b.database.exclusive

    def counted(name):
        attempts.append(name)
        return exclusive(name)

    async def has_tried_twice():
        return attempts.count(lock) >= 2

    await said(a, "replicate", "ann/app", "b")
    lock = workers.due_lock_name("b", is_new=True)
    async with exclusive(lock):
        monkeypatch.setattr(b.database, "exclusive", counted)
        async with running(loops_of(b, "makes")):
            await until(has_tried_twice)
            assert set(attempts) == {lock}
    async with running(loops_of(b, "makes")):
        await until(partial(is_current, a, app["id"]))


async def test_one_process_at_a_time_looks_at_the_files_of_replicas(worlds, ann):
    a, b, _ = worlds
    app = await replicated(worlds, ann)
    shutil.rmtree(b.components.storage.path(app))
    async with b.database.exclusive("repos_examine_replicas:b"):
        await b.components.replicas.examine_stamps()
        assert await is_current(a, app)
    await b.components.replicas.examine_stamps()
    assert not await is_current(a, app)


@no_sql
async def test_a_shard_that_died_with_replicas_is_removed(worlds, ann):
    a, _, _ = worlds
    await replicated(worlds, ann)
    await said(a, "drain", "b")
    assert (await said(a, "remove", "b"))[0].startswith("b is removed")
    assert await a.rows("replica") == []
