"""Commits as values, files at a commit, first commits, reachability, archives."""

import io
import os
import tarfile
import zipfile
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pygit2
import pytest
from pygit2.enums import FileMode

from ingot_repos.git.archive import stream_archive
from ingot_repos.git.commits import Person, commit_info, commits_between, signature
from ingot_repos.git.errors import GitFailed, InvalidName, ObjectNotFound, RefMoved
from ingot_repos.git.objects import initial_commit, is_reachable, is_safe_file_path, read_blob, stream_blob
from ingot_repos.git.refs import ZERO_OID, RefChange, list_refs, resolve, update_refs
from ingot_repos.git.storage import Storage

EAST = timezone(timedelta(hours=5, minutes=30))
ME = Person("Me", "me@example.org", datetime(2020, 2, 3, 4, 5, 6, tzinfo=EAST))


@pytest.fixture
def repo(tmp_path):
    storage = Storage(tmp_path / "root")
    storage.create(1, "main")
    return storage.open(1)


def commit(repo, files, parents=(), message="x"):
    """Commit a flat or nested set of files: path -> bytes, or (mode, oid or bytes)."""
    index = pygit2.Index()
    for path, content in files.items():
        mode, data = content if isinstance(content, tuple) else (FileMode.BLOB, content)
        index.add(pygit2.IndexEntry(path, repo.create_blob(data) if isinstance(data, bytes) else data, mode))
    who = signature(ME)
    return str(repo.create_commit(None, who, who, message, index.write_tree(repo), list(parents)))


def raw_commit(repo, text):
    tree = str(repo.TreeBuilder().write())
    return str(repo.odb.write(pygit2.enums.ObjectType.COMMIT, b"tree " + tree.encode() + b"\n" + text))


def test_commit_info_tells_who_when_and_what(repo):
    first = commit(repo, {"a": b"1"})
    info = commit_info(repo, commit(repo, {}, [first], "subject\n\nbody ü\n"))
    assert info.message == "subject\n\nbody ü\n"
    assert info.author == ME
    assert info.author.when.utcoffset() == timedelta(hours=5, minutes=30)
    assert info.parents == (first,)


@pytest.mark.parametrize("oid", ["", "--all", "1" * 40, "HEAD", "0" * 40, "a\0b"])
def test_unknown_commits_are_not_found(repo, oid):
    with pytest.raises(ObjectNotFound):
        commit_info(repo, oid)


@pytest.mark.parametrize(
    "text",
    [
        b"author A <a> 99999999999999999 +0000\ncommitter B <b> 1 +9999\n\nx",
        b"author \xff <\xfe> 1 -0000\ncommitter B <b> 1 +0000\nencoding unicode_escape\n\n\\ud800 \xff",
        b"author A <a> 1 +0000\ncommitter B <b> 1 +0000\nencoding rot13\n\n\xff",
        b"author A <a> -5 +0000\ncommitter B <b> 1 +0000\n\n\xed\xa0\x80",
    ],
)
def test_hostile_commits_become_plain_values(repo, text):
    info = commit_info(repo, raw_commit(repo, text))
    for value in (info.message, info.author.name, info.author.email, info.committer.when.isoformat()):
        value.encode()


def test_messages_in_another_encoding_are_read(repo):
    oid = raw_commit(
        repo, b"author \xe9 <a> 1 +0000\ncommitter B <b> 1 +0000\nencoding ISO-8859-1\n\ncaf\xe9"
    )
    assert commit_info(repo, oid).message == "café"
    assert commit_info(repo, oid).author.name == "é"


@pytest.mark.parametrize("name", ["", "<>", "\n", "a <b>\nparent x", "\0"])
def test_signatures_are_always_writable(repo, name):
    who = signature(Person(name, name, ME.when))
    oid = repo.create_commit(None, who, who, "m", repo.TreeBuilder().write(), [])
    info = commit_info(repo, str(oid))
    assert info.author.name
    assert not set("<>\n\0") & set(info.author.name + info.author.email)


def test_commits_between_are_newest_first_with_their_files(repo):
    one = commit(repo, {"a": b"1", "b": b"2"})
    two = commit(repo, {"a": b"1!", "c/d": b"3"}, [one])
    three = commit(repo, {"a": b"1!"}, [two])
    found = commits_between(repo, one, three, 10)
    assert [(c.commit.oid, c.added, c.modified, c.removed) for c in found] == [
        (three, (), (), ("c/d",)),
        (two, ("c/d",), ("a",), ("b",)),
    ]
    everything = commits_between(repo, ZERO_OID, three, 10)
    assert everything[-1].added == ("a", "b")
    assert len(commits_between(repo, "1" * 40, three, 2)) == 2
    assert commits_between(repo, three, ZERO_OID, 10) == []
    short = commits_between(repo, ZERO_OID, one, 1, max_files=1)[0]
    assert short.truncated
    assert short.added == ("a",)


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
    assert max(map(len, chunks)) <= 256 * 1024
    with pytest.raises(InvalidName):
        stream_blob(Path(repo.path), "--batch")
    with pytest.raises(GitFailed):
        [chunk async for chunk in stream_blob(Path(repo.path), "1" * 40)]


def test_initial_commit_makes_the_branch(repo):
    oid = initial_commit(repo, "main", {"README.md": b"# x\n", "docs/a b": b"2"}, ME)
    assert resolve(repo, "main").commit == oid
    assert read_blob(repo, oid, "docs/a b", max_bytes=10).data == b"2"
    assert commit_info(repo, oid).author == ME
    with pytest.raises(RefMoved):
        initial_commit(repo, "main", {}, ME)


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
def test_files_never_go_where_git_keeps_its_own(repo, path):
    assert not is_safe_file_path(path)
    with pytest.raises(InvalidName):
        initial_commit(repo, "main", {"ok": b"", path: b"x"}, ME)
    assert list_refs(repo) == {}


@pytest.mark.parametrize("path", [".gitignore", ".github/x", "a.git/x", "-x", "--x", "ünï", "git"])
def test_honest_files_may_be_written(repo, path):
    initial_commit(repo, "main", {path: b"x"}, ME)


def test_reachability_is_about_refs(repo):
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


async def archive(repo, oid, archive_format, folder="repo"):
    return b"".join([chunk async for chunk in stream_archive(Path(repo.path), oid, archive_format, folder)])


async def test_archives_have_one_root_folder(repo):
    oid = commit(repo, {"a": b"1", "d/b": b"2"})
    with zipfile.ZipFile(io.BytesIO(await archive(repo, oid, "zip"))) as found:
        assert {name for name in found.namelist() if not name.endswith("/")} == {"repo/a", "repo/d/b"}
        assert found.read("repo/d/b") == b"2"
    packed = await archive(repo, oid, "tar.gz")
    with tarfile.open(fileobj=io.BytesIO(packed)) as found:
        assert {entry.name for entry in found if entry.isfile()} == {"repo/a", "repo/d/b"}
    assert packed == await archive(repo, oid, "tar.gz")


@pytest.mark.parametrize(
    ("oid", "folder"),
    [("HEAD", "x"), ("--output=x", "x"), ("1" * 40, ".."), ("1" * 40, "a/b"), ("1" * 40, "")],
)
def test_archives_refuse_hostile_values_at_once(repo, oid, folder):
    with pytest.raises(InvalidName):
        stream_archive(Path(repo.path), oid, "zip", folder)


async def test_archive_of_an_unknown_commit_fails_before_any_byte(repo):
    with pytest.raises(GitFailed):
        await anext(stream_archive(Path(repo.path), "1" * 40, "zip", "x"))


async def test_archive_of_a_large_commit_may_be_left_half_way(repo):
    oid = commit(repo, {str(n): os.urandom(500_000) for n in range(8)})
    stream = stream_archive(Path(repo.path), oid, "tar.gz", "x")
    assert await anext(stream)
    await stream.aclose()


def test_times_before_the_epoch_are_clamped(repo):
    oid = raw_commit(repo, b"author A <a> 0 +0000\ncommitter B <b> 0 +0000\n\nx")
    assert commit_info(repo, oid).author.when == datetime(1970, 1, 1, tzinfo=UTC)
