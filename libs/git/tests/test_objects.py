"""Files at a commit, first commits, reachability."""

import os
from pathlib import Path

import pygit2
import pytest
from pygit2.enums import FileMode

from ingot_git.history import objects
from ingot_git.history.commits import commit_info
from ingot_git.history.objects import (
    initial_commit,
    is_reachable,
    is_safe_file_path,
    read_blob,
    stream_blob,
)
from ingot_git.process.errors import GitFailed, InvalidName, ObjectNotFound, RefMoved
from ingot_git.refs.refs import ZERO_OID, RefChange, get_branch, list_refs, update_refs
from ingot_git.storage.storage import Storage
from ingot_git.testing.builders import AUTHOR, commit, set_branches


@pytest.fixture
def repo(tmp_path):
    storage = Storage(tmp_path / "root")
    storage.create(1, "main")
    return storage.open(1)


def test_files_are_read_with_mode_and_size(repo):
    oid = commit(
        repo,
        {
            "dir/file": b"text",
            "run": (FileMode.BLOB_EXECUTABLE, b"#!"),
            "link": (FileMode.LINK, b"/etc/passwd"),
            "sub": (FileMode.COMMIT, pygit2.Oid(hex="1" * 40)),
        },
    )
    blob = read_blob(repo, oid, "dir/file", max_bytes=10)
    assert (blob.size, blob.mode, blob.data) == (4, 0o100644, b"text")
    assert read_blob(repo, oid, "dir/file", max_bytes=3).data is None
    assert read_blob(repo, oid, "run", max_bytes=10).mode == 0o100755
    link = read_blob(repo, oid, "link", max_bytes=100)
    assert (link.mode, link.data) == (0o120000, b"/etc/passwd")
    for path in ("dir", "sub", "sub/x", "link/x", "none", "dir/none", "dir/file/x"):
        with pytest.raises(ObjectNotFound):
            read_blob(repo, oid, path, max_bytes=10)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/",
        "/etc/passwd",
        "../x",
        "dir/../dir/file",
        "dir//file",
        "dir/file/",
        "./dir/file",
        "a\0b",
        "\ud800",
    ],
)
def test_no_other_spelling_of_a_path_is_read(repo, path):
    oid = commit(repo, {"dir/file": b"text"})
    with pytest.raises(ObjectNotFound):
        read_blob(repo, oid, path, max_bytes=10)


async def test_large_blobs_are_streamed(repo):
    data = os.urandom(3_000_000)
    oid = commit(repo, {"big": data})
    blob = read_blob(repo, oid, "big", max_bytes=1000)
    chunks = [chunk async for chunk in stream_blob(Path(repo.path), blob.oid)]
    assert b"".join(chunks) == data
    assert max(map(len, chunks)) <= 512 * 1024  # as `stream_git` says
    with pytest.raises(InvalidName):
        stream_blob(Path(repo.path), "--batch")
    with pytest.raises(GitFailed):
        [chunk async for chunk in stream_blob(Path(repo.path), "1" * 40)]


def test_initial_commit_creates_the_branch(repo):
    oid = initial_commit(repo, "main", {"README.md": b"# x\n", "docs/a b": b"2"}, AUTHOR)
    assert get_branch(repo, "main").oid == oid
    assert read_blob(repo, oid, "docs/a b", max_bytes=10).data == b"2"
    assert commit_info(repo, oid).author == AUTHOR
    with pytest.raises(RefMoved):
        initial_commit(repo, "main", {}, AUTHOR)


BAD_PATHS = [
    "",
    "/a",
    "a/",
    "a//b",
    ".",
    "..",
    "a/../b",
    ".git/config",
    "a/.GIT/hooks/x",
    ".git ./x",
    ".git::$INDEX_ALLOCATION/x",
    "git~1/x",
    ".g\u200cit/x",
    "a\\b",
    "a\nb",
    "a\0b",
    "\ud800",
]


@pytest.mark.parametrize("path", BAD_PATHS)
def test_no_file_is_written_into_a_git_folder(repo, path):
    assert not is_safe_file_path(path)
    with pytest.raises(InvalidName):
        initial_commit(repo, "main", {"ok": b"", path: b"x"}, AUTHOR)
    assert list_refs(repo) == {}


@pytest.mark.parametrize("path", [".gitignore", ".github/x", "a.git/x", "-x", "--x", "ünï", "git"])
def test_unusual_but_safe_paths_may_be_written(repo, path):
    initial_commit(repo, "main", {path: b"x"}, AUTHOR)


def test_a_commit_is_reachable_through_visible_refs_only(repo):
    one = commit(repo, {"a": b"1"})
    two = commit(repo, {"a": b"2"}, [one])
    side = commit(repo, {"a": b"3"}, [one])
    path = Path(repo.path)
    update_refs(
        path, [RefChange("refs/heads/main", ZERO_OID, two), RefChange("refs/pull/1/head", ZERO_OID, side)]
    )
    assert is_reachable(repo, one)
    assert is_reachable(repo, two)
    assert is_reachable(repo, side)
    assert not is_reachable(repo, side, ["refs/heads/", "refs/tags/"])
    assert not is_reachable(repo, commit(repo, {"a": b"4"}, [two]))
    assert not is_reachable(repo, "1" * 40)
    assert not is_reachable(repo, "--all")


def test_in_very_many_histories_no_commit_is_looked_for(repo, monkeypatch):
    main = commit(repo, {"a": b"1"})
    firsts, tips = [], []
    for number in (1, 2):
        firsts.append(commit(repo, {"a": b"%d" % number}, [main]))
        tips.append(commit(repo, {"b": b"%d" % number}, [firsts[-1]]))
        update_refs(Path(repo.path), [RefChange(f"refs/pull/{number}/head", ZERO_OID, tips[-1])])
    branch = commit(repo, {"a": b"2"}, [main])
    set_branches(repo, main=branch)
    every = [main, branch, *firsts, *tips]
    assert all(is_reachable(repo, oid) for oid in every)
    monkeypatch.setattr(objects, "MOST_HISTORIES", 2)
    assert [oid for oid in every if not is_reachable(repo, oid)] == [firsts[0]], "of the older pull request"
