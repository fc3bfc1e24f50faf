"""Pushes and clones with the real git, their events, and processes that die in between."""

import asyncio
import contextlib
import os
import shutil
import threading
import time

import msgspec
import pygit2
import pytest

from ingot_chassis.errors import NotFound
from ingot_git.history.push_changes import read_push_changes
from ingot_git.process.disk import FEW_REFS
from ingot_git.protocol import smart_http
from ingot_git.refs.refs import RefChange, list_refs, move_ref, ref_target, update_refs
from ingot_repos.mirrors.rules.push_mirrors import request_pushes
from ingot_repos.pushes.rules import journal as pushes
from ingot_repos.pushes.rules import sessions
from ingot_repos.pushes.rules.journal import Pushes
from ingot_repos.pushes.store import refs

from ..world import commit, git, work_tree

ZERO = "0" * 40


@pytest.fixture
async def work(ann, tmp_path):
    await ann.create("app")
    return await work_tree(tmp_path)


async def push(work, git_url, person, *what):
    return await git("push", "-q", f"{git_url}/ann/app.git", *what, cwd=work, person=person)


async def test_what_is_pushed_can_be_cloned(ann, bob, work, git_url, tmp_path):
    sha = await commit(work, "big.bin", "x" * 3_000_000)
    await push(work, git_url, ann, "master")
    await git("clone", "-q", f"{git_url}/ann/app.git", "copy", cwd=tmp_path, person=bob)
    assert (await git("rev-parse", "HEAD", cwd=tmp_path / "copy")).strip() == sha


async def test_a_push_is_announced_with_its_commits_newest_first(world, ann, work, git_url):
    first = await commit(work, "a.txt", message="first")
    await push(work, git_url, ann, "master")
    second = await commit(work, "b.txt", message="second\n\nwith a body")
    (work / "a.txt").unlink()
    third = await commit(work, "b.txt", message="third")
    await push(work, git_url, ann, "master")

    created, moved = await world.events("push")
    assert (created["before"], created["after"], created["total_commits"]) == (ZERO, first, 1)
    assert created["compare_url"] == "http://ingot.test/"
    assert (moved["before"], moved["after"], moved["forced"]) == (first, third, False)
    assert moved["compare_url"] == f"http://ingot.test/ann/app/compare/{first}...{third}"
    assert [c["id"] for c in moved["commits"]] == [third, second]
    assert moved["commits"][0]["modified"] == ["b.txt"]
    assert moved["commits"][0]["removed"] == ["a.txt"]
    assert moved["commits"][1]["added"] == ["b.txt"]
    assert moved["commits"][1]["author"] == {"name": "Ann", "email": "ann@example.org", "username": "ann"}
    assert moved["head_commit"] is None, "it is the first of the commits"
    assert moved["pusher"]["login"] == "ann"
    assert moved["repository"]["empty"] is False
    assert await world.rows("push") == []


async def test_many_commits_are_counted_but_not_all_sent(world, ann, work, git_url):
    for number in range(23):
        await git("commit", "-q", "--allow-empty", "-m", str(number), cwd=work)
    await push(work, git_url, ann, "master")
    (event,) = await world.events("push")
    assert (len(event["commits"]), event["total_commits"]) == (20, 23)


async def test_tags_deletions_and_forced_moves_are_distinguished(world, ann, work, git_url):
    await commit(work)
    second = await commit(work)
    await git("tag", "-a", "v1", "-m", "v1", cwd=work)
    await push(work, git_url, ann, "master", "v1", "master:topic")
    names = [event["ref"].rpartition("/")[2] for event in await world.events("push")]
    assert names == ["topic", "master", "v1"]
    await git("commit", "-q", "--amend", "-m", "changed", cwd=work)
    await push(work, git_url, ann, "+master")
    await push(work, git_url, ann, ":topic")
    events = {(event["ref"], event["after"] == ZERO): event for event in await world.events("push")}
    assert events["refs/tags/v1", False]["commits"] == []
    assert events["refs/tags/v1", False]["compare_url"] == "http://ingot.test/"
    assert events["refs/tags/v1", False]["after"] != second, "the id of the annotated tag"
    assert events["refs/heads/topic", False]["commits"] == []
    for name in ("refs/tags/v1", "refs/heads/topic"):
        head = events[name, False]["head_commit"]
        assert (head["id"], head["author"]["username"]) == (second, "ann")
        assert len(head["added"] + head["modified"]) == 1
    deletion = events["refs/heads/topic", True]
    assert (deletion["before"], deletion["commits"], deletion["compare_url"]) == (
        second,
        [],
        "http://ingot.test/",
    )
    assert events["refs/heads/master", False]["forced"] is True
    assert deletion["head_commit"] is None


async def test_a_push_names_the_commit_of_a_branch_that_was_set_back(world, ann, work, git_url):
    first = await commit(work)
    await commit(work)
    await push(work, git_url, ann, "master")
    await push(work, git_url, ann, f"+{first}:master")
    _, event = await world.events("push")
    assert (event["after"], event["commits"], event["total_commits"]) == (first, [], 0)
    assert event["head_commit"]["id"] == first


async def test_a_tag_of_a_tree_has_no_commit(world, ann, work, git_url):
    await commit(work)
    await git("tag", "v1", "HEAD^{tree}", cwd=work)
    await push(work, git_url, ann, "v1")
    [event] = await world.events("push")
    assert (event["ref"], event["head_commit"]) == ("refs/tags/v1", None)


async def test_a_branch_that_was_forced_is_announced_before_those_that_may_have_got_it(
    world, ann, work, git_url
):
    """A pull request whose head was rebased is merged by a push of both, whatever its base is called."""
    await commit(work)
    await push(work, git_url, ann, "master", "master:release")
    await git("checkout", "-q", "-b", "topic", cwd=work)
    await commit(work)
    await push(work, git_url, ann, "topic")
    await git("commit", "-q", "--amend", "-m", "rebased", cwd=work)
    count = len(await world.events("push"))
    refs = ("topic:a-new-one", "topic:master", "topic:release", "topic:refs/tags/v1", "+topic")
    await push(work, git_url, ann, *refs)
    moved = [event["ref"].removeprefix("refs/") for event in (await world.events("push"))[count:]]
    assert moved == ["heads/topic", "heads/a-new-one", "heads/release", "heads/master", "tags/v1"]


async def test_the_first_push_may_bring_another_default_branch(ann, work, git_url):
    await commit(work)
    await push(work, git_url, ann, "master:trunk")
    shown = (await ann.get("/repos/ann/app")).json()
    assert (shown["default_branch"], shown["empty"]) == ("trunk", False)
    assert (await ann.get("/repos/ann/app/raw/file.txt")).status_code == 200


@pytest.mark.parametrize("quiet", [False, True])
async def test_a_first_push_is_shown_and_tells_of_its_progress_while_it_is_recorded(
    ann, work, git_url, monkeypatch, quiet
):
    goes_on, reads = threading.Event(), threading.Event()

    def read_slowly(*arguments):
        reads.set()
        goes_on.wait(60)
        return read_push_changes(*arguments)

    monkeypatch.setattr(pushes, "read_push_changes", read_slowly)
    monkeypatch.setattr(sessions, "PROGRESS_SECONDS", 0.05)
    await commit(work, "big.bin", os.urandom(sessions.SMALL_BYTES).hex())
    options = ("--quiet",) if quiet else ("--progress",)
    pushing = asyncio.create_task(
        git("push", *options, f"{git_url}/ann/app.git", "master:trunk", cwd=work, person=ann)
    )
    try:
        await asyncio.to_thread(reads.wait, 60)
        shown = (await ann.get("/repos/ann/app")).json()
        assert (shown["empty"], shown["default_branch"]) == (False, "trunk")
        assert (await ann.get("/repos/ann/app/commits")).status_code == 200
        await asyncio.sleep(0.2)
    finally:
        goes_on.set()
    assert ("Recording the push: " in await pushing) != quiet


async def test_refs_that_are_there_are_never_called_empty(world, ann, work):
    """A push whose process died before it could be recorded."""
    await commit(work, "a.txt")
    repository = (await ann.get("/repos/ann/app")).json()
    path = world.components.storage.path(repository["id"])
    await git("push", "-q", str(path), f"master:{repository['default_branch']}", cwd=work)
    assert (await ann.get("/repos/ann/app/commits")).status_code == 200
    assert [entry["name"] for entry in (await ann.get("/repos/ann/app/contents")).json()] == ["a.txt"]


async def test_nothing_is_announced_when_git_refuses(world, ann, work, git_url):
    await commit(work)
    code, _ = await git(
        "push", f"{git_url}/ann/app.git", "master:refs/pull/1/head", cwd=work, person=ann, check=False
    )
    assert code != 0
    assert await world.events("push") == []
    assert await world.rows("push") == []


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_git_shows_why_it_is_refused(ann, bob, work, git_url):
    await ann.create("hidden", private=True)
    for name in ("hidden", "nothing"):
        url = f"{git_url}/ann/{name}.git"
        _, text = await git("ls-remote", url, cwd=work, person=bob, check=False)
        assert text == f"remote: Not found.\nfatal: repository '{url}/' not found\n"
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"archived": True})
    await commit(work)
    _, text = await git("push", f"{git_url}/ann/app.git", "master", cwd=work, person=ann, check=False)
    assert "remote: the repository is archived" in text
    reader = ann.but(scopes=["read:repository"])
    _, text = await git("push", f"{git_url}/ann/app.git", "master", cwd=work, person=reader, check=False)
    assert "remote: the token lacks the scope for that" in text
    for service in ("git-upload-pack", "git-receive-pack"):
        answer = await ann.call("POST", f"/ann/app/{service}")
        assert (answer.status_code, answer.headers["content-type"]) == (415, "text/plain; charset=utf-8")


async def test_a_reader_cannot_push(world, ann, bob, work, git_url):
    await commit(work)
    code, text = await git("push", f"{git_url}/ann/app.git", "master", cwd=work, person=bob, check=False)
    assert (code, "[remote rejected] master -> master (pre-receive hook declined)" in text) == (1, True), text
    assert "remote: refs/heads/master: needs write access to the repository" in text
    tip = (await git("rev-parse", "HEAD", cwd=work)).strip()
    repository = (await ann.get("/repos/ann/app")).json()
    with pytest.raises(AssertionError):
        await git("cat-file", "-e", tip, cwd=world.components.storage.path(repository["id"]))
    code, _ = await git("push", f"{git_url}/ann/app.git", "master", cwd=work, check=False)
    assert code == 128


async def test_pushes_at_the_same_time_are_each_announced_once(world, ann, work, git_url):
    await commit(work)
    await push(work, git_url, ann, "master")
    await asyncio.gather(*(push(work, git_url, ann, f"master:refs/heads/b{n}") for n in range(6)))
    moved_refs = sorted(event["ref"] for event in await world.events("push"))
    assert moved_refs == [*(f"refs/heads/b{n}" for n in range(6)), "refs/heads/master"]


async def test_a_push_whose_process_died_is_announced_by_the_next_one(world, ann, work, git_url):
    first = await commit(work)
    await push(work, git_url, ann, "master")
    row = (await world.rows("repository"))[0]
    path = world.components.storage.path(row.id)
    dead = Pushes(
        world.database,
        world.components.storage,
        world.components.presenter,
        request_pushes,
        lease_seconds=0,
        shard="shard-0",
    )
    async with dead.journaled(row.id, 1, ["refs/heads/topic"]):
        update_refs(path, [RefChange("refs/heads/topic", ZERO, first)])

    assert await world.components.pushes.sweep() == 1
    assert await world.components.pushes.sweep() == 0
    event = (await world.events("push"))[-1]
    assert (event["ref"], event["after"], event["pusher"]["login"]) == ("refs/heads/topic", first, "ann")
    assert await world.rows("push") == []


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize(("others", "works"), [(0, True), (1, True), (1000, False)])
async def test_a_branch_that_a_killed_push_left_locked_is_pushed_to_again(
    world, ann, work, git_url, others, works
):
    """A process that moves very many refs may itself have locked one for so long."""
    first = await commit(work)
    await push(work, git_url, ann, "master")
    row = (await world.rows("repository"))[0]
    storage, components = world.components.storage, world.components
    dead = Pushes(
        world.database, storage, components.presenter, request_pushes, lease_seconds=0, shard="shard-0"
    )
    lock = storage.path(row.id) / "refs/heads/topic.lock"
    async with dead.journaled(row.id, 1, ["refs/heads/topic"]):
        lock.touch()
        os.utime(lock, (time.time() - 60,) * 2)
    names = [f"refs/tags/of-another-push-{number}" for number in range(others)]
    async with components.pushes.journaled(row.id, 1, names):
        await components.pushes.sweep()
    assert lock.exists() == (not works)
    if works:
        await push(work, git_url, ann, "master:topic")
        assert ref_target(storage.open(row.id), "refs/heads/topic") == first


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize(("seconds", "others", "moves"), [(60, 0, True), (0, 0, False), (60, 1, False)])
async def test_a_push_removes_the_old_lock_that_a_killed_git_left_on_its_branch(
    world, ann, work, git_url, seconds, others, moves
):
    """The process of repos lives, so the lock is not in the journal. It may be that of another push."""
    tip = await commit(work)
    await push(work, git_url, ann, "master")
    storage, row = world.components.storage, (await world.rows("repository"))[0]
    lock, url = storage.path(row.id) / "refs/heads/topic.lock", f"{git_url}/ann/app.git"
    async with contextlib.AsyncExitStack() as stack:
        for number in range(others):
            other = world.components.pushes.journaled(row.id, 1, [f"refs/heads/other-{number}"])
            await stack.enter_async_context(other)
        lock.touch()
        os.utime(lock, (time.time() - seconds,) * 2)
        await git("push", "-q", url, "master:topic", cwd=work, person=ann, check=False)
    assert ref_target(storage.open(row.id), "refs/heads/topic") == (tip if moves else None)


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_names_of_a_killed_push_reach_no_lock_elsewhere_and_hold_up_nothing(world, ann):
    storage, components = world.components.storage, world.components
    own, other = [(await ann.create(name, auto_init=True))["id"] for name in ("own", "other")]
    lock = storage.path(other) / "refs/heads/master.lock"
    lock.touch()
    os.utime(lock, (time.time() - 60,) * 2)
    climb = "../" * 6 + str(lock.with_suffix("").relative_to(storage.root))
    names = [f"refs/heads/{climb}", f"refs/heads/{'x' * 254}"]
    dead = Pushes(
        world.database, storage, components.presenter, request_pushes, lease_seconds=0, shard="shard-0"
    )
    async with dead.journaled(own, 1, names):
        pass
    assert (await components.pushes.sweep(), await world.rows("push")) == (1, [])
    assert lock.exists()


async def test_pushes_while_the_database_was_away_are_announced_as_one_without_a_gap(
    world, ann, work, git_url
):
    first = await commit(work)
    await push(work, git_url, ann, "master")
    row = (await world.rows("repository"))[0]
    path = world.components.storage.path(row.id)
    dead = Pushes(
        world.database,
        world.components.storage,
        world.components.presenter,
        request_pushes,
        lease_seconds=0,
        shard="shard-0",
    )
    tips = [first]
    for text in ("two", "three"):
        tips.append(await commit(work, "f.txt", text))
        async with dead.journaled(row.id, 1, ["refs/heads/master"]):
            await git("fetch", "-q", str(work), "master:refs/heads/master", cwd=path)

    await world.components.pushes.sweep()
    moves = [event for event in await world.events("push") if event["ref"] == "refs/heads/master"]
    assert [(event["before"], event["after"]) for event in moves[1:]] == [(first, tips[-1])]
    assert [one["id"] for one in moves[-1]["commits"]] == tips[:0:-1]


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_an_interrupted_push_that_cannot_be_settled_holds_up_no_other(world, ann):
    components, storage = world.components, world.components.storage
    pushes = Pushes(
        world.database, storage, components.presenter, request_pushes, lease_seconds=0, shard="shard-0"
    )
    broken, sound = [(await ann.create(name, auto_init=True))["id"] for name in ("broken", "sound")]
    for repository_id in (broken, sound):
        repo = storage.open(repository_id)
        async with pushes.journaled(repository_id, 1, ["refs/heads/topic"]):
            move_ref(repo, RefChange("refs/heads/topic", ZERO, ref_target(repo, "refs/heads/master")))

    async def topics():
        return [event["repository"]["id"] for event in await world.events("push") if "topic" in event["ref"]]

    storage.watch.suspect(broken)
    assert (await pushes.sweep(), await topics()) == (1, [sound])
    storage.watch.trust(broken)
    assert (await pushes.sweep(), await topics()) == (1, [sound, broken])
    assert await world.rows("push") == []


async def test_a_push_whose_lease_is_kept_is_left_alone(world, ann):
    created = await ann.create("app")
    async with world.components.pushes.journaled(created["id"], 1, ["refs/heads/master"]):
        assert await world.components.pushes.sweep() == 0
        assert len(await world.rows("push")) == 1


async def test_a_push_that_lost_its_lease_is_announced_all_the_same(world, ann, work, git_url):
    first = await commit(work)
    await push(work, git_url, ann, "master")
    row = (await world.rows("repository"))[0]
    slow = Pushes(
        world.database,
        world.components.storage,
        world.components.presenter,
        request_pushes,
        lease_seconds=60,
        shard="shard-0",
    )
    async with slow.journaled(row.id, 1, ["refs/heads/topic"]) as push_id:
        await world.components.pushes.settle(push_id)
        path = world.components.storage.path(row.id)
        update_refs(path, [RefChange("refs/heads/topic", ZERO, first)])
        await slow.settle(push_id)
    assert (await world.events("push"))[-1]["ref"] == "refs/heads/topic"
    assert await world.rows("push") == []


async def test_nothing_begins_in_a_repository_that_is_deleted(world, ann):
    created = await ann.create("app")
    assert (await ann.call("DELETE", "/api/v1/repos/ann/app")).status_code == 204
    with pytest.raises(NotFound):
        async with world.components.pushes.journaled(created["id"], 1, ["refs/heads/master"]):
            raise AssertionError
    assert await world.rows("push") == []


async def test_who_has_no_copy_here_is_named_all_the_same(world, ann, work, git_url):
    carl = world.user(3, "carl")
    answer = await ann.call("PUT", "/api/v1/repos/ann/app/collaborators/carl", {"permission": "write"})
    assert answer.status_code == 204
    accounts = world.database.metadata.tables["account"]
    async with world.database.transaction() as tx:
        await tx.execute(accounts.delete().where(accounts.c.id == 3))
    await commit(work)
    await push(work, git_url, carl, "master")
    assert [event["pusher"]["login"] for event in await world.events("push")] == ["carl"]


async def test_a_push_of_one_commit_takes_few_statements(world, ann, work, git_url):
    """Each costs a message there and back. Two look the repository up, for the refs and for the push."""
    await commit(work)
    await push(work, git_url, ann, "master")
    await commit(work)
    with world.count_statements() as statements:
        await push(work, git_url, ann, "master")
    assert len(statements) <= 11, statements


async def test_a_journal_entry_comes_with_its_ledger(world, ann, work, git_url):
    await commit(work)
    await push(work, git_url, ann, "master", "master:other")
    row = (await world.rows("repository"))[0]
    names = ["refs/heads/master", "refs/heads/other", "refs/heads/new"]
    async with world.components.pushes.journaled(row.id, 1, names) as push_id, world.database.read() as db:
        entry, named, tips = await refs.get_push_and_ledger(db, push_id, names)
        alone, stored, same_tips = await refs.get_push_and_ledger(db, push_id)
    assert (entry.id, alone.id, named, stored) == (push_id, push_id, names, names)
    assert (sorted(tips), tips) == (names[:2], same_tips)


async def test_an_interrupted_creation_frees_its_name(world, ann):
    created = await ann.create("app")
    table = world.database.metadata.tables["repository"]
    async with world.database.transaction() as tx:
        long_ago = created["created_at"].replace("20", "19", 1)
        from datetime import datetime

        await tx.execute(table.update().values(state="creating", created_at=datetime.fromisoformat(long_ago)))
    assert (await ann.get("/repos/ann/app")).status_code == 404
    await world.components.pushes.clear_abandoned()
    assert not world.components.storage.exists(created["id"])
    assert [event["repository_id"] for event in await world.events("abandoned")] == [created["id"]]
    await ann.create("app")


async def test_the_ledger_takes_many_refs_at_once(world, ann):
    created = await ann.create("app")
    tips = {f"refs/tags/{number}": "1" * 40 for number in range(1200)}
    async with world.database.transaction() as tx:
        await refs.record(tx, created["id"], dict(tips))
        assert await refs.ledger(tx, created["id"], list(tips)) == tips
        await refs.record(tx, created["id"], dict.fromkeys(tips))
        assert await refs.ledger(tx, created["id"], list(tips)) == {}


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"", {}, 400),
        (b"0000", {}, 200),
        (b"zzzz", {}, 400),
        (b"0009hello", {}, 400),
        (b"x", {"content-encoding": "gzip"}, 400),
        (b"0000", {"content-type": "text/plain"}, 415),
    ],
)
async def test_what_is_no_push_is_refused(ann, body, headers, status):
    await ann.create("app")
    sent = {"content-type": "application/x-git-receive-pack-request"} | headers
    answer = await ann.call("POST", "/ann/app.git/git-receive-pack", content=body, headers=sent)
    assert answer.status_code == status


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    "path",
    ["ann/app/info/refs", "ann/app/info/refs?service=git-evil", "ann/app/info/refs?service=upload-pack"],
)
async def test_the_dumb_protocol_is_not_spoken(ann, path):
    await ann.create("app")
    refused = await ann.call("GET", f"/{path}")
    assert (refused.status_code, "dumb HTTP" in refused.text) == (403, True)
    assert (await ann.call("GET", "/ann/app/objects/info/packs")).status_code == 404


async def test_of_many_small_pushes_one_in_a_minute_is_measured(world, ann, work, git_url):
    async def facts_after_push(name, content):
        await commit(work, name, content)
        await push(work, git_url, ann, "master")
        row = (await world.rows("repository"))[0]
        return row.size, row.language

    first = await facts_after_push("a.txt", "one\n")
    assert (first[0] > 0, first[1]) == (True, "")
    assert await facts_after_push("a.py", "print()\n") == (
        first[0],
        "Python",
    )  # a language that is not known is looked for
    assert await facts_after_push("a.sh", "true\n" * 100) == (first[0], "Python")
    random = os.urandom(1200 * 1024).hex()  # a push that is not small
    size, language = await facts_after_push("b.txt", random)
    assert (size > first[0] + 1200 * 1024, language) == (True, "Shell")
    world.components.pushes._measured.clear()  # a minute is over
    assert (await facts_after_push("c.txt", "three\n"))[0] > size


TRACED_GIT = """#!/bin/sh
[ "$1" != receive-pack ] || export GIT_TRACE2_EVENT={log}
exec {real} "$@"
"""


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_what_a_push_brought_is_on_disk_when_it_is_acknowledged(
    world, ann, work, git_url, tmp_path, monkeypatch
):
    """Objects are flushed together, few refs one by one, and of many the volume."""
    log, folder = tmp_path / "trace", tmp_path / "bin"
    folder.mkdir()
    (folder / "git").write_text(TRACED_GIT.format(log=log, real=shutil.which("git")))
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    flush, volumes = smart_http.flush, []

    def flush_volume(path):
        volumes.append(len(list_refs(pygit2.Repository(str(path)))))
        flush(path)

    monkeypatch.setattr(smart_http, "flush", flush_volume)

    async def flushes(*what):
        log.unlink(missing_ok=True)
        await push(work, git_url, ann, *what)
        events = [msgspec.json.decode(line) for line in log.read_bytes().splitlines()]
        counts = [int(one["value"]) for one in events if one.get("key") == "fsync/hardware-flush"]
        return sum(counts)

    await commit(work)
    objects = await flushes("master") - 1
    assert objects >= 1
    await commit(work)
    assert await flushes("master") == objects + 1
    assert volumes == []
    for number in range(FEW_REFS + 1):
        await git("tag", f"v{number}", cwd=work)
    await commit(work)
    assert await flushes("master", "--tags") == objects
    assert volumes == [FEW_REFS + 2]
