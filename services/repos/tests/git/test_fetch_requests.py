"""Fetchable objects: all that a visible ref reaches, in every protocol and over both transports."""

import asyncio
import os
import shutil
from contextlib import AsyncExitStack

import pytest

from ingot_chassis.security.principal import SERVICE_HEADER, ServiceIdentity
from ingot_git.process.errors import BodyRefused
from ingot_git.protocol import fetch_requests
from ingot_git.protocol.fetch_requests import ENDS_OF_HAVES, MOST_HAVES, FetchRequest, RequestReader
from ingot_git.protocol.smart_http import pkt_line
from ingot_git.refs.refs import ZERO_OID, RefChange, update_refs
from ingot_repos.access.rules.admission import LongRequests
from ingot_repos.transport.rules import fetches as git_fetches
from ingot_ssh.sessions import KEY_HEADER

from ..ssh_world import Client, Key, ssh_before
from ..world import REPOS_KEY, git

MEMORY = 512 * 1024 * 1024
LIMITED_GIT = """#!/bin/sh
# The limit is set once the process has started.
for _ in $(seq 500); do [ "$(ulimit -d)" = unlimited ] || break; sleep 0.01; done
[ "${{1#--git-dir}}" = "$1" ] && verb=$1 || verb=$2
echo "$verb $(ulimit -d)" >>{log}
exec {real} "$@"
"""


async def fetch(folder, url, oid, person, *, version=2, name="fetched"):
    """Exit code and output of a fetch of one object by its id, into an empty repository."""
    empty = folder / name
    if not empty.exists():
        await git("init", "-q", "--bare", str(empty), cwd=folder)
    protocol = ("-c", f"protocol.version={version}")
    return await git(*protocol, "fetch", "-q", url, oid, cwd=empty, person=person, check=False)


@pytest.mark.parametrize("version", [0, 2])
async def test_a_commit_of_a_deleted_branch_is_refused_until_a_pull_request_needs_it(
    history, ann, tmp_path, version
):
    url, ids, path = history
    code, said = await fetch(tmp_path, url, ids["gone"], ann, version=version)
    assert (code, ids["gone"] in said) == (128, True), said
    update_refs(path, [RefChange("refs/scratch/x", ZERO_OID, ids["gone"])])
    assert (await fetch(tmp_path, url, ids["gone"], ann, version=version))[0] == 128
    update_refs(path, [RefChange("refs/pull/1/head", ZERO_OID, ids["gone"])])
    code, said = await fetch(tmp_path, url, ids["gone"], ann, version=version)
    assert code == 0, said


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize("settings", [{"max_git_memory_bytes": MEMORY}])
async def test_every_git_that_a_client_starts_has_a_limit_of_memory(
    world, history, ann, tmp_path, monkeypatch
):
    _, ids, _ = history
    log, real, folder = tmp_path / "limits", shutil.which("git"), tmp_path / "bin"
    folder.mkdir()
    (folder / "git").write_text(LIMITED_GIT.format(log=log, real=real))
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    key = Key(tmp_path, "ann").public.fingerprint
    world.identity.ssh_keys[key] = (1, "laptop")

    async def answer_of(method, path, *lines, **headers):
        body = b"".join(line if line in (b"0000", b"0001") else pkt_line(line) for line in lines)
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        answer = await ann.call(method, path, content=body, headers=headers)
        assert answer.status_code < 300, answer.text
        return answer.content

    assert b"refs/heads/master" in await answer_of("GET", "/ann/app.git/info/refs?service=git-upload-pack")
    for name in ("first", "old blob"):
        want = b"want %b\n" % ids[name].encode()
        lines = (b"command=fetch", b"0001", want, b"done\n", b"0000")
        content_type = "application/x-git-upload-pack-request"
        target = "/ann/app.git/git-upload-pack"
        answer = await answer_of("POST", target, *lines, git_protocol="version=2", content_type=content_type)
        assert b"packfile" in answer
    signed = {SERVICE_HEADER.replace("-", "_"): ServiceIdentity("repos", REPOS_KEY).token("repos")}
    target, key_of = "/internal/ssh/ann/app/git-upload-archive", {KEY_HEADER.replace("-", "_"): key}
    answer = await answer_of("POST", target, b"argument master\n", b"0000", **signed, **key_of)
    assert b"a.txt" in answer
    limits = [line.split() for line in log.read_text().splitlines()]
    verbs = ["pack-objects"] * 2 + ["rev-list"] * 2 + ["upload-archive", "upload-pack"]
    assert sorted(verb for verb, _ in limits) == verbs
    assert {int(limit) * 1024 for _, limit in limits} == {MEMORY}


@pytest.mark.parametrize("version", [0, 2])
async def test_it_is_refused_over_ssh_as_well(world, history, ann, tmp_path, version):
    _, ids, _ = history
    key = Key(tmp_path, "ann")
    world.identity.ssh_keys[key.public.fingerprint] = (1, "laptop")
    await git("init", "-q", "--bare", "empty", cwd=tmp_path)
    async with ssh_before(world) as port:
        client = Client(tmp_path, port, key)
        url = client.url("ann/app")
        code, said = await client.git(
            "fetch", "-q", url, ids["gone"], cwd=tmp_path / "empty", protocol=version
        )
        assert (code != 0, ids["gone"] in said) == (True, True), said
        code, said = await client.git("fetch", "-q", url, "master", cwd=tmp_path / "empty", protocol=version)
        assert code == 0, said


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize("version", [0, 2])
@pytest.mark.parametrize("prefix", ["", "combine:blob:none+"])
async def test_no_filter_reads_a_file(history, ann, tmp_path, prefix, version):
    """Its lines would be patterns of paths: which paths are sent would show what is in it."""
    url, ids, path = history
    update_refs(path, [RefChange("refs/scratch/x", ZERO_OID, ids["gone"])])
    for name in (ids["gone blob"], "refs/scratch/x:secret.txt", "refs/heads/master:a.txt"):
        options = ("-c", f"protocol.version={version}", "clone", "-q", "--bare")
        code, said = await git(
            *options,
            f"--filter={prefix}sparse:oid={name}",
            url,
            "part",
            cwd=tmp_path,
            person=ann,
            check=False,
        )
        assert (code, "filter 'sparse:oid' not supported" in said) == (128, True), said


@pytest.mark.parametrize("name", ["first", "old blob", "old tree", "new blob"])
async def test_what_a_branch_leads_to_is_fetched_by_its_id(history, ann, tmp_path, name):
    url, ids, _ = history
    code, said = await fetch(tmp_path, url, ids[name], ann)
    assert code == 0, said


@pytest.mark.parametrize("name", ["gone blob", "gone tree"])
async def test_files_of_a_deleted_branch_are_refused(history, ann, tmp_path, name):
    url, ids, _ = history
    code, said = await fetch(tmp_path, url, ids[name], ann)
    assert (code, f"not our ref {ids[name]}" in said) == (128, True), said
    code, said = await fetch(tmp_path, url, "0123456789" * 4, ann)
    assert (code, "not our ref" in said) == (128, True), said


async def test_a_clone_without_files_gets_them_when_they_are_needed(history, ann, tmp_path):
    url, _, _ = history
    await git("clone", "-q", "--filter=blob:none", url, "part", cwd=tmp_path, person=ann)
    assert (tmp_path / "part" / "a.txt").read_text() == "two\n"
    assert await git("show", "HEAD~1:a.txt", cwd=tmp_path / "part", person=ann) == "one\n"


FETCH = (pkt_line(b"command=fetch\n"), b"0001")
DONE = (pkt_line(b"done\n"), b"0000")
NOWHERE = "0123456789" * 4


def want(oid, behind=""):
    return pkt_line(f"want {oid}{behind}\n".encode())


async def upload_pack(person, *lines, protocol="version=2"):
    """The answer to a request over HTTP."""
    headers = {"git-protocol": protocol, "content-type": "application/x-git-upload-pack-request"}
    return await person.call("POST", "/ann/app.git/git-upload-pack", content=b"".join(lines), headers=headers)


async def session(person, *lines, protocol="version=2"):
    """The same in a session as the SSH server sends it."""
    fingerprint = "SHA256:" + "x" * 43
    person.world.identity.ssh_keys[fingerprint] = (person.principal.id, "laptop")
    headers = {SERVICE_HEADER: ServiceIdentity("repos", REPOS_KEY).token("repos"), KEY_HEADER: fingerprint}
    headers |= {"git-protocol": protocol}
    target = "/internal/ssh/ann/app/git-upload-pack"
    return await person.call("POST", target, content=b"".join(lines), headers=headers)


@pytest.mark.parametrize(
    "protocol", ["version=2", "version=1:version=2", "version=2:x=y", "version=0:version=2"]
)
@pytest.mark.parametrize("behind", ["", "f", " x"])
async def test_no_spelling_passes_the_check(history, ann, protocol, behind):
    _, ids, _ = history
    answer = await upload_pack(ann, *FETCH, want(ids["gone"], behind), *DONE, protocol=protocol)
    assert b"not our ref" in answer.content
    assert b"packfile" not in answer.content


@pytest.fixture
def walks(git_log):
    """Return how often git walked through the history."""
    return lambda: sum("rev-list" in line for line in git_log)


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_a_body_has_one_request_and_costs_nothing_if_it_has_more(history, ann, walks):
    _, ids, _ = history
    answer = await upload_pack(ann, *[want(ids["gone blob"]) + b"0000"] * 4800)
    assert (answer.status_code, walks()) == (400, 0)
    answer = await upload_pack(ann, *FETCH, want(ids["first"]), *DONE, b"0000")
    assert (answer.status_code, walks()) == (400, 0)


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_a_session_ends_after_very_many_requests(history, ann, monkeypatch):
    monkeypatch.setattr(git_fetches, "MOST_REQUESTS", 3)
    request = (pkt_line(b"command=ls-refs\n"), b"0000")
    answer = await session(ann, *request * 3)
    assert (answer.content.count(b"refs/heads/master"), b"too many" in answer.content) == (3, True)
    answer = await session(ann, *request * 2)
    assert (answer.content.count(b"refs/heads/master"), b"too many" in answer.content) == (2, False)


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_one_walk_finds_all_files_and_is_not_repeated_until_a_ref_moves(history, ann, walks):
    _, ids, path = history
    await git("commit-graph", "write", "--reachable", cwd=path)

    async def ask(*names):
        """Each time another request, so no answer is shared."""
        agent = pkt_line(b"agent=%d\n" % walks.count)
        walks.count += 1
        answer = await upload_pack(ann, FETCH[0], agent, FETCH[1], *[want(ids[one]) for one in names], *DONE)
        return b"not our ref" in answer.content

    walks.count = 0
    assert not await ask("old blob", "old tree")
    assert walks() == 1
    assert not await ask("old tree", "old blob")
    assert not await ask("old blob")
    assert walks() == 1
    for _ in range(2):
        assert await ask("gone blob")
        assert walks() == 2
    for _ in range(2):
        assert await ask("gone")
        assert walks() == 3
    update_refs(path, [RefChange("refs/heads/again", ZERO_OID, ids["gone"])])
    assert not await ask("gone blob")
    assert walks() == 4


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize("settings", [{"git_concurrency": 1}])
async def test_what_is_wanted_is_looked_for_in_the_room_of_git(world, history, ann, walks):
    _, ids, _ = history
    world.components.admission.wait_seconds = 0.1
    async with world.components.admission.slot(99, signed_in=True):
        answer = await upload_pack(ann, *FETCH, want(ids["old blob"]), *DONE)
        assert (answer.status_code, walks()) == (503, 0)
    assert (await upload_pack(ann, *FETCH, want(ids["old blob"]), *DONE)).status_code == 200
    assert walks() == 1


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_a_walk_ends_when_its_client_leaves(world, history, ann, tmp_path, monkeypatch):
    _, ids, _ = history
    begun, folder = tmp_path / "begun", tmp_path / "bin"
    folder.mkdir()
    git_that_waits = f'#!/bin/sh\ncase "$*" in *rev-list*) touch {begun}; exec sleep 3600 ;; esac\n'
    (folder / "git").write_text(f'{git_that_waits}exec {shutil.which("git")} "$@"\n')
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    body = b"".join([*FETCH, want(ids["old blob"]), *DONE])
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive():
        if messages:
            return messages.pop()
        while not begun.exists():
            await asyncio.sleep(0.01)
        return {"type": "http.disconnect"}

    async def send(_message):
        """Drop the message of a client that does not read."""

    headers = {"git-protocol": "version=2", "content-type": "application/x-git-upload-pack-request"}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": "/ann/app.git/git-upload-pack",
        "raw_path": b"/ann/app.git/git-upload-pack",
        "root_path": "",
        "query_string": b"",
        "headers": [
            (name.lower().encode(), value.encode()) for name, value in (ann.headers() | headers).items()
        ],
        "client": ("127.0.0.1", 1),
        "server": ("repos", 80),
    }
    async with asyncio.timeout(60):
        await world.app(scope, receive, send)
    assert begun.exists()


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_bitmaps_hide_nothing_and_show_nothing_more(history, ann, tmp_path):
    url, ids, path = history
    await git("repack", "-adbkq", cwd=path)
    assert list(path.glob("objects/pack/*.bitmap"))
    for name in ("first", "old blob", "old tree", "new blob"):
        assert (await fetch(tmp_path, url, ids[name], ann))[0] == 0
    for name in ("gone", "gone blob", "gone tree"):
        assert (await fetch(tmp_path, url, ids[name], ann))[0] == 128


@pytest.mark.parametrize("send", [upload_pack, session])
async def test_nobody_hears_the_size_of_an_object(history, ann, send):
    _, ids, _ = history
    arguments = (pkt_line(b"size\n"), pkt_line(f"oid {ids['gone blob']}\n".encode()), b"0000")
    answer = await send(ann, pkt_line(b"command=object-info\n"), b"0001", *arguments)
    assert ids["gone blob"].encode() not in answer.content
    assert answer.status_code == (400 if send is upload_pack else 200)
    target = "/ann/app.git/info/refs?service=git-upload-pack"
    offered = await ann.call("GET", target, headers={"git-protocol": "version=2"})
    for text in (offered.content, (await session(ann, b"0000")).content):
        assert (b"object-info" in text, b"fetch=" in text) == (False, True)


async def hidden_descendant(path, ids):
    """A commit behind the one of the deleted branch."""
    options = ("-c", "user.name=a", "-c", "user.email=a@b")
    oid = await git(*options, "commit-tree", ids["gone tree"], "-p", ids["gone"], "-m", "later", cwd=path)
    return oid.strip()


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize("send", [upload_pack, session])
@pytest.mark.parametrize("version", [0, 2])
async def test_history_that_is_hidden_is_not_deepened(history, ann, send, version):
    _, ids, path = history
    master = (await git("rev-parse", "master", cwd=path)).strip()

    async def ask(shallow):
        capabilities = "" if version == 2 else " side-band-64k shallow"
        lines = [
            want(master, capabilities),
            pkt_line(f"shallow {shallow}\n".encode()),
            pkt_line(b"deepen 2147483647\n"),
        ]
        lines = [*FETCH, *lines, *DONE] if version == 2 else [*lines, b"0000", DONE[0]]
        answer = (await send(ann, *lines, protocol=f"version={version}")).content
        head, _, pack = answer.partition(b"PACK")
        return b"unshallow" in head, int.from_bytes(pack[4:8])

    whole = await ask(NOWHERE)
    assert (whole[0], whole[1] > 0) == (False, True)
    for oid in (await hidden_descendant(path, ids), ids["gone blob"], ids["gone tree"]):
        assert await ask(oid) == whole
    assert (await ask(master))[0]


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize("version", [0, 2])
async def test_a_shallow_clone_becomes_whole(history, ann, tmp_path, version):
    url, _, _ = history
    protocol = ("-c", f"protocol.version={version}")
    await git(*protocol, "clone", "-q", "--depth=1", url, "part", cwd=tmp_path, person=ann)
    part = tmp_path / "part"
    assert await git("rev-list", "--count", "HEAD", cwd=part) == "1\n"
    await git(*protocol, "fetch", "-q", "--unshallow", cwd=part, person=ann)
    assert await git("rev-list", "--count", "HEAD", cwd=part) == "2\n"


async def parts(*chunks):
    for chunk in chunks:
        yield chunk


def cut(whole, size):
    return parts(*(whole[start : start + size] for start in range(0, len(whole), size)))


WANT, SHALLOW = want("A" * 40), pkt_line(b"shallow " + b"b" * 40 + b"\n")
HAVE, HIDDEN_REF = pkt_line(b"have " + b"C" * 40), pkt_line(b"deepen-not refs/scratch/x")


@pytest.mark.parametrize("size", [1, 7, 10_000])
@pytest.mark.parametrize("end", [b"", b"0000", b"0001", b"00"])
async def test_requests_are_read_unchanged_whatever_their_parts(size, end):
    request = FETCH[0] + b"0001" + WANT + SHALLOW + HAVE
    reader = RequestReader(cut(request + b"0000" + b"0000" + request + end, size))
    first, second, third = [await reader.next() for _ in range(3)]
    assert (first.text, first.command, second.text) == (request + b"0000", b"fetch", b"0000")
    assert (third.text, await reader.next()) == (request + end, None)
    for one in (first, third):
        assert (one.wants, one.shallow, one.haves) == ({"a" * 40}, {"b" * 40}, ("c" * 40,))
        assert one.without({"a" * 40}) == one.text
        assert one.without({"b" * 40}) == one.text.replace(SHALLOW, b"")
        assert one.without({"c" * 40}) == one.text.replace(b"C" * 40, b"0" * 40)


@pytest.mark.parametrize("size", [1, 7, 10_000])
@pytest.mark.parametrize("done", [pkt_line(b"done"), pkt_line(b"done\n")])
async def test_requests_of_protocol_0_are_read_up_to_what_is_answered(done, size):
    bodies = [WANT + HIDDEN_REF + b"0000", HAVE + b"0000", SHALLOW + HAVE + done]
    reader = RequestReader(cut(b"".join(bodies), size))
    requests = [await reader.next(), await reader.next(ENDS_OF_HAVES), await reader.next(ENDS_OF_HAVES)]
    assert ([one.text for one in requests], await reader.next()) == (bodies, None)
    whole = await RequestReader(cut(b"".join(bodies), size)).next(())
    assert (whole.text, whole.in_version_0().wants) == (b"".join(bodies), frozenset())
    visible = WANT + pkt_line(b"deepen-not heads/refs/scratch/x") + b"0000" * 2 + SHALLOW + done
    assert whole.without({"a" * 40, "c" * 40}) == visible


@pytest.mark.parametrize("body", [b"zzzz", b"0003", b"want x"])
async def test_what_is_no_packet_is_refused(body):
    with pytest.raises(BodyRefused):
        await RequestReader(parts(body)).next()


@pytest.mark.parametrize(
    "text", [pkt_line(b"command=object-info"), WANT + b"0000", b"0001" + FETCH[0] + b"0000", FETCH[0][:-1]]
)
def test_only_commands_that_are_looked_at_reach_git(text):
    FetchRequest(FETCH[0] + b"0000").require_command()
    FetchRequest(b"0000").require_command()
    with pytest.raises(BodyRefused):
        FetchRequest(text).require_command()


def long_request(tip):
    haves = (pkt_line(f"have {number:040x}\n".encode()) for number in range(MOST_HAVES))
    return b"".join([want(tip, " side-band-64k"), b"0000", *haves, pkt_line(b"done\n")])


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize("send", [upload_pack, session])
async def test_few_requests_at_once_may_be_long(world, history, ann, monkeypatch, send):
    monkeypatch.setattr(fetch_requests, "LONG_REQUEST", 1000)
    tip, long_requests = (
        (await git("rev-parse", "master", cwd=history[2])).strip(),
        world.components.long_requests,
    )
    # In a session of protocol 0 git runs already, for which those wait that have a slot here: so it waits for none.
    long_requests.wait_seconds = 3600.0 if send is session else 0.01
    async with AsyncExitStack() as others, asyncio.timeout(60):
        for _ in range(LongRequests.MOST):
            await others.enter_async_context(long_requests.slot(99, signed_in=True))
        refused = await send(ann, long_request(tip), protocol="version=0")
        assert (b"PACK" in refused.content, b"run here at once" in refused.content) == (False, True)
        assert b"PACK" in (await send(ann, *FETCH, want(tip), *DONE)).content
    assert b"PACK" in (await send(ann, long_request(tip), protocol="version=0")).content
    async with AsyncExitStack() as again:
        for _ in range(LongRequests.MOST):
            await again.enter_async_context(long_requests.slot(99, signed_in=True))


async def test_a_long_request_that_does_not_come_to_its_end_is_refused(monkeypatch):
    monkeypatch.setattr(fetch_requests, "LONG_REQUEST", 1000)
    monkeypatch.setattr(fetch_requests, "LONG_REQUEST_SECONDS", 0.01)
    slots = asyncio.Semaphore(1)

    async def body():
        yield long_request("a" * 40)[:-8]
        await asyncio.Event().wait()

    reader = RequestReader(body(), lambda: slots)
    async with asyncio.timeout(60):
        with pytest.raises(BodyRefused, match="took too long"):
            await reader.next(())
    assert slots.locked()
    await reader.close()
    assert not slots.locked()


async def test_what_is_said_before_the_answer_is_read_up_to_a_limit_and_nothing_of_it_is_lost(monkeypatch):
    monkeypatch.setattr(fetch_requests, "LONG_REQUEST", 1000)
    size, request = 0, FETCH[0] + b"0001" + WANT + b"0000"

    async def body():
        nonlocal size
        while True:
            for part in (request[:9], request[9:]):
                size += len(part)
                yield part

    reader = RequestReader(body())
    assert (await reader.next()).text == request
    await reader.read_on()
    assert 1000 < size - len(request) <= 1000 + len(request)
    for _ in range(50):
        reading = asyncio.create_task(reader.read_on())
        await asyncio.sleep(0)
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        assert (await reader.next()).text == request
    await reader.close()


async def test_of_very_many_haves_few_are_remembered():
    begin, end = want("a" * 40) + b"0000", pkt_line(b"done\n")
    haves = [pkt_line(f"have {number:040x}\n".encode()) for number in range(3 * MOST_HAVES)]
    one = await RequestReader(cut(b"".join([begin, *haves, end]), 10_000)).next(())
    assert one is not None
    assert one.haves == tuple(f"{number:040x}" for number in range(MOST_HAVES))
    visible = b"".join([begin, *haves[:MOST_HAVES], end])
    assert one.without(set()) == visible
    assert one.without(set(one.haves[1:])) == begin + haves[0] + end
