"""The LFS server of a remote: what it may answer, which addresses are reached, who gets secrets."""

import socket
from contextlib import asynccontextmanager

import pytest

from ingot_chassis.security.egress import Egress, ResolveResult
from ingot_chassis.security.own_servers import OwnServers, Server
from ingot_remotes.connections.lfs import MOST_REDIRECTS, LfsRemoteFailed, open_lfs_remote
from ingot_testing.non_empty import non_empty

from ..lfs_client import FILE, oid_of
from ..lfs_remote import LfsServer, redirect, response
from ..remote_world import Remote

SIZES = {oid_of(FILE): len(FILE)}
SECRETS = ("bob", "hunter2")
BASIC = "Basic Ym9iOmh1bnRlcjI="


@asynccontextmanager
async def lfs_server(tmp_path, host="127.0.0.1"):
    async with Remote(tmp_path / host, host=host) as remote:
        remote.answer = LfsServer(remote, FILE)
        yield remote.answer


@pytest.fixture
async def lfs(tmp_path):
    async with lfs_server(tmp_path) as lfs:
        yield lfs


@pytest.fixture
async def other(tmp_path):
    """Another host, with the same object."""
    async with lfs_server(tmp_path, "127.0.0.2") as other:
        yield other


def client(lfs, *, url="", allowed=("127.0.0.1",), own=(), **more):
    egress, home = Egress(allowed, "REMOTES"), lfs.remote.url()
    return open_lfs_remote(
        url or lfs.remote.url("lfs/"),
        egress,
        OwnServers(own),
        home=home,
        secrets=SECRETS,
        count=lambda _: None,
        **more,
    )


async def content(client):
    async with client as remote:
        (action,) = (await remote.batch(SIZES)).values()
        return b"".join([chunk async for chunk in remote.download(action)])


async def fault(client):
    with pytest.raises(LfsRemoteFailed) as failure:
        await content(client)
    return failure.value.fault


async def test_no_object_comes_from_a_server_of_ingot(lfs):
    assert await content(client(lfs)) == FILE
    requests = len(lfs.remote.requests)
    assert await fault(client(lfs, own=[Server("localhost", lfs.remote.port)])) == "address"
    assert len(lfs.remote.requests) == requests


BATCHES = [
    (response(b"{}", "404 Not Found"), "failed"),
    (response(b"{}", "403 Forbidden"), "unauthorized"),
    (response(b"{}", "503 Busy"), "unreachable"),
    (response(b"", "301 Moved", "Location: http://127.0.0.1/"), "redirect"),
    (response(b'{"message": "secret"}'), "failed"),
    (response(b'{"objects": [], "x": ' + b"[" * 100_000), "failed"),
    (response(b'{"objects": [], "transfer": "tus"}'), "failed"),
    (response(b" " * (4 * 1024 * 1024 + 1)), "failed"),
    (b"no HTTP\r\n\r\n", "failed"),
]


async def test_whatever_the_server_answers_is_one_of_the_faults(lfs):
    for answer, expected in BATCHES:
        lfs.batch = answer
        assert (answer[:100], await fault(client(lfs))) == (answer[:100], expected)


async def test_whatever_comes_in_place_of_an_object_is_one_of_the_faults(lfs):
    for answer, expected in [
        (response(b"", "404 Not Found"), "missing"),
        (response(b"", "500 Error"), "unreachable"),
        (response(b"", "302 Found"), "failed"),
        (redirect("file:///etc/passwd"), "failed"),
        (response(FILE)[:-1], "unreachable"),
    ]:
        lfs.download = answer
        assert (answer[:100], await fault(client(lfs))) == (answer[:100], expected)


async def test_objects_that_the_server_does_not_have_are_left_out(lfs):
    async with client(lfs) as remote:
        assert list(await remote.batch(SIZES | {"a" * 64: 1})) == list(SIZES)


async def test_an_object_at_a_private_address_is_not_fetched(lfs, other):
    for href in ("http://10.0.0.1/x", other.remote.url(), f"http://[::1]:{lfs.remote.port}/x"):
        lfs.href = lambda _, href=href: href
        assert await fault(client(lfs)) == "address"
    lfs.href, lfs.download = (lambda _: lfs.remote.url("lfs/x")), redirect(other.remote.url())
    assert await fault(client(lfs)) == "address"
    assert other.remote.requests == []


async def test_each_connection_judges_the_addresses_of_a_name_again(lfs):
    """They are asked for before each request, and again when it connects."""
    looks = []

    async def resolve(host, port):
        looks.append(host)
        address = "127.0.0.1" if len(looks) < 4 else "10.0.0.1"
        return [
            ResolveResult(hostname=host, host=address, port=port, family=socket.AF_INET, proto=0, flags=0)
        ]

    url = f"http://git.example.org:{lfs.remote.port}/"
    lfs.href = lambda oid: f"{url}lfs/{oid}"
    assert await fault(client(lfs, url=url, resolve=resolve)) == "address"
    assert (len(looks), len(lfs.batches), lfs.downloads) == (4, 1, [])


async def test_redirects_end(lfs):
    lfs.download = redirect("/lfs/again")
    assert await fault(client(lfs)) == "redirect"
    assert len(lfs.downloads) == MOST_REDIRECTS + 1


async def test_the_remote_gets_its_credentials_and_another_host_does_not(lfs, other):
    both = ("127.0.0.0/8",)
    assert await content(client(lfs)) == FILE
    assert {headers["authorization"] for headers in lfs.headers.values()} == {BASIC}
    lfs.href = other.href
    assert await content(client(lfs, allowed=both)) == FILE
    assert await content(client(lfs, allowed=both, url=other.remote.url("lfs"))) == FILE
    assert all("authorization" not in headers for headers in non_empty(other.headers.values()))


async def test_the_headers_of_an_object_stay_with_its_host(lfs, other):
    lfs.header = {"Authorization": "of the object", "Host": "elsewhere"}
    lfs.download = redirect(other.href(oid_of(FILE)))
    assert await content(client(lfs, allowed=("127.0.0.0/8",))) == FILE
    sent = lfs.headers["download"]
    assert (sent["authorization"], sent["host"]) == ("of the object", f"127.0.0.1:{lfs.remote.port}")
    assert "authorization" not in other.headers["download"]
