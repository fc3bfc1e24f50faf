"""Fetching heads of pull requests from forks."""

import asyncio
import contextlib
import os
import threading
from functools import partial
from pathlib import Path

import pytest

from ingot_git.changes.merge import mergeable, update
from ingot_git.history.heads import (
    borrowed_head,
    fetch_from,
    local_head,
    with_borrowed_head,
    with_head,
)
from ingot_git.process.command import GitArgs, run_git
from ingot_git.process.errors import InvalidName, RefMoved, RefNotFound
from ingot_git.refs.refs import ZERO_OID, RefChange, list_refs, update_refs
from ingot_git.storage import read_watch
from ingot_git.storage.storage import Storage
from ingot_git.testing.builders import AUTHOR, LINES, commit, diverged_branches, set_branches


@pytest.fixture
def storage(tmp_path):
    return Storage(tmp_path / "root")


@pytest.fixture
def repo(storage):
    storage.create(1, "main")
    return storage.open(1)


@pytest.fixture
def diverged(repo):
    return diverged_branches(repo)


def test_the_head_of_a_fork_is_fetched_alone(storage, repo, diverged):
    _, main, _ = diverged
    storage.fork(1, 2)
    fork = storage.open(2)
    head = commit(fork, {"a": LINES + b"main\n", "b": LINES, "new": b"x"}, [main])
    set_branches(fork, topic2=head)
    update_refs(Path(fork.path), [RefChange("refs/tags/private", ZERO_OID, head)])
    source, target = Path(fork.path), Path(repo.path)
    assert fetch_from(target, source, "refs/heads/topic2", "refs/pull/1/head") == head
    assert "refs/tags/private" not in list_refs(repo)
    assert not (target / "FETCH_HEAD").exists()
    assert mergeable(repo, main, head).clean
    # A forced push in the fork is followed.
    other = commit(fork, {"z": b"z"})
    update_refs(source, [RefChange("refs/heads/topic2", head, other)])
    assert fetch_from(target, source, "refs/heads/topic2", "refs/pull/1/head") == other


async def test_a_head_of_the_same_repository_needs_no_git(storage, repo, diverged, git_log):
    _, main, topic = diverged
    moves = []

    @contextlib.asynccontextmanager
    async def moving():
        moves.append(list_refs(repo).get("refs/pull/1/head"))
        yield

    async def tip():
        return await with_head(
            storage,
            1,
            lambda _, tip: tip,
            source_id=1,
            branch="topic",
            keep_ref="refs/pull/1/head",
            moving=moving,
        )

    assert (await tip(), await tip()) == (topic, topic)
    assert list_refs(repo)["refs/pull/1/head"] == topic
    set_branches(repo, topic=main)
    git_log.clear()
    assert await tip() == main
    assert list_refs(repo)["refs/pull/1/head"] == main
    assert moves == [None, topic]
    assert local_head(repo, repo, "topic", "refs/pull/1/head") == main
    assert list(git_log) == []
    with pytest.raises(RefNotFound):
        local_head(repo, repo, "none", "refs/pull/1/head")


@pytest.fixture
def fork_head(storage, diverged):
    """The branch `topic2` of the fork 2, which merges with the main branch of 1 within a file."""
    base, _, _ = diverged
    storage.fork(1, 2)
    fork = storage.open(2)
    head = commit(fork, {"a": b"head\n" + LINES, "b": LINES}, [base])
    set_branches(fork, topic2=head)
    return head


async def test_of_a_head_that_is_compared_where_it_is_nothing_stays(storage, diverged, fork_head):
    _, main, _ = diverged

    def compared(repo, tip):
        index = repo.merge_commits(main, tip)
        return tip, index.conflicts, repo[index["a"].id].data, mergeable(repo, main, tip).clean

    before = sorted(storage.root.rglob("*"))
    result = await with_borrowed_head(storage, 1, compared, source_id=2, branch="topic2")
    assert result == (fork_head, None, b"head\n" + LINES + b"main\n", True)
    assert sorted(storage.root.rglob("*")) == before


async def test_what_one_read_of_a_borrowed_head_writes_the_next_one_finds(storage, diverged, fork_head):
    """And the tip is the same, though the branch has moved."""
    before = sorted(storage.path(1).rglob("*"))
    async with borrowed_head(storage, 1, source_id=2, branch="topic2") as head:
        oid = await head.act(lambda view, _: str(view.create_blob(b"new")))
        set_branches(storage.open(2), topic2=diverged[0])
        read = await head.act(lambda view, tip: (view[oid].data, view[tip].message, tip))
    assert read == (b"new", "x\n", head.tip) == (b"new", "x\n", fork_head)
    assert sorted(storage.path(1).rglob("*")) == before


async def test_a_borrowed_head_for_which_nobody_waits_any_more_leaves_nothing(storage, diverged, fork_head):
    began, left = threading.Event(), threading.Event()
    before = sorted(storage.path(1).rglob("*"))
    one_thread = Storage(storage.root, threads=1)

    def write_late(view, _tip):
        began.set()
        assert left.wait(30)
        view.create_blob(b"late")

    async with borrowed_head(one_thread, 1, source_id=2, branch="topic2") as head:
        reading = asyncio.create_task(head.act(write_late))
        assert await asyncio.to_thread(began.wait, 30)
        reading.cancel()
    left.set()
    await one_thread.call(1, list_refs)  # so the thread has ended the other
    assert sorted(storage.path(1).rglob("*")) == before


async def test_a_commit_comes_alone_though_its_branch_has_moved(storage, repo, diverged, fork_head):
    later = commit(storage.open(2), {"later": b"x"}, [fork_head])
    async with borrowed_head(storage, 1, source_id=2, branch="topic2") as head:
        new = await head.act(lambda view, tip: commit(view, {"made": b"made"}, [tip]))
        other = await head.act(lambda view, tip: commit(view, {"other": b"other"}, [tip]))
        set_branches(storage.open(2), topic2=later)
        await head.copy_commit(new)
    assert [oid in repo for oid in (fork_head, new, later, other)] == [True, True, False, False]
    assert repo[repo[new].tree["made"].id].data == b"made"
    assert [name for name in list_refs(repo) if not name.startswith("refs/heads/")] == []


async def test_a_commit_comes_with_objects_that_another_branch_of_the_source_has(
    storage, repo, diverged, fork_head
):
    """Neither git nor libgit2 writes an object that it finds in the source."""
    names = {"folder/made": b"made", "folder/more": b"more"}
    set_branches(storage.open(2), dev=commit(storage.open(2), names, [fork_head]))
    async with borrowed_head(storage, 1, source_id=2, branch="topic2") as head:
        new = await head.act(lambda view, tip: commit(view, names, [tip], message="another"))
        await head.copy_commit(new)
    assert [repo[repo[new].tree[path].id].data for path in names] == [b"made", b"more"]
    set_branches(repo, master=new)
    run_git(GitArgs("fsck", ("--connectivity-only",)), git_dir=storage.path(1))


async def test_a_commit_that_is_gone_does_not_come(storage, repo, diverged, fork_head):
    before = sorted(storage.path(1).rglob("*"))
    async with borrowed_head(storage, 1, source_id=2, branch="topic2") as head:
        new = await head.act(lambda view, tip: commit(view, {"made": b"made"}, [tip]))
        set_branches(storage.open(2), topic2=diverged[0])
        run_git(GitArgs("prune", ("--expire=now",)), git_dir=storage.path(2))
        with pytest.raises(RefMoved):
            await head.copy_commit(new)
    assert sorted(storage.path(1).rglob("*")) == before


def test_the_lock_of_a_ref_stops_a_fetch_unless_it_is_old(storage, repo, fork_head):
    path = storage.path(1)
    lock = path / "refs/pull/1/head.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    fetch = partial(fetch_from, path, storage.path(2), "refs/heads/topic2", "refs/pull/1/head")
    with pytest.raises(RefMoved):
        fetch()
    os.utime(lock, (0, 0))
    assert fetch() == fork_head


@pytest.mark.parametrize("source_id", [1, 2])
async def test_of_what_an_update_would_make_nothing_stays(storage, repo, diverged, fork_head, source_id):
    """An update creates a file, trees and a commit during the merge; none of them stays."""
    _, main, _ = diverged
    if source_id == 1:
        set_branches(repo, topic2=commit(repo, {"a": b"head\n" + LINES, "b": LINES}, [diverged[0]]))
    make = partial(
        update, head_ref="refs/heads/main", expected_head=main, style="merge", message="m\n", who=AUTHOR
    )

    def act(view, tip):
        return len(view[make(view, tip)].parent_ids)

    before = sorted(storage.root.rglob("*"))
    assert await with_borrowed_head(storage, 1, act, source_id=source_id, branch="topic2") == 2
    assert sorted(storage.root.rglob("*")) == before


async def test_a_comparison_across_repositories_is_a_read_of_the_fork_and_then_of_the_parent(
    storage, fork_head, monkeypatch
):
    watching = asyncio.create_task(storage.watch.run())
    await asyncio.sleep(0)

    def read(_repo, _tip):
        monkeypatch.setattr(read_watch, "LONGEST_SECONDS", 0.0)
        storage.watch.collect()
        return storage.watch.suspects

    try:
        assert await with_borrowed_head(storage, 1, read, source_id=2, branch="topic2") == {2}
        storage.note_check(2, is_sound=True)
        assert storage.watch.suspects == {1}
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


def test_the_head_of_a_fork_is_local_if_it_was_fetched_before(storage, repo, diverged):
    main = diverged[1]
    storage.fork(1, 2)
    fork = storage.open(2)
    head = commit(fork, {"new": b"x"}, [main])
    set_branches(fork, topic2=head)
    assert local_head(repo, fork, "topic2", "refs/pull/1/head") is None
    fetch_from(Path(repo.path), Path(fork.path), "refs/heads/topic2", "refs/pull/1/head")
    assert local_head(repo, fork, "topic2", "refs/pull/1/head") == head
    assert local_head(repo, fork, "topic2", "refs/pull/2/head") is None


@pytest.mark.parametrize(
    "name", ["-x", "--upload-pack=touch x", "topic", "refs/heads/a\nb", "refs/heads/a:b", "refs/../x"]
)
def test_fetch_accepts_full_ref_names_only(repo, diverged, name):
    path = Path(repo.path)
    with pytest.raises(InvalidName):
        fetch_from(path, path, name, "refs/pull/1/head")
    with pytest.raises(InvalidName):
        fetch_from(path, path, "refs/heads/topic", name)
    with pytest.raises(RefNotFound):
        fetch_from(path, path, "refs/heads/none", "refs/pull/1/head")
