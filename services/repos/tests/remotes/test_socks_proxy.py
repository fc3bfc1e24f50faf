"""The proxy between git and remotes: every address is checked, and a ticket opens one host and port."""

import asyncio
import socket

import pytest

from ingot_chassis.security.egress import Egress, ResolveResult
from ingot_chassis.security.own_servers import OwnServers, Server
from ingot_git.remote.remote import FetchProgress, RemoteFailed, list_remote_refs
from ingot_git.remote.remote import Remote as Reached
from ingot_remotes.connections.socks_proxy import SocksProxy

from ..remote_world import Remote, bare_source


@pytest.fixture
async def remote(tmp_path):
    async with Remote(tmp_path / "remote") as remote:
        yield remote


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
    proxy = SocksProxy(Egress(["127.0.0.1"], "REMOTES"), OwnServers([]), resolve=Names(*answers))
    async with proxy.ticket("git.example.org", remote.port, 10**6) as (ticket, port):
        way = Reached(remote.url(host="git.example.org"), "http", proxy=(port, ticket.name, ticket.token))
        if requests:
            assert (await list_remote_refs(way, FetchProgress())).refs == {}
        else:
            with pytest.raises(RemoteFailed):
                await list_remote_refs(way, FetchProgress())
            assert "nothing is sent there" in ticket.refusal
    await proxy.close()
    assert (len(remote.requests) > 0) is bool(requests)


async def test_a_name_that_leads_elsewhere_the_second_time_is_refused(remote, tmp_path):
    """An address that was allowed at the request of the import is checked again when git connects."""
    names = Names("127.0.0.1")
    rebinding = SocksProxy(Egress(["127.0.0.1"], "REMOTES"), OwnServers([]), resolve=names)
    assert await rebinding.refusal("git.example.org", remote.port) == ""
    await bare_source(remote.folder, tmp_path)
    async with rebinding.ticket("git.example.org", remote.port, 10**6) as (ticket, port):
        way = Reached(remote.url(host="git.example.org"), "http", proxy=(port, ticket.name, ticket.token))
        await list_remote_refs(way, FetchProgress())
        requests_before, names.addresses = len(remote.requests), ["10.0.0.1"]
        with pytest.raises(RemoteFailed):
            await list_remote_refs(way, FetchProgress())
    await rebinding.close()
    assert len(remote.requests) == requests_before


async def test_a_ticket_opens_one_host_and_port_to_who_has_it(remote):
    proxy = SocksProxy(Egress(["127.0.0.1"], "REMOTES"), OwnServers([]))
    async with proxy.ticket("127.0.0.1", remote.port, 10**6) as (ticket, port):
        for name, token, host, number in (
            (ticket.name, "wrong", "127.0.0.1", remote.port),
            ("unknown", ticket.token, "127.0.0.1", remote.port),
            (ticket.name, ticket.token, "localhost", remote.port),
            (ticket.name, ticket.token, "127.0.0.1", remote.port + 1),
        ):
            with pytest.raises(RemoteFailed):
                await list_remote_refs(
                    Reached(f"http://{host}:{number}/x", "http", proxy=(port, name, token)), FetchProgress()
                )
    await proxy.close()
    assert remote.requests == []


@pytest.mark.parametrize(
    "sent",
    [b"", b"GET / HTTP/1.1\r\n\r\n", b"\x05\x01\x00", b"\x04\x01\x00\x50\x7f\x00\x00\x01\x00", b"\x05\xff"],
)
async def test_the_proxy_closes_on_whoever_speaks_otherwise(remote, sent):
    proxy = SocksProxy(Egress(["127.0.0.1"], "REMOTES"), OwnServers([]))
    async with proxy.ticket("127.0.0.1", remote.port, 10**6) as (_ticket, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(sent)
        writer.write_eof()
        assert (await reader.read()) in (b"", b"\x05\xff")
        writer.close()
    await proxy.close()


async def test_no_server_of_ingot_is_reached_whatever_is_allowed(remote, tmp_path):
    await bare_source(remote.folder, tmp_path)
    own = OwnServers([Server("localhost", remote.port)])
    proxy = SocksProxy(Egress(["127.0.0.0/8"], "REMOTES"), own, resolve=Names("127.0.0.2"))
    assert "is one of Ingot's own" in await proxy.refusal("git.example.org", remote.port)
    async with proxy.ticket("git.example.org", remote.port, 10**6) as (ticket, port):
        way = Reached(remote.url(host="git.example.org"), "http", proxy=(port, ticket.name, ticket.token))
        with pytest.raises(RemoteFailed):
            await list_remote_refs(way, FetchProgress())
        assert "is one of Ingot's own" in ticket.refusal
    await proxy.close()
    assert remote.requests == []
