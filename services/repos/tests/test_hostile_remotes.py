"""Remotes that lie, hang, lead elsewhere or send without end: each ends in one of a few texts, and nothing is left."""

import asyncio
import random
import socket
from pathlib import Path

import pytest
import structlog
from remote_world import Remote, advertisement, answering, bare_source, silent, status, wanting
from repos_world import commit, git

from ingot_chassis.egress import Egress, ResolveResult
from ingot_repos.clients.proxy import Proxy
from ingot_repos.core.migrations import TEXTS
from ingot_repos.git.remote import MOST_REFS, Activity, RemoteFailed, advertised
from ingot_repos.git.remote import Remote as Reached


@pytest.fixture
def settings():
    return {"allowed_remotes": ["127.0.0.1"], "remote_idle_seconds": 20, "max_remote_bytes": 3_000_000}


@pytest.fixture
async def remote(tmp_path):
    async with Remote(tmp_path / "remote") as remote:
        yield remote


async def migrate(world, person, url, **more):
    """Try a migration until it has ended; what is told of it."""
    answer = await person.post("/repos/migrate", {"clone_addr": url, "repo_name": "copy", **more})
    assert answer.status_code == 201, answer.text
    table = world.database.metadata.tables["job"]
    while True:
        await world.parts.migrators.step()
        state = (await person.get("/repos/bob/copy/migration")).json()
        if state["status"] not in ("waiting", "running"):
            return state
        async with world.database.transaction() as tx:
            await tx.execute(table.update().values(run_at=table.c.created_at))


async def endless(_method, _target, _headers, writer):
    writer.write(
        b"HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-advertisement\r\n\r\n"
        b"001e# service=git-upload-pack\n0000"
    )
    while True:
        writer.write((b"0040" + b"1" * 40 + b" refs/heads/abcdefgh\n"[:20]) * 1000)
        await writer.drain()


ANSWERS = {
    "unauthorized": status("401 Unauthorized", 'WWW-Authenticate: Basic realm="r"'),
    "not-found": status("404 Not Found"),
    "redirect": status("302 Found", "Location: http://169.254.169.254/latest/meta-data"),
    "no-repository": b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 14\r\n\r\n<html>\nhello\n\n",
    "unreachable": status("503 Unavailable"),
    "too-many-refs": advertisement(b"refs/heads/%06d" % n for n in range(MOST_REFS + 1)),
}


@pytest.mark.parametrize("reason", ANSWERS)
async def test_each_answer_has_its_own_words(world, bob, remote, reason):
    world.settings.max_remote_bytes = 50_000_000
    remote.answer = answering(ANSWERS[reason])
    state = await migrate(world, bob, remote.url())
    assert (state["status"], state["error"]) == ("failed", TEXTS[reason])
    assert (await bob.get("/repos/bob/copy/branches")).status_code == 404
    assert await world.events("repository") == []


async def test_a_redirect_is_not_followed(world, bob, remote, tmp_path):
    async with Remote(tmp_path / "elsewhere") as elsewhere:
        for location in (elsewhere.url(), f"//127.0.0.1:{elsewhere.port}/x", "http://localhost/x"):
            remote.answer = answering(status("301 Moved", f"Location: {location}/info/refs"))
            state = await migrate(world, bob, remote.url(), auth_username="bob", auth_password="p")
            assert state["error"] == TEXTS["redirect"]
            assert (await bob.call("DELETE", "/api/v1/repos/bob/copy")).status_code == 204
        assert elsewhere.requests == []


async def test_wrong_credentials_are_told_from_none(world, bob, remote):
    remote.answer = wanting("bob", "right")
    state = await migrate(world, bob, remote.url(), auth_username="bob", auth_password="wrong")
    assert state["error"] == TEXTS["unauthorized"]
    assert len(remote.requests) < 5


async def test_nobody_listens(world, bob):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        state = await migrate(world, bob, f"http://127.0.0.1:{taken.getsockname()[1]}/x")
    assert state["error"] == TEXTS["unreachable"]


async def test_a_remote_that_says_nothing_is_given_up(world, bob, remote):
    world.settings.remote_idle_seconds = 0.6
    remote.answer = silent
    state = await migrate(world, bob, remote.url())
    assert state["error"] == TEXTS["idle"]


async def test_a_slow_remote_is_waited_for_however_long_it_takes(world, bob, remote, tmp_path):
    world.settings.remote_idle_seconds = 1.5
    work = await bare_source(remote.folder, tmp_path)
    (work / "random").write_bytes(random.randbytes(8000))
    await commit(work)
    await git("push", "-q", "origin", "trunk", cwd=work)
    remote.chunk, remote.pause = 512, 0.2
    assert (await migrate(world, bob, remote.url()))["status"] == "done"
    assert remote.pauses * remote.pause > 2 * world.settings.remote_idle_seconds


async def test_data_without_end_is_cut_off(world, bob, remote):
    remote.answer = endless
    state = await migrate(world, bob, remote.url())
    assert state["error"] in (TEXTS["too-large"], TEXTS["no-repository"])
    assert state["received"] < 4_000_000


async def test_a_repository_above_the_limit_is_not_taken(world, bob, remote, tmp_path):
    world.settings.max_remote_bytes = 50_000
    work = await bare_source(remote.folder, tmp_path)
    (work / "random").write_bytes(random.randbytes(200_000))
    await commit(work)
    await git("push", "-q", "origin", "trunk", cwd=work)
    state = await migrate(world, bob, remote.url())
    assert state["error"] == TEXTS["too-large"]


async def test_a_pack_that_breaks_off_is_no_repository(world, bob, remote, tmp_path):
    work = await bare_source(remote.folder, tmp_path)
    (work / "random").write_bytes(random.randbytes(300_000))
    await commit(work)
    await git("push", "-q", "origin", "trunk", cwd=work)
    remote.cut = 100_000
    state = await migrate(world, bob, remote.url())
    assert state["error"] in (TEXTS["broken"], TEXTS["unreachable"])
    assert not world.parts.storage.exists((await bob.get("/repos/bob/copy")).json()["id"])


async def test_names_that_cannot_be_kept_are_left_out(world, bob, remote, tmp_path):
    work = await bare_source(remote.folder, tmp_path)
    tip = await commit(work)
    await git("push", "-q", "origin", "trunk", cwd=work)
    names = ["-dash", "ünï", "$(id)", "a;b", "'--upload-pack=x'", "x" * 200, "a/b/c", "HEAD"]
    with (remote.folder / "source.git" / "packed-refs").open("ab") as packed:
        for name in [*sorted(name.encode() for name in names), b"\xff\xfe", b"zz..z", b"zz.lock"]:
            packed.write(f"{tip} refs/heads/".encode() + name + b"\n")
    assert (await migrate(world, bob, remote.url()))["status"] == "done"
    kept = {branch["name"] for branch in (await bob.get("/repos/bob/copy/branches")).json()}
    assert kept == {"trunk", "ünï", "$(id)", "a;b", "'--upload-pack=x'", "x" * 200, "a/b/c"}


async def test_an_advertisement_is_judged_name_by_name(remote):
    names = [
        b"refs/heads/ok", b"refs/heads/ok/below", b"refs/heads/../../config", b"refs/heads/-dash", b"refs/heads/HEAD", b"refs/heads/x.lock",
        b"refs/heads/.hidden", b"refs/tags/v1", b"refs/pull/1/head", b"HEAD", b"refs/heads/\x01", b"refs/heads/n\xc3\xa9",
    ]  # fmt: skip
    remote.answer = answering(advertisement(names))
    proxy = Proxy(Egress(["127.0.0.1"], "REMOTES"))
    async with proxy.ticket("127.0.0.1", remote.port, 10**6) as (ticket, port):
        way = Reached(remote.url(), "http", proxy=(port, ticket.name, ticket.token))
        found = await advertised(way, Activity())
    await proxy.close()
    assert set(found.refs) == {"refs/heads/ok", "refs/tags/v1", "refs/heads/né"}


class Names:
    """Resolves every name to the same addresses, which can be exchanged."""

    def __init__(self, *addresses):
        self.addresses = addresses

    async def __call__(self, host, port):
        return [
            ResolveResult(hostname=host, host=address, port=port, family=socket.AF_INET, proto=0, flags=0)
            for address in self.addresses
        ]


@pytest.mark.parametrize(
    ("answers", "requests"),
    [
        (["127.0.0.1"], 1),
        (["127.0.0.1", "10.0.0.1"], 0),
        (["10.0.0.1", "127.0.0.1"], 0),
        (["127.0.0.2"], 0),
        (["::ffff:10.0.0.1"], 0),
    ],
)
async def test_every_answer_for_a_name_is_judged_at_every_connection(remote, tmp_path, answers, requests):
    await bare_source(remote.folder, tmp_path)
    proxy = Proxy(Egress(["127.0.0.1"], "REMOTES"), resolve=Names(*answers))
    async with proxy.ticket("git.example.org", remote.port, 10**6) as (ticket, port):
        way = Reached(remote.url(host="git.example.org"), "http", proxy=(port, ticket.name, ticket.token))
        if requests:
            assert (await advertised(way, Activity())).refs == {}
        else:
            with pytest.raises(RemoteFailed):
                await advertised(way, Activity())
            assert "nothing is sent there" in ticket.refusal
    await proxy.close()
    assert (len(remote.requests) > 0) is bool(requests)


async def test_a_name_that_leads_elsewhere_the_second_time_is_refused(remote, tmp_path):
    """What was fine when the migration was asked for is judged again when git connects."""
    names = Names("127.0.0.1")
    rebinding = Proxy(Egress(["127.0.0.1"], "REMOTES"), resolve=names)
    assert await rebinding.refusal("git.example.org", remote.port) == ""
    await bare_source(remote.folder, tmp_path)
    async with rebinding.ticket("git.example.org", remote.port, 10**6) as (ticket, port):
        way = Reached(remote.url(host="git.example.org"), "http", proxy=(port, ticket.name, ticket.token))
        await advertised(way, Activity())
        seen, names.addresses = len(remote.requests), ["10.0.0.1"]
        with pytest.raises(RemoteFailed):
            await advertised(way, Activity())
    await rebinding.close()
    assert len(remote.requests) == seen


async def test_a_ticket_opens_one_host_and_port_to_who_has_it(remote):
    proxy = Proxy(Egress(["127.0.0.1"], "REMOTES"))
    async with proxy.ticket("127.0.0.1", remote.port, 10**6) as (ticket, port):
        for name, token, host, place in (
            (ticket.name, "wrong", "127.0.0.1", remote.port),
            ("unknown", ticket.token, "127.0.0.1", remote.port),
            (ticket.name, ticket.token, "localhost", remote.port),
            (ticket.name, ticket.token, "127.0.0.1", remote.port + 1),
        ):
            with pytest.raises(RemoteFailed):
                await advertised(
                    Reached(f"http://{host}:{place}/x", "http", proxy=(port, name, token)), Activity()
                )
    await proxy.close()
    assert remote.requests == []


@pytest.mark.parametrize(
    "sent",
    [b"", b"GET / HTTP/1.1\r\n\r\n", b"\x05\x01\x00", b"\x04\x01\x00\x50\x7f\x00\x00\x01\x00", b"\x05\xff"],
)
async def test_the_proxy_closes_on_whoever_speaks_otherwise(remote, sent):
    proxy = Proxy(Egress(["127.0.0.1"], "REMOTES"))
    async with proxy.ticket("127.0.0.1", remote.port, 10**6) as (_ticket, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(sent)
        writer.write_eof()
        assert (await reader.read()) in (b"", b"\x05\xff")
        writer.close()
    await proxy.close()


async def test_ssh_goes_through_the_proxy_and_asks_for_known_hosts(world, bob):
    greeted = []

    async def talk(reader, writer):
        writer.write(b"SSH-2.0-none\r\n")
        greeted.append(await reader.readline())
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    address = f"ssh://git@127.0.0.1:{port}/x.git"
    assert (await bob.post("/repos/migrate", {"clone_addr": address, "repo_name": "copy"})).status_code == 422
    world.settings.known_hosts = "any"
    async with server:
        state = await migrate(world, bob, address, auth_password="s3cret")
    assert (state["status"], state["error"]) == ("failed", TEXTS["unreachable"])
    assert greeted[0].startswith(b"SSH-2.0-OpenSSH")


async def test_a_password_is_nowhere_to_be_found(world, bob, remote, capfd):
    """Neither on disk nor in logs, answers, events, arguments or environments, while it is used and afterwards."""
    canary = "Kanarienvogel-7f3a"
    structlog.reset_defaults()

    async def hang_when_known(method, target, headers, writer):
        if "authorization" in headers:
            await silent()
        return await wanting("bob", canary)(method, target, headers, writer)

    remote.answer = hang_when_known
    answers = [
        await bob.post(
            "/repos/migrate",
            {
                "clone_addr": remote.url(),
                "repo_name": "copy",
                "auth_username": "bob",
                "auth_password": canary,
            },
        )
    ]
    working = asyncio.create_task(world.parts.migrators.step())
    while not any("authorization" in headers for _, _, headers in remote.requests):
        await asyncio.sleep(0.01)
    shown = []
    for process in Path("/proc").glob("[0-9]*"):  # noqa: ASYNC240
        for name in ("cmdline", "environ"):
            try:
                shown.append((process / name).read_bytes())
            except OSError:
                continue
    assert any(b"git" in text and b"ls-remote" in text for text in shown)
    answers += [await bob.get("/repos/bob/copy/migration"), await bob.get("/repos/bob/copy")]
    world.settings.remote_idle_seconds = 0.1
    await working
    answers += [await bob.get("/repos/bob/copy/migration"), await bob.get("/repos/bob/copy")]
    for table in world.database.metadata.tables:
        shown += [repr(tuple(row)).encode() for row in await world.rows(table)]
    shown += [answer.text.encode() + repr(answer.headers).encode() for answer in answers]
    shown += [path.read_bytes() for path in world.folder.rglob("*") if path.is_file()]
    shown += [text.encode() for text in capfd.readouterr()]
    assert not [text for text in shown if canary.encode() in text]
