"""Creating, forking, opening and deleting repositories on disk."""

import asyncio
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pygit2
import pytest

from ingot_git.process.errors import (
    InvalidName,
    ObjectNotFound,
    RepositoryExists,
    RepositoryNotFound,
    StorageFull,
)
from ingot_git.refs.refs import default_branch, is_empty, list_refs
from ingot_git.storage.scratch import scratch
from ingot_git.storage.storage import Storage

ME = pygit2.Signature("me", "me@example.org", 1_700_000_000, 60)

# What git does with the folders of objects after it has packed them, but without end. Three stores of a hundred meet it.
REMOVE_EMPTY_FOLDERS = """
import contextlib, os, sys, time

while True:
    for number in range(256):
        with contextlib.suppress(OSError):
            os.rmdir(f"{sys.argv[1]}/objects/{number:02x}")
    time.sleep(0.02)
"""


@pytest.fixture
def storage(tmp_path):
    return Storage(tmp_path / "root", open_per_thread=2)


def commit(repo, ref, message="x"):
    tree = repo.TreeBuilder().write()
    oid = repo.create_commit(None, ME, ME, message, tree, [])
    repo.references.create(ref, oid, force=True)
    return str(oid)


def test_create_makes_a_repository_that_git_accepts_as_bare(storage):
    path = storage.create(7, "trunk")
    assert path == storage.path(7)
    assert path.name == "7.git"
    answer = subprocess.run(
        ["git", "-C", path, "rev-parse", "--is-bare-repository", "--show-object-format"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stdout.split() == ["true", "sha1"]
    assert default_branch(storage.open(7)) == "trunk"
    assert is_empty(storage.open(7))
    assert not (path / "hooks").exists()


def test_a_repository_is_on_disk_before_it_is_there(storage, monkeypatch):
    """For the files that this package writes itself. The repository appears after its files, and its name is
    synced."""
    flushed: list[Path] = []
    fsync = os.fsync

    def note(descriptor):
        flushed.append(Path(f"/proc/self/fd/{descriptor}").readlink())
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    own = ["HEAD", "config"]
    storage.create(1, "main")
    commit(storage.open(1), "refs/heads/main")
    storage.fork(1, 2)
    storage.import_staging(3, "main")
    storage.publish_import(3, "main")
    for repo_id, names in ((1, own), (2, [*own, "packed-refs"]), (3, own)):
        some, flushed = flushed[: len(names) + 1], flushed[len(names) + 1 :]
        assert [path.name for path in some[:-1]] == names
        assert {path.relative_to(storage.root).parts[0] for path in some[:-1]} == {"staging"}
        assert some[-1] == storage.path(repo_id).parent
    assert flushed == []


def test_create_twice_is_refused(storage):
    storage.create(7, "main")
    with pytest.raises(RepositoryExists):
        storage.create(7, "main")
    assert not list((storage.root / "staging").iterdir())


@pytest.mark.parametrize("name", ["-x", "a..b", "a\nb", "", "a b", "HEAD"])
def test_create_refuses_a_hostile_default_branch(storage, name):
    with pytest.raises(InvalidName):
        storage.create(7, name)
    assert not storage.exists(7)


@pytest.mark.parametrize("repo_id", [0, -1])
def test_ids_are_positive(storage, repo_id):
    with pytest.raises(InvalidName):
        storage.path(repo_id)


def test_fork_copies_only_branches_and_tags_by_hard_links(storage):
    storage.create(1, "trunk")
    source = storage.open(1)
    main = commit(source, "refs/heads/trunk", "one")
    tag = commit(source, "refs/tags/v1", "two")
    source.references.create("refs/pull/3/head", main)
    path = storage.fork(1, 2)
    fork = storage.open(2)
    assert list_refs(fork) == {"refs/heads/trunk": main, "refs/tags/v1": tag}
    assert default_branch(fork) == "trunk"
    loose = f"objects/{main[:2]}/{main[2:]}"
    assert (path / loose).stat().st_ino == (storage.path(1) / loose).stat().st_ino
    assert not (path / "objects/info/alternates").exists()
    assert "remote" not in (path / "config").read_text()
    storage.delete(1)
    assert str(storage.open(2)[main].id) == main


def test_fork_of_an_empty_repository_keeps_its_default_branch(storage):
    storage.create(1, "trunk")
    storage.fork(1, 2)
    assert default_branch(storage.open(2)) == "trunk"
    assert is_empty(storage.open(2))


def test_fork_again_changes_nothing(storage):
    storage.create(1, "main")
    storage.fork(1, 2)
    oid = commit(storage.open(2), "refs/heads/mine")
    storage.fork(1, 2)
    assert list_refs(storage.open(2)) == {"refs/heads/mine": oid}


def test_fork_of_nothing_leaves_nothing(storage):
    with pytest.raises(RepositoryNotFound):
        storage.fork(1, 2)
    assert not storage.exists(2)
    assert not list((storage.root / "staging").iterdir())


def test_delete_removes_everything_and_is_idempotent(storage):
    storage.create(1, "main")
    storage.open(1)
    storage.delete(1)
    storage.delete(1)
    assert not list((storage.root / "trash").iterdir())
    with pytest.raises(RepositoryNotFound):
        storage.open(1)
    storage.create(1, "other")
    assert default_branch(storage.open(1)) == "other"


def test_sweep_removes_only_old_files(storage):
    old, new = storage.root / "trash/1-a", storage.root / "staging/2-b"
    for folder in (old, new):
        (folder / "objects").mkdir(parents=True)
    os.utime(old, (0, 0))
    storage.sweep(older_than=3600)
    assert not old.exists()
    assert new.exists()


def test_sweep_removes_what_killed_pushes_left_in_repositories(storage):
    path = storage.create(1, "main")
    old, new = path / "objects/tmp_objdir-incoming-a", path / "objects/tmp_objdir-incoming-b"
    for folder in (old, new):
        (folder / "pack").mkdir(parents=True)
    os.utime(old, (0, 0))
    storage.sweep()
    assert not old.exists()
    assert new.exists()
    assert storage.exists(1)


def test_open_caches_few_and_never_shares_between_threads(storage):
    for repo_id in (1, 2, 3):
        storage.create(repo_id, "main")
    first = storage.open(1)
    assert storage.open(1) is first
    storage.open(2)
    storage.open(3)
    assert storage.open(1) is not first
    repositories = []
    thread = threading.Thread(target=lambda: repositories.append(storage.open(1)))
    thread.start()
    thread.join()
    assert repositories[0] is not storage.open(1)


async def test_call_runs_in_other_threads(storage):
    storage.create(1, "main")
    assert await storage.call(1, default_branch) == "main"
    answers = await asyncio.gather(*(storage.call(1, list_refs) for _ in range(20)))
    assert answers == [{}] * 20


def test_size_counts_bytes(storage):
    storage.create(1, "main")
    before = storage.size(1)
    storage.open(1).create_blob(os.urandom(100_000))
    assert 100_000 < storage.size(1) - before < 101_000
    with pytest.raises(RepositoryNotFound):
        storage.size(2)


def test_the_git_configuration_of_the_account_is_ignored(storage, tmp_path, monkeypatch):
    (tmp_path / ".gitconfig").write_text("[user]\n\tname = intruder\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    storage.create(1, "main")
    assert "user.name" not in storage.open(1).config


@pytest.mark.parametrize("text", ["No space left on device", "File too large", "Disk quota exceeded"])
async def test_libgit2_says_in_words_alone_that_the_disk_is_full(storage, text):
    storage.create(7, "main")

    def store(_repo):
        raise OSError(f"failed to write to a file: {text}")

    with pytest.raises(StorageFull):
        await storage.call(7, store)


@pytest.mark.parametrize("step", ["before a merge is tried", "after"])
async def test_a_repository_that_is_deleted_while_it_is_used_is_not_found(storage, step):
    storage.create(7, "main")

    def delete_and_write(repo):
        if step == "after":
            with scratch(repo) as view:
                storage.delete(7)
                view.create_blob(b"1")
                repo.create_blob(b"1")
        storage.delete(7)
        with scratch(repo):
            pass

    with pytest.raises(RepositoryNotFound):
        await storage.call(7, delete_and_write)


async def test_what_is_missing_is_looked_for_again_only_if_packs_have_changed(storage):
    """Of any repository that the function has opened."""
    old = time.time() - 60
    for repo_id in (7, 8):
        os.utime(storage.create(repo_id, "main") / "objects" / "pack", (old, old))
    looks = []

    def look(_repo, *, changed):
        storage.open(8)
        looks.append(changed)
        if changed:
            os.utime(storage.path(changed) / "objects" / "pack")
        if len(looks) == 1:
            raise ObjectNotFound
        return "there"

    with pytest.raises(ObjectNotFound):
        await storage.call(7, look, changed=0)
    for changed in (7, 8):
        looks.clear()
        assert await storage.call(7, look, changed=changed) == "there"


async def test_an_object_is_stored_though_git_removes_the_folder_for_it(storage):
    path = storage.create(7, "main")
    storage.open(7)

    def store(repo):
        oid = str(repo.create_blob(os.urandom(20)))
        Path(path, "objects", oid[:2], oid[2:]).unlink()

    git = await asyncio.create_subprocess_exec(sys.executable, "-c", REMOVE_EMPTY_FOLDERS, path)
    try:
        for _ in range(200):
            await storage.call(7, store)
    finally:
        git.kill()
        await git.wait()
