"""Archives of commits."""

import contextlib
import io
import os
import shutil
import tarfile
import zipfile
from base64 import b64encode
from pathlib import Path

import pytest

from ingot_repos.git.archive import stream_archive
from ingot_repos.git.errors import GitFailed, InvalidName
from ingot_repos.git.packs import is_in_use
from ingot_repos.git.storage import Storage

from .git_builders import commit, set_branches
from .world import git

A = "/repos/ann/app/archive/master"
MEMORY = 12 * 1024 * 1024


@pytest.fixture
def repo(tmp_path):
    storage = Storage(tmp_path / "root")
    storage.create(1, "main")
    return storage.open(1)


async def archive(repo, oid, archive_format, folder="repo"):
    return b"".join([chunk async for chunk in stream_archive(Path(repo.path), oid, archive_format, folder)])


async def test_archives_have_one_root_folder(repo):
    oid = commit(repo, {"a": b"1", "d/b": b"2"})
    with zipfile.ZipFile(io.BytesIO(await archive(repo, oid, "zip"))) as file:
        assert {name for name in file.namelist() if not name.endswith("/")} == {"repo/a", "repo/d/b"}
        assert file.read("repo/d/b") == b"2"
    packed = await archive(repo, oid, "tar.gz")
    with tarfile.open(fileobj=io.BytesIO(packed)) as file:
        assert {entry.name for entry in file if entry.isfile()} == {"repo/a", "repo/d/b"}
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


async def test_archive_of_a_large_commit_may_be_closed_before_its_end(repo):
    oid = commit(repo, {str(n): os.urandom(500_000) for n in range(8)})
    stream = stream_archive(Path(repo.path), oid, "tar.gz", "x")
    assert await anext(stream)
    await stream.aclose()


@pytest.mark.parametrize("archive_format", ["zip", "tar.gz", "bundle"])
async def test_nothing_is_pruned_while_an_archive_is_made(repo, archive_format):
    path, oid = Path(repo.path), commit(repo, {"noise": os.urandom(3_000_000)})
    async with contextlib.aclosing(stream_archive(path, oid, archive_format, "x")) as stream:
        for _ in range(2):  # a bundle has a head, which is not git's
            await anext(stream)
        assert is_in_use(path)
    assert not is_in_use(path)


@pytest.fixture
def limited_git(tmp_path, monkeypatch):
    """Git begins when its memory is limited, which happens after the start of its process."""
    folder = tmp_path / "waiting"
    folder.mkdir()
    wait = '[ "$(ulimit -d)" != unlimited ] && break; sleep 0.01'
    script = f'#!/bin/sh\nfor _ in $(seq 1000); do {wait}; done\nexec "{shutil.which("git")}" "$@"\n'
    (folder / "git").write_text(script)
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize("settings", [{"max_git_memory_bytes": MEMORY}])
async def test_an_archive_that_takes_too_much_memory_is_refused(world, ann, request):
    created = await ann.create("app")
    repo = world.components.storage.open(created["id"])
    set_branches(repo, small=commit(repo, {"a": b"x"}), large=commit(repo, {"a": bytes(2 * MEMORY)}))
    request.getfixturevalue("limited_git")
    for name in ("large.zip", "large.zip?path=a", "large.tar.gz", "large.bundle"):
        answer = await ann.get(f"/repos/ann/app/archive/{name}")
        assert (answer.status_code, "more memory" in answer.text) == (413, True), name
    for name in ("small.zip", "small.zip?path=a", "small.tar.gz", "small.bundle"):
        assert (await ann.get(f"/repos/ann/app/archive/{name}")).status_code == 200, name


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize("settings", [{"max_git_memory_bytes": MEMORY}])
async def test_a_file_that_takes_too_much_memory_is_refused(world, ann, request):
    created = await ann.create("app")
    repo = world.components.storage.open(created["id"])
    set_branches(repo, small=commit(repo, {"a": b"x"}), packed=commit(repo, {"a": bytes(2 * MEMORY)}))
    await git("repack", "-adq", cwd=world.components.storage.path(created["id"]))
    set_branches(repo, loose=commit(repo, {"a": b"y" * 2 * MEMORY}))
    request.getfixturevalue("limited_git")
    for name, status, size in (("small", 200, 1), ("loose", 200, 2 * MEMORY), ("packed", 413, 0)):
        answer = await ann.get(f"/repos/ann/app/raw/a?ref={name}")
        assert answer.status_code == status, name
        assert len(answer.content) == size if size else "more memory" in answer.text, name


@pytest.fixture
async def app(ann):
    """ann/app with files whose names mean something to git elsewhere."""
    await ann.create("app", auto_init=True)
    files = [
        {"operation": "create", "path": path, "content": b64encode(path.encode()).decode()}
        for path in ("src/a.py", "src/b.py", "docs/*.md", "docs/x.md", ":odd", "-x")
    ]
    answer = await ann.post("/repos/ann/app/contents", {"files": files, "message": "x"})
    assert answer.status_code == 201, answer.text


async def names(person, query):
    answer = await person.get(f"{A}.zip?{query}")
    assert answer.status_code == 200, answer.text
    archive = zipfile.ZipFile(io.BytesIO(answer.content))
    return {name.removeprefix("app/") for name in archive.namelist() if not name.endswith("/")}


async def test_an_archive_has_only_the_paths_that_are_asked_for(ann, app):
    assert await names(ann, "path=src/") == {"src/a.py", "src/b.py"}
    assert await names(ann, "path=src/a.py&path=README.md") == {"src/a.py", "README.md"}
    assert await names(ann, "path=docs/*.md") == {"docs/*.md"}
    assert await names(ann, "path=:odd&path=-x") == {":odd", "-x"}
    part, whole = [await ann.get(f"{A}.zip{query}") for query in ("?path=src", "")]
    assert part.headers["etag"] != whole.headers["etag"]
    again = await ann.get(f"{A}.zip?path=src", headers={"If-None-Match": part.headers["etag"]})
    assert again.status_code == 304


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_what_is_no_path_is_named(ann, app):
    for query, status in (
        ("path=none", 404),
        ("path=src/none", 404),
        ("path=../x", 422),
        ("path=.git", 422),
        ("path=a%0Ab", 422),
        ("&".join(["path=src"] * 101), 422),
    ):
        answer = await ann.get(f"{A}.zip?{query}")
        assert answer.status_code == status, (query, answer.text)
    assert (await ann.get(f"{A}.bundle?path=src")).status_code == 422
