"""Archives of commits."""

import asyncio
import contextlib
import io
import os
import shutil
import tarfile
import zipfile
from base64 import b64encode
from pathlib import Path

import pytest

from ingot_git.history.archive import MAX_CPU, ArchiveName, Archives, stream_archive
from ingot_git.process.command import MIB
from ingot_git.process.errors import GitFailed, InvalidName
from ingot_git.storage.packs import is_in_use
from ingot_git.storage.storage import Storage
from ingot_git.testing.builders import COSTLY, SIMILAR_FILES, commit, set_branches
from ingot_repos.access.rules.admission import ARCHIVES_AT_ONCE
from ingot_repos.access.rules.archive_cpu import BUDGET

from ..world import git

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
    # git streams a large file, but reads the attributes whole.
    attributes = (b"#" * 1023 + b"\n") * (2 * MEMORY // 1024)
    set_branches(
        repo,
        small=commit(repo, {"a": b"x"}),
        file=commit(repo, {"a": bytes(2 * MEMORY)}),
        large=commit(repo, {"a": b"x", ".gitattributes": attributes}),
    )
    request.getfixturevalue("limited_git")
    for name in ("large.zip", "large.zip?path=a", "large.tar.gz", "large.bundle"):
        answer = await ann.get(f"/repos/ann/app/archive/{name}")
        assert (answer.status_code, "more memory" in answer.text) == (413, True), name
    for name in ("small.zip", "small.zip?path=a", "small.tar.gz", "small.bundle", "file.zip", "file.tar.gz"):
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


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_an_archive_that_takes_too_much_cpu_time_is_refused(world, ann):
    created = await ann.create("app")
    repo = world.components.storage.open(created["id"])
    bundled = commit(repo, SIMILAR_FILES)
    set_branches(repo, dear=commit(repo, COSTLY), bundled=bundled, cheap=commit(repo, {"a": b"x"}))
    for name in (
        "dear.zip",
        "dear.tar.gz",
        "dear.zip?path=last&path=.gitattributes&" + "&".join(f"path={'a' * 120}{n}" for n in range(90)),
        "bundled.bundle",
    ):
        answer = await ann.get(f"/repos/ann/app/archive/{name}")
        assert (answer.status_code, "more time" in answer.text) == (413, True), name
    for name in ("cheap.zip", "cheap.bundle", "dear.bundle"):
        assert (await ann.get(f"/repos/ann/app/archive/{name}")).status_code == 200, name
    assert [file.name for file in (world.folder / "storage/archives").glob("*/*")] != []


async def test_a_bundle_may_take_more_cpu_time_in_a_larger_repository(repo):
    oid = commit(repo, SIMILAR_FILES)
    size = 100 * MIB
    bundle = [part async for part in stream_archive(Path(repo.path), oid, "bundle", "x", size=size)]
    assert b"".join(bundle).startswith(b"# v2 git bundle")


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_a_refused_archive_is_not_tried_again_under_any_name(world, ann, bob, git_log):
    created = await ann.create("app")
    repo = world.components.storage.open(created["id"])
    dear = commit(repo, COSTLY)
    set_branches(repo, dear=dear, same=dear)
    assert (await ann.get("/repos/ann/app/archive/dear.zip")).status_code == 413
    tried = sum("archive" in command for command in git_log)
    for person, name in ((ann, "dear"), (bob, "dear"), (bob, "same"), (bob, dear)):
        answer = await person.get(f"/repos/ann/app/archive/{name}.zip")
        assert (answer.status_code, "more time" in answer.text) == (413, True), name
    assert sum("archive" in command for command in git_log) == tried == 1


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_archives_of_a_caller_have_a_budget_of_cpu_time(world, ann, bob, git_log, monkeypatch):
    cpu = world.components.archive_cpu
    monkeypatch.setattr(cpu, "_clock", lambda: 1000.0)  # no budget is restored
    created = await ann.create("app")
    repo = world.components.storage.open(created["id"])
    set_branches(repo, dear=commit(repo, COSTLY), a=commit(repo, {"a": b"a"}), b=commit(repo, {"b": b"b"}))
    assert (await ann.get("/repos/ann/app/archive/a.zip")).status_code == 200
    cpu.charge("user 1", BUDGET - MAX_CPU.seconds / 2)
    assert (await ann.get("/repos/ann/app/archive/dear.zip")).status_code == 413  # it takes the rest
    runs = len(list(git_log))
    answer = await ann.get("/repos/ann/app/archive/b.zip")
    assert (answer.status_code, "CPU time" in answer.text) == (429, True)
    assert 1 <= int(answer.headers["retry-after"]) <= 5
    assert (await ann.get("/repos/ann/app/archive/a.zip")).status_code == 200  # it is cached
    assert len(list(git_log)) == runs
    assert (await bob.get("/repos/ann/app/archive/b.zip")).status_code == 200


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_a_large_file_costs_no_more_than_it_earns(ann, world):
    created = await ann.create("app")
    repo = world.components.storage.open(created["id"])
    set_branches(repo, master=commit(repo, {"noise": os.urandom(31 * MIB)}))
    answer = await ann.get("/repos/ann/app/archive/master.zip")
    assert (answer.status_code, len(answer.content) > 31 * MIB) == (200, True)


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize("query", ["", "?path=noise"])
async def test_those_who_want_an_archive_at_the_same_time_share_it(world, ann, bob, git_log, query):
    created = await ann.create("app")
    repo = world.components.storage.open(created["id"])
    set_branches(repo, master=commit(repo, {"noise": os.urandom(6_000_000)}))
    people = [ann, bob, ann, bob]
    answers = await asyncio.gather(
        *(person.get(f"/repos/ann/app/archive/master.zip{query}") for person in people)
    )
    assert [answer.status_code for answer in answers] == [200] * 4
    assert len({answer.content for answer in answers}) == 1
    assert sum("archive" in command for command in git_log) == 1


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_of_one_caller_few_archives_are_made_at_once(world, ann, bob, git_log):
    created = await ann.create("app")
    repo = world.components.storage.open(created["id"])
    for number in range(6):
        set_branches(repo, **{f"b{number}": commit(repo, {"a": b"%d" % number})})
    queue = world.components.archive_queue
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(ARCHIVES_AT_ONCE):
            await stack.enter_async_context(queue.slot("user 1"))
        waiting = asyncio.create_task(ann.get("/repos/ann/app/archive/b1.zip"))
        assert (await bob.get("/repos/ann/app/archive/b2.zip")).status_code == 200
        assert not waiting.done()
        assert sum("archive" in command for command in git_log) == 1
    assert (await waiting).status_code == 200


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_archives_that_waited_need_a_budget_too(world, ann, git_log, monkeypatch):
    created = await ann.create("app")
    repo = world.components.storage.open(created["id"])
    set_branches(repo, master=commit(repo, {"a": b"a"}))
    queue, cpu = world.components.archive_queue, world.components.archive_cpu
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(ARCHIVES_AT_ONCE):
            await stack.enter_async_context(queue.slot("user 1"))
        take, is_queued = queue.slot, asyncio.Event()
        monkeypatch.setattr(queue, "slot", lambda caller: is_queued.set() or take(caller))
        waiting = asyncio.create_task(ann.get("/repos/ann/app/archive/master.zip"))
        await is_queued.wait()
        cpu.charge("user 1", 2 * BUDGET)
    assert (await waiting).status_code == 429
    assert not any("archive" in command for command in git_log)


async def test_the_archive_of_a_repository_that_is_deleted_meanwhile_is_not_cached(repo, tmp_path):
    archives, oid = Archives(tmp_path / "archives", max_bytes=10**9), commit(repo, {"a": b"1"})
    name = ArchiveName(1, oid, "zip", "x")
    for path, is_cached in ((tmp_path / "none", False), (Path(repo.path), True)):
        chunks = archives.keep(name, path, stream_archive(Path(repo.path), oid, "zip", "x"))
        content = b"".join([chunk async for chunk in chunks])
        cached = await archives.find(name)
        assert (cached is not None) is is_cached
    assert b"".join([chunk async for chunk in cached.chunks]) == content
    assert cached.size == len(content)


def test_a_repository_is_deleted_while_old_archives_are_removed(tmp_path, monkeypatch):
    archives, names = Archives(tmp_path, max_bytes=1), ("1", "2", "3")
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.zip").write_bytes(b"12")
    stat, removed = Path.stat, []

    def stat_and_remove_others(path, **options):
        status = stat(path, **options)
        for name in {*names} - {path.parent.name} if path.suffix and not removed else ():
            removed.append(name)
            archives.remove(int(name))
        return status

    monkeypatch.setattr(Path, "stat", stat_and_remove_others)
    archives.trim()
    assert len(removed) == 2
    assert not [*tmp_path.glob("*/*")]
