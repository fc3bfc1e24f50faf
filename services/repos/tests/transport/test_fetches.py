"""A fetch that takes long: who may not fetch any more gets nothing more, over HTTP and over SSH."""

import asyncio
import contextlib
import gc
import os
from datetime import timedelta
from types import SimpleNamespace
from urllib.parse import urlsplit

import asyncssh
import httpx
import pytest
from structlog.testing import capture_logs

from ingot_chassis.clock import now
from ingot_chassis.errors import NotFound
from ingot_chassis.peers.asgi import http_scope
from ingot_chassis.security.principal import SERVICE_HEADER, ServiceIdentity
from ingot_git.protocol import fetch_requests
from ingot_git.protocol.fetch_requests import FetchRequest
from ingot_git.protocol.smart_http import pkt_line
from ingot_repos.access.rules import read_rights
from ingot_repos.access.rules.admission import LongRequests
from ingot_repos.transport.api.exchanges import Exchange
from ingot_repos.transport.rules import fetches as git_fetches
from ingot_repos.transport.rules import shared_fetches
from ingot_ssh.sessions import KEY_HEADER
from ingot_testing.service import serve

from ..pushes.test_rights import WRITER, end_the_token, remove, rename, suspend
from ..ssh_world import Key, served
from ..world import REPOS_KEY, commit, git, work_tree

pytestmark = pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
PATIENCE = 60
NOISE = 16 * 1024 * 1024
"""Bytes of a file: more than connections buffer while the client reads nothing."""
WHOLE = b"0\r\n\r\n"
"""The end of an answer in chunks."""
LIST_REFS = pkt_line(b"command=ls-refs\n") + b"0000"


async def first_tip(ann, git_url, tmp_path, size):
    """Return the tip of the private ann/app, which bob may read. It has an incompressible file of ``size``
    bytes."""
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


async def large_file(world, folder):
    ann, _ = world.user(1, "ann", full_name="Ann"), world.user(2, "bob")
    async with serve(world.app) as url:
        return await first_tip(ann, url, folder, NOISE)


@pytest.fixture
def arrangement(request):
    return large_file if "large_tip" in request.fixturenames else None


@pytest.fixture
async def large_tip(world, ann, bob):
    return world.arranged


@pytest.fixture
def often(monkeypatch):
    monkeypatch.setattr(read_rights, "DECIDE_AGAIN_SECONDS", 0.02)


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


@contextlib.asynccontextmanager
async def session(world, key, protocol="version=2"):
    """A session of a fetch from ann/app over SSH, in which git has said what it can."""
    login = {"username": "git", "client_keys": [str(key.file)], "known_hosts": None, "encoding": None}
    async with (
        served(world) as (_, port),
        asyncssh.connect("127.0.0.1", port, config=None, **login) as connection,
        asyncio.timeout(PATIENCE),
    ):
        version = {"GIT_PROTOCOL": protocol}
        process = await connection.create_process("git-upload-pack 'ann/app'", env=version)
        await packets(process.stdout)
        yield process


async def goes_on(world, process, tip):
    await decided_again(world, process.stdout.at_eof)
    process.stdin.write(LIST_REFS)
    assert tip.encode() in b"".join(await packets(process.stdout))


@pytest.mark.parametrize("change", [remove_the_key, remove, suspend])
async def test_a_session_over_ssh_ends_with_the_right(world, ann, tip, often, tmp_path, change):
    key = Key(tmp_path, "bob")
    world.identity.ssh_keys[key.public.fingerprint] = (2, "laptop")
    async with session(world, key) as process:
        for _ in range(2):
            await goes_on(world, process, tip)
        await change(world, ann)
        assert await process.stdout.read() == b""


@pytest.mark.parametrize("is_deploy_key", [False, True])
async def test_a_session_over_ssh_stays_with_its_repository_when_another_gets_the_name(
    world, ann, tip, often, tmp_path, is_deploy_key
):
    key = Key(tmp_path, "bob")
    if is_deploy_key:
        opening = {"title": "robot", "key": key.public.content, "read_only": True}
        assert (await ann.post("/repos/ann/app/keys", opening)).status_code == 201
    else:
        world.identity.ssh_keys[key.public.fingerprint] = (2, "laptop")
    async with session(world, key) as process:
        await rename(world, ann)
        await goes_on(world, process, tip)


async def cut_off(lines):
    while not any(line["event"] == "fetch cut off" for line in lines):
        await asyncio.sleep(0.01)


async def begin(line, headers, git_url, body=b""):
    """Return the connection after the first bytes of a response. The rest is not read yet."""
    url = urlsplit(git_url)
    reader, writer = await asyncio.open_connection(url.hostname, url.port)
    headers |= {"host": url.netloc, "connection": "close"}
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    writer.write(f"{line} HTTP/1.1\r\n{head}\r\n".encode() + body)
    assert (await reader.readline()).split()[1] == b"200"
    return reader, writer


def everything(oid, haves=b""):
    """A request of protocol 2."""
    want = pkt_line(f"want {oid}\n".encode())
    return pkt_line(b"command=fetch") + b"0001" + want + haves + pkt_line(b"done\n") + b"0000"


async def begin_clone(headers, git_url, oid, haves=b""):
    """Of a request for everything."""
    body = everything(oid, haves)
    headers |= {
        "content-type": "application/x-git-upload-pack-request",
        "git-protocol": "version=2",
        "content-length": str(len(body)),
    }
    return await begin("POST /ann/app.git/git-upload-pack", headers, git_url, body)


LONG = 1000
HAVES = b"".join(pkt_line(f"have {number:040x}\n".encode()) for number in range(LONG))


@pytest.fixture
def few_are_short(monkeypatch):
    """Requests are long, and not shared, from few bytes on."""
    monkeypatch.setattr(fetch_requests, "LONG_REQUEST", LONG)
    monkeypatch.setattr(shared_fetches, "LONGEST_SHARED", LONG)


async def git_has_the_request(world):
    """Nothing of it stays in memory, so others may be as long."""
    async with contextlib.AsyncExitStack() as others:
        for _ in range(LongRequests.MOST):
            slot = world.components.long_requests.slot(99, signed_in=True, waits=False)
            await others.enter_async_context(slot)
    while any(len(one.text) > LONG for one in requests_in_memory()):
        await asyncio.sleep(0.01)


def requests_in_memory():
    gc.collect()
    return [one for one in gc.get_objects() if type(one) is FetchRequest]


async def test_a_long_request_has_its_slot_until_git_has_it(world, bob, git_url, large_tip, few_are_short):
    async with asyncio.timeout(PATIENCE):
        reader, writer = await begin_clone(bob.headers(), git_url, large_tip, HAVES)
        with contextlib.closing(writer):  # the server waits for it
            await git_has_the_request(world)
            assert len(await the_rest(reader, writer)) > NOISE


@pytest.mark.parametrize("protocol", ["version=0", "version=2"])
async def test_a_long_request_of_a_session_has_its_slot_until_git_has_it(
    world, bob, large_tip, few_are_short, tmp_path, protocol
):
    key = Key(tmp_path, "bob")
    world.identity.ssh_keys[key.public.fingerprint] = (2, "laptop")
    request = everything(large_tip, HAVES)
    if protocol == "version=0":
        request = (
            pkt_line(f"want {large_tip} side-band-64k\n".encode()) + b"0000" + HAVES + pkt_line(b"done\n")
        )
    async with session(world, key, protocol) as process:
        process.stdin.write(request)
        await process.stdout.readuntil(b"PACK")
        await asyncio.wait_for(git_has_the_request(world), PATIENCE)


async def begin_bundle(headers, git_url, _oid):
    """Of a request for the bundle."""
    return await begin("GET /ann/app.git/clone.bundle", headers, git_url)


async def the_rest(reader, writer):
    rest = await reader.read()
    writer.close()
    return rest


async def nothing(_world, _ann):
    """Changes nothing."""


@pytest.fixture
def settings():
    return {"bundle_min_bytes": 1}


@pytest.fixture
def bundles(monkeypatch):
    """They are of what the branch is tomorrow at midnight."""
    monkeypatch.setattr(shared_fetches, "now", lambda: now() + timedelta(days=1))


async def ends_with_the_right(world, ann, person, git_url, change, begin_answer, oid):
    """A long answer is whole when nothing changes, else cut off."""
    async with asyncio.timeout(PATIENCE):
        reader, writer = await begin_answer(person.headers(), git_url, oid)
        await decided_again(world, reader.at_eof)
        with capture_logs() as lines:
            await change(world, ann)
            if change is not nothing:
                await cut_off(lines)
        rest = await the_rest(reader, writer)
    assert rest.endswith(WHOLE) == (len(rest) > NOISE) == (change is nothing)


@pytest.mark.parametrize("change", [end_the_token, remove, nothing])
async def test_a_clone_over_http_ends_with_the_right(world, ann, bob, git_url, large_tip, often, change):
    await ends_with_the_right(world, ann, bob, git_url, change, begin_clone, large_tip)


@pytest.mark.parametrize("change", [end_the_token, remove, nothing])
async def test_a_bundle_ends_with_the_right(world, ann, bob, git_url, large_tip, often, bundles, change):
    await ends_with_the_right(world, ann, bob, git_url, change, begin_bundle, large_tip)


@pytest.mark.parametrize("change", [remove, nothing])
async def test_a_clone_under_sudo_ends_with_the_right(world, ann, bob, git_url, large_tip, often, change):
    acting = bob.but(sudo_by="root", credential="")
    await ends_with_the_right(world, ann, acting, git_url, change, begin_clone, large_tip)


async def test_a_bundle_is_sent_from_the_file_that_is_shared(bob, git_url, large_tip, bundles, git_log):
    answers = []
    async with asyncio.timeout(PATIENCE), httpx.AsyncClient() as http:
        for _ in range(3):
            answer = await http.get(f"{git_url}/ann/app.git/clone.bundle", headers=bob.headers())
            answers.append((answer.status_code, answer.headers["content-type"], answer.content))
    assert answers[0][:2] == (200, "application/octet-stream")
    assert answers[0][2].startswith(b"# v2 git bundle\n")
    assert len(answers[0][2]) > NOISE
    assert answers == answers[:1] * 3
    assert sum("pack-objects" in line and "--quiet" in line for line in git_log) == 2  # the second writes it


async def test_a_bundle_that_takes_as_long_as_no_fetch_may_is_broken_off(
    bob, git_url, large_tip, bundles, monkeypatch
):
    monkeypatch.setattr(shared_fetches, "TIME_LIMIT", 0.0)
    async with asyncio.timeout(PATIENCE):
        rest = await the_rest(*await begin_bundle(bob.headers(), git_url, large_tip))
    assert not rest.endswith(WHOLE)


async def leave_in_the_middle(world, method, path, headers, body, beginning):
    """Send the parts of a body, and disconnect when the ``beginning`` of the response arrives.

    Nothing after it is read. Return when the request has ended.
    """
    messages = asyncio.Queue()
    for part in body:
        messages.put_nowait({"type": "http.request", "body": part, "more_body": bool(part)})

    async def send(message):
        if beginning in message.get("body", b""):
            messages.put_nowait({"type": "http.disconnect"})
            await asyncio.Event().wait()

    raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    scope = http_scope(method, path=path, raw_path=path.encode(), query=b"", headers=raw)
    async with asyncio.timeout(PATIENCE):
        await world.app(scope, messages.get, send)
    assert messages.empty()


async def test_a_bundle_ends_when_its_client_goes_away(world, bob, tip, bundles):
    await leave_in_the_middle(world, "GET", "/ann/app.git/clone.bundle", bob.headers(), [b""], b"bundle")


@pytest.mark.parametrize("more", [[], [b"00"], [b"0", b"0", b"11"], [LIST_REFS, LIST_REFS[:9]]])
async def test_a_session_ends_when_its_client_goes_away_whatever_it_has_said_meanwhile(
    world, tip, tmp_path, more
):
    key = Key(tmp_path, "bob").public.fingerprint
    world.identity.ssh_keys[key] = (2, "laptop")
    token = ServiceIdentity("repos", REPOS_KEY).token("repos")
    headers = {SERVICE_HEADER: token, KEY_HEADER: key, "git-protocol": "version=2"}
    path = "/internal/ssh/ann/app/git-upload-pack"
    await leave_in_the_middle(world, "POST", path, headers, [everything(tip), *more], b"PACK")


async def test_who_is_refused_and_leaves_does_not_interrupt_how_the_answer_ends(world, often):
    leaves, ended = asyncio.Event(), []

    async def receive():
        await leaves.wait()
        return {"type": "http.disconnect"}

    async def send(_message):
        """Drop the message of a client that does not read."""

    async def refuse():
        raise NotFound

    async def stream():
        try:
            yield b"x"
            await asyncio.Event().wait()
        finally:
            leaves.set()
            for _ in range(20):  # the server notices it in this time
                await asyncio.sleep(0)
            ended.append(True)

    exchange = Exchange(SimpleNamespace(headers={}), receive, send)
    exchange.body_ended.set()
    async with asyncio.timeout(PATIENCE):
        await git_fetches.answer(exchange, "git-upload-pack", stream(), 1, refuse)
    assert ended == [True]


async def test_the_end_of_a_body_is_noticed_before_somebody_works_on_its_last_part(world):
    async def receive():
        return {"type": "http.request", "body": b"x", "more_body": False}

    exchange = Exchange(SimpleNamespace(headers={}), receive, None)
    assert await anext(exchange.body()) == b"x"
    assert exchange.body_ended.is_set()


async def test_a_clone_of_a_stranger_ends_when_the_repository_becomes_private(ann, git_url, large_tip, often):
    await set_private(ann, private=False)
    async with asyncio.timeout(PATIENCE):
        reader, writer = await begin_clone({}, git_url, large_tip)
        with capture_logs() as lines:
            await set_private(ann, private=True)
            await cut_off(lines)
        rest = await the_rest(reader, writer)
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
            while sum(line["event"] == "right to read not decided about again" for line in lines) < 2:
                await asyncio.sleep(0.01)
        world.identity.unavailable = False
        rest = await the_rest(reader, writer)
    assert rest.endswith(WHOLE)
    assert len(rest) > NOISE
