"""A fetch that takes long: who may not fetch any more gets nothing more, over HTTP and over SSH."""

import asyncio
import os
from urllib.parse import urlsplit

import asyncssh
import pytest
from structlog.testing import capture_logs

from ingot_repos.api import git_fetches
from ingot_repos.git.smart_http import pkt_line

from .ssh_world import Key, served
from .test_push_rights import WRITER, end_the_token, remove, suspend
from .world import commit, git, work_tree

pytestmark = pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
PATIENCE = 60
NOISE = 16 * 1024 * 1024
"""Bytes of a file: more than connections hold that nobody reads."""
WHOLE = b"0\r\n\r\n"
"""The end of an answer in chunks."""
LIST_REFS = pkt_line(b"command=ls-refs\n") + b"0000"


async def first_tip(ann, git_url, tmp_path, size):
    """That of the private ann/app, which bob may read. It has a file of that many bytes that cannot be packed smaller."""
    await ann.create("app", private=True)
    assert (await ann.call("PUT", f"/api/v1{WRITER}", {"permission": "read"})).status_code == 204
    work = await work_tree(tmp_path)
    (work / "noise").write_bytes(os.urandom(size))
    oid = await commit(work, "a.txt")
    await git("push", "-q", f"{git_url}/ann/app.git", "master", cwd=work, person=ann)
    return oid


@pytest.fixture
async def tip(ann, bob, git_url, tmp_path):
    return await first_tip(ann, git_url, tmp_path, 10)


@pytest.fixture
async def large_tip(ann, bob, git_url, tmp_path):
    return await first_tip(ann, git_url, tmp_path, NOISE)


@pytest.fixture
def often(monkeypatch):
    monkeypatch.setattr(git_fetches, "DECIDE_AGAIN_SECONDS", 0.02)


async def remove_the_key(world, _ann):
    world.identity.ssh_keys.clear()


async def set_private(ann, *, private):
    answer = await ann.call("PATCH", "/api/v1/repos/ann/app", {"private": private})
    assert answer.status_code == 200, answer.text


async def packets(reader):
    """Those until a flush."""
    lines = []
    while size := int(await reader.readexactly(4), 16):
        lines.append(await reader.readexactly(max(0, size - 4)))
    return lines


async def decided_again(world, has_ended):
    """Return when it was decided again, some times, that the fetch may go on."""
    world.identity.paths.clear()
    async with asyncio.timeout(PATIENCE):
        while len(world.identity.paths) < 3:
            assert not has_ended()
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("change", [remove_the_key, remove, suspend])
async def test_a_session_over_ssh_ends_with_the_right(world, ann, tip, often, tmp_path, change):
    key = Key(tmp_path, "bob")
    world.identity.ssh_keys[key.public.fingerprint] = (2, "laptop")
    login = {"username": "git", "client_keys": [str(key.file)], "known_hosts": None, "encoding": None}
    async with (
        served(world) as (_, port),
        asyncssh.connect("127.0.0.1", port, config=None, **login) as connection,
        asyncio.timeout(PATIENCE),
    ):
        version = {"GIT_PROTOCOL": "version=2"}
        process = await connection.create_process("git-upload-pack 'ann/app'", env=version)
        await packets(process.stdout)
        for _ in range(2):
            await decided_again(world, process.stdout.at_eof)
            process.stdin.write(LIST_REFS)
            assert tip.encode() in b"".join(await packets(process.stdout))
        await change(world, ann)
        assert await process.stdout.read() == b""


async def cut_off(lines):
    while not any(line["event"] == "fetch cut off" for line in lines):
        await asyncio.sleep(0.01)


async def begin_clone(headers, git_url, oid):
    """The connection, when the answer to a request for everything has begun. Nobody reads more of it yet."""
    url = urlsplit(git_url)
    reader, writer = await asyncio.open_connection(url.hostname, url.port)
    command = pkt_line(b"command=fetch") + b"0001" + pkt_line(f"want {oid}\n".encode()) + pkt_line(b"done\n")
    body = command + b"0000"
    headers |= {
        "host": url.netloc,
        "content-type": "application/x-git-upload-pack-request",
        "git-protocol": "version=2",
        "content-length": str(len(body)),
        "connection": "close",
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    writer.write(f"POST /ann/app.git/git-upload-pack HTTP/1.1\r\n{head}\r\n".encode() + body)
    assert (await reader.readline()).split()[1] == b"200"
    return reader, writer


async def nothing(_world, _ann):
    """Changes nothing."""


@pytest.mark.parametrize("change", [end_the_token, remove, nothing])
async def test_a_clone_over_http_ends_with_the_right(world, ann, bob, git_url, large_tip, often, change):
    async with asyncio.timeout(PATIENCE):
        reader, writer = await begin_clone(bob.headers(), git_url, large_tip)
        await decided_again(world, reader.at_eof)
        with capture_logs() as lines:
            await change(world, ann)
            if change is not nothing:
                await cut_off(lines)
        rest = await reader.read()
        writer.close()
    assert rest.endswith(WHOLE) == (len(rest) > NOISE) == (change is nothing)


async def test_a_clone_of_a_stranger_ends_when_the_repository_becomes_private(ann, git_url, large_tip, often):
    await set_private(ann, private=False)
    async with asyncio.timeout(PATIENCE):
        reader, writer = await begin_clone({}, git_url, large_tip)
        with capture_logs() as lines:
            await set_private(ann, private=True)
            await cut_off(lines)
        rest = await reader.read()
        writer.close()
    assert not rest.endswith(WHOLE)


async def test_a_request_that_comes_slowly_is_refused_when_the_right_has_ended(world, ann, bob, tip, often):
    async def body():
        yield pkt_line(b"command=ls-refs\n")
        await remove(world, ann)
        await asyncio.Event().wait()

    headers = bob.headers() | {
        "content-type": "application/x-git-upload-pack-request",
        "git-protocol": "version=2",
    }
    async with asyncio.timeout(PATIENCE):
        answer = await world.http.post("/ann/app.git/git-upload-pack", content=body(), headers=headers)
    assert answer.status_code == 404


async def test_a_fetch_goes_on_while_identity_is_away(world, bob, git_url, large_tip, often):
    async with asyncio.timeout(PATIENCE):
        reader, writer = await begin_clone(bob.headers(), git_url, large_tip)
        with capture_logs() as lines:
            world.identity.unavailable = True
            while sum(line["event"] == "fetch not decided about again" for line in lines) < 2:
                await asyncio.sleep(0.01)
        world.identity.unavailable = False
        rest = await reader.read()
        writer.close()
    assert rest.endswith(WHOLE)
    assert len(rest) > NOISE
