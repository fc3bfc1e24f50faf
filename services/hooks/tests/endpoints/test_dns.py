"""Hosts are resolved without delaying each other."""

import asyncio
import socket
import threading

import pytest

from ingot_hooks.endpoints.clients.dns import HostResolver

ADDRESSES = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("192.0.2.1", 0))]


class NameServers:
    """Answers at once, for a host that begins with "silent" only after ``speak``."""

    def __init__(self) -> None:
        self.hosts: list[str] = []
        self.speak = threading.Event()

    def __call__(self, host: str) -> list[tuple[object, ...]]:
        self.hosts.append(host)
        if host.startswith("silent"):
            self.speak.wait()
        if host == "silent.nowhere":
            raise socket.gaierror("no such name")
        return ADDRESSES


async def test_a_silent_host_is_resolved_once_and_delays_no_other():
    servers = NameServers()
    resolver = HostResolver(servers)
    waiting = [asyncio.create_task(resolver.look_up("silent.example.org")) for _ in range(50)]
    many = [asyncio.create_task(resolver.look_up(f"silent{n}.example.org")) for n in range(50)]
    assert await resolver.look_up("quick.example.org") == ADDRESSES
    assert servers.hosts.count("silent.example.org") == 1
    servers.speak.set()
    assert await asyncio.gather(*waiting, *many) == [ADDRESSES] * 100
    assert await resolver.look_up("silent.example.org") == ADDRESSES
    assert servers.hosts.count("silent.example.org") == 2
    resolver.close()


async def test_a_cancelled_lookup_does_not_cancel_another_of_the_same_host():
    servers = NameServers()
    resolver = HostResolver(servers)
    impatient, patient = (asyncio.create_task(resolver.look_up("silent.example.org")) for _ in range(2))
    await asyncio.sleep(0)
    impatient.cancel()
    await asyncio.gather(impatient, return_exceptions=True)
    servers.speak.set()
    assert await patient == ADDRESSES
    resolver.close()


async def test_an_unknown_host_is_an_error_for_all_who_wait():
    servers = NameServers()
    resolver = HostResolver(servers)
    asking = [asyncio.create_task(resolver.look_up("silent.nowhere")) for _ in range(3)]
    await asyncio.sleep(0)
    servers.speak.set()
    for each in await asyncio.gather(*asking, return_exceptions=True):
        assert isinstance(each, OSError)
    with pytest.raises(ValueError, match="label"):
        await HostResolver().look_up("a" * 300)
    resolver.close()
