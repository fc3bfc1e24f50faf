"""Remotes that lie, hang, redirect or send without end: each gives a known error, and leaves no files."""

import asyncio
import random
import socket
from pathlib import Path

import pytest
import structlog

from ingot_chassis.security.egress import Egress
from ingot_chassis.security.own_servers import OwnServers
from ingot_git.remote.remote import MAX_REFS, FetchProgress, list_remote_refs
from ingot_git.remote.remote import Remote as Reached
from ingot_remotes.connections.socks_proxy import SocksProxy
from ingot_repos.remotes.rules.reasons import REASON_TEXTS

from ..remote_world import Remote, advertisement, answering, bare_source, silent, status, wanting
from ..world import commit, git


@pytest.fixture
def settings():
    return {"allowed_remotes": ["127.0.0.1"], "remote_idle_seconds": 20, "max_remote_bytes": 3_000_000}


@pytest.fixture
async def remote(tmp_path):
    async with Remote(tmp_path / "remote") as remote:
        yield remote


async def migrate(world, person, url, **more):
    """Try an import until it has ended; how the API shows it."""
    answer = await person.post("/repos/migrate", {"clone_addr": url, "repo_name": "copy", **more})
    assert answer.status_code == 201, answer.text
    table = world.database.metadata.tables["job"]
    while True:
        await world.components.import_workers.step()
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
    "not-found": status("404 Not ResolvedRepository"),
    "redirect": status("302 ResolvedRepository", "Location: http://169.254.169.254/latest/meta-data"),
    "no-repository": (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 14\r\n\r\n<html>\nhello\n\n"
    ),
    "unreachable": status("503 Unavailable"),
    "too-many-refs": advertisement(b"refs/heads/%06d" % n for n in range(MAX_REFS + 1)),
}


@pytest.mark.parametrize("reason", ANSWERS)
async def test_each_answer_has_its_own_words(world, bob, remote, reason):
    world.settings.max_remote_bytes = 50_000_000
    remote.answer = answering(ANSWERS[reason])
    state = await migrate(world, bob, remote.url())
    assert (state["status"], state["error"]) == ("failed", REASON_TEXTS[reason])
    assert (await bob.get("/repos/bob/copy/branches")).status_code == 404
    assert await world.events("repository") == []


async def test_a_redirect_is_not_followed(world, bob, remote, tmp_path):
    async with Remote(tmp_path / "elsewhere") as other_remote:
        for location in (other_remote.url(), f"//127.0.0.1:{other_remote.port}/x", "http://localhost/x"):
            remote.answer = answering(status("301 Moved", f"Location: {location}/info/refs"))
            state = await migrate(world, bob, remote.url(), auth_username="bob", auth_password="p")
            assert state["error"] == REASON_TEXTS["redirect"]
            assert (await bob.call("DELETE", "/api/v1/repos/bob/copy")).status_code == 204
        assert other_remote.requests == []


async def test_wrong_credentials_have_a_reason_of_their_own(world, bob, remote):
    remote.answer = wanting("bob", "right")
    state = await migrate(world, bob, remote.url(), auth_username="bob", auth_password="wrong")
    assert state["error"] == REASON_TEXTS["unauthorized"]
    assert len(remote.requests) < 5


async def test_nobody_listens(world, bob):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        state = await migrate(world, bob, f"http://127.0.0.1:{taken.getsockname()[1]}/x")
    assert state["error"] == REASON_TEXTS["unreachable"]


async def test_a_remote_that_says_nothing_is_given_up(world, bob, remote):
    world.settings.remote_idle_seconds = 0.6
    remote.answer = silent
    state = await migrate(world, bob, remote.url())
    assert state["error"] == REASON_TEXTS["idle"]


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
    assert state["error"] in (REASON_TEXTS["too-large"], REASON_TEXTS["no-repository"])
    assert state["received"] < 4_000_000


async def test_a_repository_above_the_limit_is_not_taken(world, bob, remote, tmp_path):
    world.settings.max_remote_bytes = 50_000
    work = await bare_source(remote.folder, tmp_path)
    (work / "random").write_bytes(random.randbytes(200_000))
    await commit(work)
    await git("push", "-q", "origin", "trunk", cwd=work)
    state = await migrate(world, bob, remote.url())
    assert state["error"] == REASON_TEXTS["too-large"]


async def test_a_pack_that_breaks_off_is_no_repository(world, bob, remote, tmp_path):
    work = await bare_source(remote.folder, tmp_path)
    (work / "random").write_bytes(random.randbytes(300_000))
    await commit(work)
    await git("push", "-q", "origin", "trunk", cwd=work)
    remote.cut = 100_000
    state = await migrate(world, bob, remote.url())
    assert state["error"] in (REASON_TEXTS["broken"], REASON_TEXTS["unreachable"])
    assert not world.components.storage.exists((await bob.get("/repos/bob/copy")).json()["id"])


async def test_names_that_cannot_be_kept_are_left_out(world, bob, remote, tmp_path):
    work = await bare_source(remote.folder, tmp_path)
    tip = await commit(work)
    await git("push", "-q", "origin", "trunk", cwd=work)
    names = ["-dash", "ünï", "$(id)", "a;b", "'--upload-pack=x'", "x" * 200, "a/b/c", "HEAD"]
    with (remote.folder / "source.git" / "packed-refs").open("ab") as packed:
        for name in [*sorted(name.encode() for name in names), b"\xff\xfe", b"zz..z", b"zz.lock"]:
            packed.write(f"{tip} refs/heads/".encode() + name + b"\n")
    assert (await migrate(world, bob, remote.url()))["status"] == "done"
    branch_names = {branch["name"] for branch in (await bob.get("/repos/bob/copy/branches")).json()}
    assert branch_names == {"trunk", "ünï", "$(id)", "a;b", "'--upload-pack=x'", "x" * 200, "a/b/c"}


async def test_an_advertisement_is_judged_name_by_name(remote):
    names = [
        b"refs/heads/ok", b"refs/heads/ok/below", b"refs/heads/../../config", b"refs/heads/-dash",
        b"refs/heads/HEAD", b"refs/heads/x.lock",
        b"refs/heads/.hidden", b"refs/tags/v1", b"refs/pull/1/head", b"HEAD", b"refs/heads/\x01",
        b"refs/heads/n\xc3\xa9",
    ]  # fmt: skip
    remote.answer = answering(advertisement(names))
    proxy = SocksProxy(Egress(["127.0.0.1"], "REMOTES"), OwnServers([]))
    async with proxy.ticket("127.0.0.1", remote.port, 10**6) as (ticket, port):
        way = Reached(remote.url(), "http", proxy=(port, ticket.name, ticket.token))
        offer = await list_remote_refs(way, FetchProgress())
    await proxy.close()
    assert set(offer.refs) == {"refs/heads/ok", "refs/tags/v1", "refs/heads/né"}


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
    assert (state["status"], state["error"]) == ("failed", REASON_TEXTS["unreachable"])
    assert greeted[0].startswith(b"SSH-2.0-OpenSSH")


async def test_a_password_is_nowhere_to_be_found(world, bob, remote, capfd):
    """The password is not on disk or in logs, responses, events, arguments or environments, during its use or
    after."""
    canary = "Kanarienvogel-7f3a"
    structlog.reset_defaults()

    async def hang_after_offer(method, target, headers, writer):
        if "authorization" in headers:
            await silent()
        return await wanting("bob", canary)(method, target, headers, writer)

    remote.answer = hang_after_offer
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
    working = asyncio.create_task(world.components.import_workers.step())
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
