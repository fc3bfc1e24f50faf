"""Repositories are packed after pushes and checked; what is pruned, and when."""

import asyncio
import base64
import fcntl
import os
import time
from datetime import timedelta

import httpx
import pygit2
import pytest

import ingot_git.storage.packs
from ingot_chassis.jobs.workers import Workers
from ingot_git.history.reachability import only_in
from ingot_git.process.errors import PackedByAnother
from ingot_git.protocol.smart_http import pkt_line
from ingot_git.refs.refs import ZERO_OID, RefChange, list_refs, update_refs
from ingot_git.storage.packs import (
    check_repository,
    in_use,
    is_in_use,
    pack_repository,
    repack_lock,
    write_due_commit_graph,
)
from ingot_git.storage.storage import Storage
from ingot_git.testing.graphs import written_graph
from ingot_repos.app import fsck
from ingot_repos.catalog.store.upkeep import WRITES
from ingot_repos.placement.rules.job_kinds import on_shard
from ingot_repos.upkeep.jobs.upkeep import CHECK, DAMAGED, PACK, UNCHECKED
from ingot_repos.upkeep.rules.examinations import examine_storage
from ingot_testing.metrics import value_of

from ..world import commit, git, work_tree

DAY = timedelta(days=1)


@pytest.fixture
async def path(world, base):
    """Return the path of ann/app, which has the branches master and topic."""
    return world.components.storage.path(base)


def packs(path, suffix="pack"):
    return sorted((path / "objects/pack").glob(f"pack-*.{suffix}"))


def loose(path):
    return [file for file in (path / "objects").glob("??/*") if file.is_file()]


def age(path, seconds):
    """Let what waits to be pruned be that old."""
    then = time.time() - seconds
    for file in (*packs(path, "mtimes"), *packs(path)):
        os.utime(file, (then, then))


async def delete_topic(path):
    tip = (await git("rev-parse", "topic", cwd=path)).strip()
    await git("branch", "-D", "topic", cwd=path)
    return tip


async def has(path, oid):
    code, _ = await git("cat-file", "-e", oid, cwd=path, check=False)
    return code == 0


async def test_packing_joins_everything_and_writes_bitmap_and_commit_graph(world, ann, base, path):
    body = {"content": base64.b64encode(b"three\n").decode(), "message": "three"}
    assert (await ann.post("/repos/ann/app/contents/c.txt", body)).status_code == 201
    before = await world.components.storage.call(base, list_refs, ("refs/",))
    assert (len(packs(path)), len(loose(path)) > 0) == (2, True)
    assert not await asyncio.to_thread(pack_repository, path, grace=DAY)
    assert (len(packs(path)), len(packs(path, "bitmap")), loose(path)) == (1, 1, [])
    assert b"BIDX" in (path / "objects/info/commit-graph").read_bytes()
    assert await world.components.storage.call(base, list_refs, ("refs/",)) == before
    assert await git("fsck", "--full", cwd=path) == ""


@pytest.mark.parametrize("late", [2**34, 2**34 + 7, 2**40])
async def test_a_commit_with_a_date_too_late_for_a_commit_graph_is_no_damage(tmp_path, late):
    storage = Storage(tmp_path / "root")
    storage.create(1, "main")
    path = storage.path(1)
    graph = written_graph(storage.open(1), [[], [0], [1], [2]], [1_000, late, 1_001, 1_002])
    update_refs(path, [RefChange("refs/heads/main", ZERO_OID, graph.ids[0])])
    await asyncio.to_thread(pack_repository, path, grace=DAY)
    assert (path / "objects/info/commit-graph").exists()
    update_refs(path, [RefChange("refs/heads/main", graph.ids[0], graph.ids[-1])])
    await git("commit-graph", "write", "--reachable", cwd=path)  # as an older release has left it
    assert await asyncio.to_thread(check_repository, path) == ""
    await asyncio.to_thread(pack_repository, path, grace=DAY)
    assert await asyncio.to_thread(check_repository, path) == ""
    await git("clone", "-q", "--bare", str(path), "copy", cwd=tmp_path)
    assert (await git("rev-list", "main", cwd=tmp_path / "copy")).split() == graph.ids[::-1]
    assert only_in(storage.open(1), graph.ids[-1], [graph.ids[0]]) == graph.ids[:0:-1]


async def test_a_commit_graph_is_written_when_many_objects_have_come(path, monkeypatch):
    write_due_commit_graph(path)
    written = path / "objects/info/commit-graph"
    assert not written.exists()
    monkeypatch.setattr(ingot_git.storage.packs, "_NEW_INDEX_BYTES", 100)
    with repack_lock(path):
        write_due_commit_graph(path)
        assert not written.exists()
    write_due_commit_graph(path)
    first = written.stat().st_mtime_ns
    write_due_commit_graph(path)
    assert written.stat().st_mtime_ns == first
    assert await git("fsck", "--full", cwd=path) == ""


async def test_very_many_loose_refs_become_one_list(ann, base, path, git_url, tmp_path, monkeypatch):
    monkeypatch.setattr(ingot_git.storage.packs, "_MOST_LOOSE_REFS", 1)
    before = list_refs(pygit2.Repository(str(path)))
    pack_repository(path, grace=DAY)
    assert [file for file in path.glob("refs/heads/*") if file.is_file()] == []
    assert list_refs(pygit2.Repository(str(path))) == before
    url, work = f"{git_url}/ann/app.git", tmp_path / "work"
    await git("push", "-q", url, ":topic", "HEAD:refs/heads/other", cwd=work, person=ann)
    assert [one["name"] for one in (await ann.get("/repos/ann/app/branches")).json()] == ["master", "other"]


async def test_what_a_killed_process_locked_does_not_keep_a_repository_from_being_packed(path):
    lock = path / "objects/info/commit-graph.lock"
    lock.parent.mkdir(exist_ok=True)
    lock.touch()
    await asyncio.to_thread(pack_repository, path, grace=DAY)
    assert (lock.exists(), (path / "objects/info/commit-graph").exists()) == (False, True)


async def test_two_processes_never_pack_one_repository(path):
    before = packs(path)
    folder = os.open(path / "objects", os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    with pytest.raises(PackedByAnother):
        await asyncio.to_thread(pack_repository, path, grace=DAY)
    assert (len(before), packs(path)) == (2, before)
    os.close(folder)
    await asyncio.to_thread(pack_repository, path, grace=DAY)
    assert len(packs(path)) == 1


async def test_requests_go_on_while_a_repository_is_packed(ann, base, path, git_url, tmp_path):
    for number in range(3):
        answer = await ann.get("/repos/ann/app/raw/a.txt")
        assert answer.text == "one\n"
        await asyncio.to_thread(pack_repository, path, grace=DAY)
        await commit(tmp_path / "work", f"{number}.txt")
        await git("push", "-q", f"{git_url}/ann/app.git", "topic", cwd=tmp_path / "work", person=ann)
        assert (await ann.get(f"/repos/ann/app/raw/topic/{number}.txt")).status_code == 200
    await git("clone", "-q", f"{git_url}/ann/app.git", "back", cwd=tmp_path, person=ann)
    assert await git("fsck", "--full", cwd=tmp_path / "back") == ""


async def test_what_no_ref_needs_is_pruned_after_the_grace_period(path):
    tip = await delete_topic(path)
    assert await asyncio.to_thread(pack_repository, path, grace=DAY)
    assert len(packs(path, "mtimes")) == 1
    age(path, DAY.total_seconds() - 600)
    await asyncio.to_thread(pack_repository, path, grace=DAY)
    assert await has(path, tip)
    # The time of an object is in the file, so the grace period is cut instead.
    age(path, DAY.total_seconds())
    assert not await asyncio.to_thread(pack_repository, path, grace=timedelta(0))
    assert not await has(path, tip)
    assert await git("fsck", "--full", cwd=path) == ""


async def test_an_old_pack_does_not_let_a_deleted_branch_go_at_once(path):
    await asyncio.to_thread(pack_repository, path, grace=DAY)
    age(path, 30 * DAY.total_seconds())
    tip = await delete_topic(path)
    for bitmap in packs(path, "bitmap"):
        bitmap.unlink()  # as a large join leaves it
    assert await asyncio.to_thread(pack_repository, path, grace=DAY)
    assert await has(path, tip)


def pack_of(answer):
    """The pack in an answer to a fetch in protocol 2."""
    pack, position = bytearray(), answer.index(b"packfile\n") + len(b"packfile\n")
    while length := int(answer[position : position + 4], 16):
        if answer[position + 4] == 1:
            pack += answer[position + 5 : position + length]
        position += length
    return pack


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_nothing_is_pruned_under_a_slow_fetch(ann, base, path, git_url, tmp_path):
    """Of the files git reads one after the other; connections hold about as much as one of them."""
    work = tmp_path / "work"
    for number in range(3):
        (work / f"{number}.bin").write_bytes(os.urandom(8 * 1024 * 1024))
    tip = await commit(work, "c.txt")
    await git("push", "-q", f"{git_url}/ann/app.git", "topic", cwd=work, person=ann)
    lines = (
        pkt_line(b"command=fetch"),
        b"0001",
        pkt_line(f"want {tip}\n".encode()),
        pkt_line(b"done\n"),
        b"0000",
    )
    request = {
        "content": b"".join(lines),
        "headers": ann.headers()
        | {"content-type": "application/x-git-upload-pack-request", "git-protocol": "version=2"},
    }
    url, answer = f"{git_url}/ann/app.git/git-upload-pack", b""
    async with (
        asyncio.timeout(300),
        httpx.AsyncClient(timeout=None) as http,
        http.stream("POST", url, **request) as response,
    ):
        parts = response.aiter_raw()
        while b"PACK" not in answer:
            answer += await anext(parts)
        update_refs(path, [RefChange("refs/heads/topic", tip, ZERO_OID)])
        with in_use(path):  # a second one does not wait
            pass
        assert await asyncio.to_thread(pack_repository, path, grace=timedelta(0))
        answer = b"".join([answer, *[part async for part in parts]])
    (tmp_path / "fetched.pack").write_bytes(pack_of(answer))
    await git("index-pack", "--strict", str(tmp_path / "fetched.pack"), cwd=work)
    assert not is_in_use(path)
    assert not await asyncio.to_thread(pack_repository, path, grace=timedelta(0))
    assert not await has(path, tip)


async def test_a_push_comes_back_to_what_waits_to_be_pruned(ann, base, path, git_url, tmp_path):
    tip = await delete_topic(path)
    await asyncio.to_thread(pack_repository, path, grace=DAY)
    await git(
        "push", "-q", f"{git_url}/ann/app.git", f"{tip}:refs/heads/again", cwd=tmp_path / "work", person=ann
    )
    await asyncio.to_thread(pack_repository, path, grace=timedelta(0))
    assert (await ann.get("/repos/ann/app/raw/again/b.txt")).text == "two\n"


@pytest.fixture
async def long_unneeded(path):
    """The repository, in which the files of a branch that is deleted have waited for longer than a day."""
    await asyncio.to_thread(pack_repository, path, grace=DAY)
    await delete_topic(path)
    age(path, 2 * DAY.total_seconds())
    await git("repack", "--cruft", "-d", "-q", cwd=path)
    age(path, 2 * DAY.total_seconds())
    for bitmap in packs(path, "bitmap"):
        bitmap.unlink()
    return pygit2.Repository(str(path))


def write_again(repo):
    """Start a change over the API with the file of the deleted branch."""
    return repo.create_blob(b"two\n")


def commit_again(repo, blob):
    builder, me = repo.TreeBuilder(), pygit2.Signature("me", "me@example.org", 1_700_000_000, 0)
    builder.insert("b.txt", blob, pygit2.enums.FileMode.BLOB)
    repo.create_commit("refs/heads/again", me, me, "again", builder.write(), [])


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize("begins", ["before", "meanwhile"])
async def test_a_change_that_comes_back_to_what_waits_to_be_pruned_loses_nothing(
    long_unneeded, path, monkeypatch, begins
):
    run, blobs = ingot_git.storage.packs._run, []

    def write_meanwhile(path, args):
        if "--cruft" in args.options:
            blobs.append(write_again(long_unneeded))
        run(path, args)

    if begins == "before":
        blobs.append(write_again(long_unneeded))
    else:
        monkeypatch.setattr("ingot_git.storage.packs._run", write_meanwhile)
    await asyncio.to_thread(pack_repository, path, grace=DAY)
    commit_again(long_unneeded, blobs[0])
    assert check_repository(path) == ""


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_links_to_packs_that_a_dead_process_left_are_packs_again(long_unneeded, path):
    links = path / "objects/tmp_objdir-cruft"
    links.mkdir()
    for file in packs(path, "mtimes"):
        for part in packs(path, "*"):
            if part.stem == file.stem:
                part.rename(links / part.name)
    blob = pygit2.hash(b"two\n")
    assert not await has(path, str(blob))
    with in_use(path):
        await asyncio.to_thread(pack_repository, path, grace=DAY)
    assert (await has(path, str(blob)), links.exists()) == (True, False)


async def kinds(world):
    return sorted(row.kind.partition("@")[0] for row in await world.rows("job") if row.state == "waiting")


async def work(world, upkeep):
    """Do the jobs that were planned, as the worker of the process does."""
    shard = world.settings.shard
    await Workers("repos", world.components.jobs, on_shard(upkeep.work(), shard), concurrency=1).step()


async def test_a_repository_is_packed_after_its_first_push_and_then_by_the_number_of_pushes(
    world, base, path, upkeep
):
    await upkeep.plan()
    assert await kinds(world) == [CHECK, PACK]
    await work(world, upkeep)
    (row,) = await world.rows("upkeep")
    assert (row.packed_version, row.damage, len(packs(path))) == (2, "", 1)
    await upkeep.plan()
    assert await kinds(world) == []
    table = world.database.metadata.tables["repository"]
    for pushes, expected in ((WRITES - 1, []), (WRITES, [PACK])):
        async with world.database.transaction() as tx:
            await tx.execute(table.update().values(ref_version=2 + pushes))
        await upkeep.plan()
        assert await kinds(world) == expected


async def test_one_process_at_a_time_looks_which_repositories_are_due(world, base, upkeep):
    shard = world.settings.shard
    async with world.database.exclusive(f"repos_plan_upkeep:{shard}"):
        await upkeep.plan()
        assert await kinds(world) == []
    await upkeep.plan()
    assert await kinds(world) == [CHECK, PACK]
    UNCHECKED.labels(shard).set(7)
    async with world.database.exclusive(f"repos_measure_damage:{shard}"):
        await upkeep.measure()
        assert value_of(UNCHECKED, shard) == 7
    await upkeep.measure()
    assert value_of(UNCHECKED, shard) == 1


async def test_a_repository_is_packed_after_a_push_of_very_many_refs(
    world, ann, base, upkeep, git_url, tmp_path, monkeypatch
):
    monkeypatch.setattr("ingot_repos.catalog.store.upkeep.MANY_REFS", 2)
    await upkeep.plan()
    await work(world, upkeep)
    for name, count, expected in (("few", 2, []), ("many", 3, [PACK])):
        refs = [f"topic:refs/tags/{name}{number}" for number in range(count)]
        await git("push", "-q", f"{git_url}/ann/app.git", *refs, cwd=tmp_path / "work", person=ann)
        await upkeep.plan()
        assert await kinds(world) == expected
    await work(world, upkeep)
    await upkeep.plan()
    assert await kinds(world) == []


async def test_a_quiet_repository_is_packed_daily_and_checked_weekly(world, base, upkeep):
    await upkeep.plan()
    await work(world, upkeep)
    tables = world.database.metadata.tables
    async with world.database.transaction() as tx:
        await tx.execute(tables["repository"].update().values(ref_version=3))
        (row,) = await world.rows("upkeep")
        await tx.execute(tables["upkeep"].update().values(packed_at=row.packed_at - DAY))
    await upkeep.plan()
    assert await kinds(world) == [PACK]
    async with world.database.transaction() as tx:
        await tx.execute(tables["upkeep"].update().values(checked_at=row.checked_at - 7 * DAY))
    await upkeep.plan()
    assert await kinds(world) == [CHECK, PACK]


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_very_many_loose_refs_of_a_quiet_repository_become_one_list_with_its_weekly_check(
    world, base, path, upkeep
):
    await upkeep.plan()
    await work(world, upkeep)
    tip = (await git("rev-parse", "topic", cwd=path)).strip()
    for number in range(2000):
        (path / "refs/tags" / f"v{number}").write_text(f"{tip}\n")
    before = list_refs(pygit2.Repository(str(path)))
    (row,) = await world.rows("upkeep")
    async with world.database.transaction() as tx:
        table = world.database.metadata.tables["upkeep"]
        await tx.execute(table.update().values(checked_at=row.checked_at - 7 * DAY))
    await upkeep.plan()
    assert await kinds(world) == [CHECK]
    await work(world, upkeep)
    assert [file for file in path.glob("refs/tags/*") if file.is_file()] == []
    assert (len(before), list_refs(pygit2.Repository(str(path)))) == (2002, before)


async def test_what_waits_to_be_pruned_is_looked_at_again(world, base, path, upkeep):
    await delete_topic(path)
    await upkeep.plan()
    await work(world, upkeep)
    (row,) = await world.rows("upkeep")
    assert row.prune_at - row.packed_at >= DAY
    async with world.database.transaction() as tx:
        await tx.execute(world.database.metadata.tables["upkeep"].update().values(prune_at=row.packed_at))
    await upkeep.plan()
    assert await kinds(world) == [PACK]


async def damage_one(ann, name, world):
    """A repository one of whose objects is cut; its id."""
    created = await ann.create(name, auto_init=True)
    file = max(loose(world.components.storage.path(created["id"])), key=lambda one: one.stat().st_size)
    file.chmod(0o644)
    file.write_bytes(file.read_bytes()[:10])
    return created["id"]


async def test_damage_is_found_and_shown_and_touches_nothing_else(world, ann, base, upkeep):
    damaged = await damage_one(ann, "damaged", world)
    await upkeep.plan()
    await work(world, upkeep)
    rows = {row.repository_id: row for row in await world.rows("upkeep")}
    assert (rows[base].damage, rows[base].packed_version) == ("", 2)
    assert "corrupt" in rows[damaged].damage
    assert str(world.folder) not in rows[damaged].damage
    await upkeep.measure()
    assert value_of(DAMAGED, world.settings.shard) == 1
    assert (await ann.get("/repos/ann/app/raw/a.txt")).text == "one\n"
    await upkeep.plan()
    assert await kinds(world) == []  # it is left for a day
    components, shard = world.components, world.settings.shard
    (line,) = await examine_storage(
        world.database, components.storage, components.objects, shard, repair=False
    )
    assert line.startswith(f"repos: ann/damaged (id {damaged}) is damaged: ")


async def test_all_repositories_are_checked_at_once(world, ann, base, upkeep):
    damaged = await damage_one(ann, "damaged", world)
    gone = (await ann.create("nothing"))["id"]
    world.components.storage.delete(gone)
    lines = [line async for line in upkeep.check_all()]
    assert [line.split(":")[0] for line in lines[:-1]] == [f"repository {damaged}", f"repository {gone}"]
    assert lines[-1] == "3 repositories are checked, 2 of them damaged"


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_what_takes_git_too_long_waits_as_long_as_all_others(world, base, upkeep, monkeypatch):
    monkeypatch.setattr(ingot_git.storage.packs, "_TIME_LIMIT", 0.0)
    await upkeep.plan()
    await work(world, upkeep)
    (row,) = await world.rows("upkeep")
    assert (row.packed_version, row.checked_at is not None, row.damage) == (2, True, "")
    await upkeep.plan()
    assert await kinds(world) == []
    assert [line async for line in upkeep.check_all()] == ["1 repositories are checked, 0 of them damaged"]


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_what_killed_gits_have_written_of_packs_goes(world, base, path, upkeep):
    old, new = (path / "objects/pack" / name for name in ("tmp_pack_old", "tmp_pack_new"))
    for file in (old, new):
        file.write_bytes(b"PACK")
    then = time.time() - 2 * 3600
    os.utime(old, (then, then))
    await upkeep.plan()
    await work(world, upkeep)
    assert (old.exists(), new.exists()) == (False, True)


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_what_is_pushed_while_git_looks_is_no_damage(base, path, monkeypatch):
    index, looks, run = packs(path, "idx")[0], [], ingot_git.storage.packs._run

    def look(*args):
        """On the first call, git has read a ref whose commit is not in its list of objects."""
        looks.append(index.rename(path / "aside") if not looks else None)
        try:
            run(*args)
        finally:
            if looks[-1] is not None:
                looks[-1].rename(index)

    monkeypatch.setattr(ingot_git.storage.packs, "_run", look)
    assert check_repository(path) == ""
    assert len(looks) == 2


async def test_a_repository_that_was_deleted_meanwhile_is_no_failure(world, ann, base, upkeep):
    await upkeep.plan()
    await ann.call("DELETE", "/api/v1/repos/ann/app")
    await work(world, upkeep)
    assert await world.rows("upkeep") == []
    assert await upkeep.check_now(base) == ""


async def test_a_repository_that_is_deleted_while_it_is_checked_is_not_damaged(
    world, ann, base, upkeep, monkeypatch
):
    path, run = world.components.storage.path(base), ingot_git.storage.packs._run
    loop, calls = asyncio.get_running_loop(), []

    async def delete():
        await ann.call("DELETE", "/api/v1/repos/ann/app")
        await work(world, upkeep)

    def delete_and_run(*args):
        if not calls:
            asyncio.run_coroutine_threadsafe(delete(), loop).result()
            path.rename(path.with_suffix(".deleted"))
        calls.append(args)
        run(*args)

    monkeypatch.setattr(ingot_git.storage.packs, "_run", delete_and_run)
    assert await upkeep.check_now(base) == ""
    assert calls


async def test_planning_costs_the_same_however_many_repositories_there_are(world, ann, upkeep):
    counts = []
    for number in range(2):
        await ann.create(f"app{number}", auto_init=True)
        await upkeep.plan()
        await work(world, upkeep)
        with world.count_statements() as statements:
            await upkeep.plan()
        counts.append(len(statements))
    assert len(set(counts)) == 1


def test_a_sound_repository_has_no_damage(tmp_path):
    async def build():
        work = await work_tree(tmp_path)
        await commit(work, "a.txt")
        return work / ".git"

    assert check_repository(asyncio.run(build())) == ""


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_the_command_checks_everything_and_ends(world, base, capsys):
    await fsck(world.settings)
    assert capsys.readouterr().out.endswith("1 repositories are checked, 0 of them damaged\n")
