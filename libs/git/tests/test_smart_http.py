"""The git command line against `advertise` and `serve` in a small HTTP server."""

import asyncio
import contextlib
import gzip
import os
import subprocess
import zlib
from pathlib import Path

import aiohttp
import pygit2
import pytest
from aiohttp import web
from pygit2.enums import FileMode

from ingot_git.process.errors import BodyRefused, GitError, GitFailed, RepositoryNotFound
from ingot_git.protocol.push_requests import read_push_commands
from ingot_git.protocol.smart_http import advertise, inflate, serve
from ingot_git.refs.refs import ZERO_OID, RefChange, list_refs, update_refs
from ingot_git.storage.storage import Storage

ME = pygit2.Signature("me", "me@example.org", 1_700_000_000, 60)
FLUSH = b"0000"


class GitServer:
    """One repository over HTTP. It records the requests."""

    def __init__(self, path):
        self.path = path
        self.url = ""
        self.protocols = []
        self.commands = []
        self.encodings = []
        self.max_push_bytes = None
        self.outcomes = asyncio.Queue()

    async def info_refs(self, request):
        service = request.query["service"]
        self.protocols.append(request.headers.get("Git-Protocol"))
        body = await advertise(self.path, service, request.headers.get("Git-Protocol"))
        return web.Response(body=body, content_type=f"application/x-{service}-advertisement")

    async def call(self, request):
        service = request.match_info["service"]
        encoding = request.headers.get("Content-Encoding")
        self.encodings.append(encoding)
        body = request.content.iter_any()
        if service == "git-receive-pack":
            push = await read_push_commands(body)
            self.commands.extend(push.commands)
            body = push.body
        response = web.StreamResponse(headers={"Content-Type": f"application/x-{service}-result"})
        await response.prepare(request)
        stream = serve(
            self.path,
            service,
            request.headers.get("Git-Protocol"),
            body,
            # aiohttp does not decompress: auto_decompress is False below.
            gzip=encoding == "gzip",
            max_push_bytes=self.max_push_bytes,
        )
        outcome = "cancelled"
        try:
            async with contextlib.aclosing(stream):
                async for chunk in stream:
                    await response.write(chunk)
            outcome = "done"
        except GitError as error:
            outcome = error
        except ConnectionError:
            outcome = "disconnected"
        finally:
            self.outcomes.put_nowait(outcome)
        return response


@pytest.fixture
async def server(tmp_path):
    storage = Storage(tmp_path / "root")
    storage.create(1, "main")
    server = GitServer(storage.path(1))
    app = web.Application(client_max_size=0)
    app.router.add_get("/x.git/info/refs", server.info_refs)
    app.router.add_post("/x.git/{service:git-(upload|receive)-pack}", server.call)
    runner = web.AppRunner(app, auto_decompress=False, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.url = f"http://127.0.0.1:{site._server.sockets[0].getsockname()[1]}/x.git"
    yield server
    await runner.cleanup()


@pytest.fixture
def repo(server):
    return pygit2.Repository(str(server.path))


def add_commits(repo, commits=3, size=1000, branch="refs/heads/main"):
    """Linear commits, each with a new file of random bytes; the id of the last one."""
    parents, entries = [], {}
    for number in range(commits):
        entries[f"f{number}"] = repo.create_blob(os.urandom(size))
        index = pygit2.Index()
        for path, oid in entries.items():
            index.add(pygit2.IndexEntry(path, oid, FileMode.BLOB))
        parents = [repo.create_commit(None, ME, ME, f"c{number}", index.write_tree(repo), parents)]
    update_refs(Path(repo.path), [RefChange(branch, ZERO_OID, str(parents[0]))])
    return str(parents[0])


async def git(*args, cwd, check=True):
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(cwd),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
        "NO_PROXY": "*",
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@b",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@b",
    }
    result = await asyncio.to_thread(
        subprocess.run, ["git", *args], cwd=cwd, env=environment, capture_output=True, text=True, timeout=60
    )
    if check and result.returncode:
        raise AssertionError(result.stderr)
    return result


@pytest.mark.parametrize("version", ["0", "1", "2"])
async def test_clone_fetch_and_push_in_every_version(server, repo, tmp_path, version):
    tip = add_commits(repo)
    protocol = ("-c", f"protocol.version={version}")
    await git(*protocol, "clone", "-q", server.url, "work", cwd=tmp_path)
    work = tmp_path / "work"
    assert (await git("rev-parse", "HEAD", cwd=work)).stdout.strip() == tip
    assert server.protocols[0] == (None if version == "0" else f"version={version}")
    (work / "new").write_bytes(os.urandom(3_000_000))
    await git("add", "new", cwd=work)
    await git("commit", "-qm", "new", cwd=work)
    await git(*protocol, "push", "-q", "origin", "HEAD:refs/heads/topic", "HEAD:refs/tags/v1", cwd=work)
    new = (await git("rev-parse", "HEAD", cwd=work)).stdout.strip()
    assert list_refs(repo) == {"refs/heads/main": tip, "refs/heads/topic": new, "refs/tags/v1": new}
    assert RefChange("refs/heads/topic", ZERO_OID, new) in server.commands
    await git("clone", "-q", server.url, "other", cwd=tmp_path)
    await git("commit", "-q", "--amend", "-m", "forced", cwd=work)
    await git(*protocol, "push", "-q", "-f", "origin", "HEAD:topic", cwd=work)
    await git(*protocol, "fetch", "-q", cwd=tmp_path / "other")
    forced = (await git("rev-parse", "HEAD", cwd=work)).stdout
    assert (await git("rev-parse", "origin/topic", cwd=tmp_path / "other")).stdout == forced
    await git(*protocol, "push", "-q", "origin", ":topic", cwd=work)
    assert "refs/heads/topic" not in list_refs(repo)
    await git("fsck", "--strict", cwd=server.path)


async def test_an_empty_repository_is_cloned_and_pushed_to(server, repo, tmp_path):
    await git("clone", "-q", server.url, "work", cwd=tmp_path)
    work = tmp_path / "work"
    await git("commit", "-q", "--allow-empty", "-m", "one", cwd=work)
    await git("push", "-q", "origin", "HEAD", cwd=work)
    assert list(list_refs(repo)) == ["refs/heads/main"]


@pytest.mark.parametrize("version", ["0", "2"])
async def test_shallow_clone_and_deepen(server, repo, tmp_path, version):
    add_commits(repo, commits=10)
    protocol = ("-c", f"protocol.version={version}")
    await git(*protocol, "clone", "-q", "--depth=2", server.url, "work", cwd=tmp_path)
    work = tmp_path / "work"
    assert (await git("rev-list", "--count", "HEAD", cwd=work)).stdout.strip() == "2"
    await git(*protocol, "fetch", "-q", "--unshallow", cwd=work)
    assert (await git("rev-list", "--count", "HEAD", cwd=work)).stdout.strip() == "10"


async def test_partial_clone_fetches_blobs_later(server, repo, tmp_path):
    add_commits(repo, commits=5, size=10_000)
    await git("clone", "-q", "--filter=blob:none", "--no-checkout", server.url, "work", cwd=tmp_path)
    work = tmp_path / "work"
    missing = await git("rev-list", "--objects", "--all", "--missing=print", cwd=work)
    assert missing.stdout.count("\n?") == 5
    await git("checkout", "-q", "main", cwd=work)
    assert (work / "f4").stat().st_size == 10_000


async def test_a_request_with_many_haves_is_sent_with_gzip(server, repo, tmp_path):
    add_commits(repo, commits=3)
    await git("clone", "-q", server.url, "work", cwd=tmp_path)
    work = tmp_path / "work"
    for number in range(40):
        await git("commit", "-q", "--allow-empty", "-m", f"mine {number}", cwd=work)
    server.encodings.clear()
    add_commits(repo, commits=2, branch="refs/heads/other")
    await git("fetch", "-q", cwd=work)
    assert "gzip" in server.encodings


@pytest.mark.parametrize("ref", ["refs/pull/1/head", "refs/internal/x", "refs/replace/" + "1" * 40, "refs/x"])
async def test_pushers_cannot_change_refs_of_the_service(server, repo, tmp_path, ref):
    tip = add_commits(repo)
    update_refs(server.path, [RefChange("refs/pull/1/head", ZERO_OID, tip)])
    await git("clone", "-q", server.url, "work", cwd=tmp_path)
    work = tmp_path / "work"
    await git("commit", "-q", "--allow-empty", "-m", "x", cwd=work)
    before = list_refs(repo)
    for change in (f"+HEAD:{ref}", f":{ref}"):
        done = await git("push", "-q", "origin", change, cwd=work, check=False)
        assert done.returncode
    assert list_refs(repo) == before
    # They may be fetched: reviewers do that.
    await git("fetch", "-q", "origin", "refs/pull/1/head", cwd=work)


async def test_the_default_branch_is_not_deleted_and_notes_may_be_pushed(server, repo, tmp_path):
    tip = add_commits(repo)
    await git("clone", "-q", server.url, "work", cwd=tmp_path)
    work = tmp_path / "work"
    assert (await git("push", "-q", "origin", ":main", cwd=work, check=False)).returncode
    await git("notes", "add", "-m", "well", cwd=work)
    await git("push", "-q", "origin", "refs/notes/commits", cwd=work)
    assert list_refs(repo).keys() == {"refs/heads/main", "refs/notes/commits"}
    assert list_refs(repo)["refs/heads/main"] == tip


async def test_hooks_never_run(server, repo, tmp_path):
    add_commits(repo)
    hooks = server.path / "hooks"
    hooks.mkdir()
    for name in ("pre-receive", "update", "post-receive", "post-update", "reference-transaction"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\nexit 1\n")
        (hooks / name).chmod(0o755)
    await git("clone", "-q", server.url, "work", cwd=tmp_path)
    await git("push", "-q", "origin", "HEAD:topic", cwd=tmp_path / "work")
    assert "refs/heads/topic" in list_refs(repo)
    assert not (tmp_path / "ran").exists()


async def test_a_pack_above_the_limit_is_refused_with_a_message(server, repo, tmp_path):
    tip = add_commits(repo)
    server.max_push_bytes = 100_000
    await git("clone", "-q", server.url, "work", cwd=tmp_path)
    work = tmp_path / "work"
    (work / "big").write_bytes(os.urandom(5_000_000))
    await git("add", "big", cwd=work)
    await git("commit", "-qm", "big", cwd=work)
    done = await git("push", "-q", "origin", "HEAD", cwd=work, check=False)
    assert done.returncode
    assert "maximum allowed size" in done.stderr
    assert list_refs(repo) == {"refs/heads/main": tip}
    assert not any(server.path.glob("objects/tmp_objdir*"))


async def test_a_push_into_a_damaged_repository_does_not_show_where_it_is(server, repo, tmp_path):
    add_commits(repo)
    await git("clone", "-q", server.url, "work", cwd=tmp_path)
    await git("repack", "-adq", cwd=server.path)
    for pack in server.path.glob("objects/pack/*.pack"):
        pack.chmod(0o600)
        pack.write_bytes(pack.read_bytes()[:100])
    work = tmp_path / "work"
    (work / "new").write_text("new")
    await git("add", "new", cwd=work)
    await git("commit", "-qm", "new", cwd=work)
    done = await git("push", "origin", "HEAD:topic", cwd=work, check=False)
    assert done.returncode
    assert "repository/objects/pack" in done.stderr
    assert str(server.path) not in done.stderr


async def test_hostile_trees_are_refused(server, repo, tmp_path):
    add_commits(repo)
    await git("clone", "-q", server.url, "work", cwd=tmp_path)
    work = pygit2.Repository(str(tmp_path / "work"))
    blob = work.create_blob(b"[core]\n\tfsmonitor = touch /tmp/x\n")
    entry = b"100644 config\0" + blob.raw
    inner = work.odb.write(pygit2.enums.ObjectType.TREE, entry)
    outer = work.odb.write(pygit2.enums.ObjectType.TREE, b"40000 .git\0" + inner.raw)
    text = f"tree {outer}\nauthor a <a@b> 1 +0000\ncommitter a <a@b> 1 +0000\n\nx".encode()
    commit = work.odb.write(pygit2.enums.ObjectType.COMMIT, text)
    work.references.create("refs/heads/evil", commit)
    done = await git("push", "-q", "origin", "evil", cwd=tmp_path / "work", check=False)
    assert "hasDotgit" in done.stderr
    assert "refs/heads/evil" not in list_refs(repo)


async def test_no_git_runs_after_the_client_disconnects(server, repo):
    add_commits(repo, commits=30, size=1_000_000)
    tip = list_refs(repo)["refs/heads/main"]
    request = pkt(f"want {tip} side-band-64k ofs-delta\n".encode()) + FLUSH + pkt(b"done\n")
    async with aiohttp.ClientSession() as session:
        response = await session.post(f"{server.url}/git-upload-pack", data=request)
        assert await response.content.readany()
        groups = {os.getpgid(pid) for pid in git_children()}
        assert groups
        response.close()
    assert await asyncio.wait_for(server.outcomes.get(), 20) in ("disconnected", "cancelled")
    # pack-objects, a child of that child, is killed with the group; only this test waits for its end.
    async with asyncio.timeout(10):
        while git_processes_of(groups):
            await asyncio.sleep(0)


async def test_an_incomplete_push_changes_nothing(server, repo):
    tip = add_commits(repo)

    async def body():
        yield pkt(f"{ZERO_OID} {tip} refs/heads/half\0report-status\n".encode()) + FLUSH + b"PACK\0\0\0\2"
        raise ConnectionResetError("client went away")

    with pytest.raises(ConnectionResetError):
        async for _ in serve(server.path, "git-receive-pack", None, body()):
            pass
    assert list(list_refs(repo)) == ["refs/heads/main"]
    assert not git_children()


async def test_many_clones_at_once(server, repo, tmp_path):
    tip = add_commits(repo, commits=5, size=300_000)
    await asyncio.gather(*(git("clone", "-q", "--bare", server.url, f"c{n}", cwd=tmp_path) for n in range(8)))
    for number in range(8):
        assert (await git("rev-parse", "main", cwd=tmp_path / f"c{number}")).stdout.strip() == tip


async def test_a_session_without_http_ends_when_git_ends(server, repo):
    add_commits(repo)
    waiting = asyncio.Event()

    async def stdin():
        yield FLUSH
        await waiting.wait()

    stream = serve(server.path, "git-upload-pack", None, stdin(), stateless=False, drain=False)
    answer = b"".join([chunk async for chunk in stream])
    assert b"refs/heads/main" in answer
    assert answer.endswith(FLUSH)


@pytest.mark.parametrize(
    "header",
    [
        "version=3",
        "version=2\n",
        "version=2\0",
        "version=2; touch x",
        "--upload-pack=x",
        "2",
        "version=2:" + "a" * 999,
        "version=2 ",
        "",
    ],
)
async def test_malformed_protocol_headers_mean_version_0(server, repo, header):
    add_commits(repo)
    answer = await advertise(server.path, "git-upload-pack", header)
    assert answer.startswith(b"001e# service=git-upload-pack\n0000")


async def test_receive_pack_is_never_version_2(server, repo):
    add_commits(repo)
    answer = await advertise(server.path, "git-receive-pack", "version=2")
    assert answer.startswith(b"001f# service=git-receive-pack\n0000")
    assert b"refs/heads/main" in answer


async def test_version_2_names_no_ref_and_further_keys_are_allowed(server, repo):
    add_commits(repo)
    for header in ("version=2", "version=2", "version=2:x=1"):
        answer = await advertise(server.path, "git-upload-pack", header)
        assert answer.startswith(b"000eversion 2\n")
        assert b"filter" in answer
        assert b"refs/heads" not in answer


async def test_a_missing_repository_is_not_served(tmp_path):
    with pytest.raises(RepositoryNotFound):
        await advertise(tmp_path, "git-upload-pack", "version=2")
    with pytest.raises(GitFailed):
        async for _ in serve(tmp_path, "git-upload-pack", None, pieces(b"0000", 4)):
            pass


@pytest.mark.parametrize("size", [1, 7, 100_000])
async def test_gzip_in_chunks_of_any_size_is_decompressed(size):
    data = os.urandom(50_000) + b"x" * 1_000_000
    chunks = [chunk async for chunk in inflate(pieces(gzip.compress(data), size), 2_000_000)]
    assert b"".join(chunks) == data
    assert max(map(len, chunks)) <= 256 * 1024


@pytest.mark.parametrize(
    "body",
    [
        b"plain",
        gzip.compress(b"x" * 1000)[:-5],
        gzip.compress(b"x") + b"more",
        zlib.compress(b"x"),
        gzip.compress(b"\0" * 3_000_000),
    ],
    # Compressed bytes contain the time; the names of tests must not.
    ids=["plain", "cut", "more", "zlib", "bomb"],
)
async def test_bad_gzip_bodies_are_refused(body):
    with pytest.raises(BodyRefused):
        async for _ in inflate(pieces(body, 100), 1_000_000):
            pass


@pytest.mark.parametrize("size", [1, 3, 10_000])
async def test_push_commands_are_read_without_losing_a_byte(size):
    a, b = "a" * 40, "b" * 40
    body = (
        pkt(b"shallow " + a.encode() + b"\n")
        + pkt(f"{ZERO_OID} {a} refs/heads/ü\0report-status side-band-64k\n".encode())
        + pkt(f"{a} {b} refs/heads/--x".encode())
        + FLUSH
        + b"PACK-and-so-on"
    )
    push = await read_push_commands(pieces(body, size))
    assert push.commands == (RefChange("refs/heads/ü", ZERO_OID, a), RefChange("refs/heads/--x", a, b))
    assert b"".join([chunk async for chunk in push.body]) == body


@pytest.mark.parametrize(
    "body", [b"", b"00", b"zzzz", b"0001", b"0004", b"0008abcd", b"00ffabc", b"+0ff", b"\xff" * 9]
)
async def test_broken_push_requests_are_refused(body):
    with pytest.raises(BodyRefused):
        await read_push_commands(pieces(body, 2))


def pkt(content):
    return b"%04x" % (len(content) + 4) + content


async def pieces(data, size):
    for start in range(0, len(data), size):
        yield data[start : start + size]


def git_children():
    """Running git processes that this process started through the service's code."""
    return [pid for pid, parent, _ in running_git() if parent == os.getpid()]


def git_processes_of(groups):
    return [pid for pid, _, group in running_git() if group in groups]


def running_git():
    """(pid, parent, process group) of all git processes in the service's environment."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            name, rest = (folder / "stat").read_text().split(" (", 1)[1].rsplit(") ", 1)
            ours = b"GIT_CONFIG_GLOBAL=/dev/null" in (folder / "environ").read_bytes()
        except OSError:
            continue
        state, parent, group = rest.split()[:3]
        if name.startswith("git") and ours and state != "Z":
            yield int(folder.name), int(parent), int(group)
