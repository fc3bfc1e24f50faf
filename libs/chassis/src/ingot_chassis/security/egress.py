"""Where this process may connect to on behalf of a user: public addresses, and what the operator allows beyond.

A name is resolved once, every address that it has is judged, because any of them may be connected to, and only
those addresses are used.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypedDict

import msgspec

from ingot_chassis.settings import SettingsError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

NEVER: tuple[Network, ...] = (
    # They look public and are not: protocol assignments, the 6to4 relays, what a cloud's host tells its guests.
    ipaddress.IPv4Network("192.0.0.0/24"),
    ipaddress.IPv4Network("192.88.99.0/24"),
    ipaddress.IPv4Network("168.63.129.16/32"),
    # They carry an IPv4 address, which may be any: NAT64, 6to4, Teredo.
    ipaddress.IPv6Network("64:ff9b::/96"),
    ipaddress.IPv6Network("64:ff9b:1::/48"),
    ipaddress.IPv6Network("2002::/16"),
    ipaddress.IPv6Network("2001::/32"),
)

WEB = (80, 443)


class ResolveResult(TypedDict):
    """One address of a host, in the shape that aiohttp takes."""

    hostname: str
    host: str
    port: int
    family: int
    proto: int
    flags: int


Resolve = Callable[[str, int], Awaitable[list[ResolveResult]]]
"""``(host, port)``: every address of the host. Raises OSError."""

LookUp = Callable[[str], Awaitable[list[Any]]]
"""``(host)``: what ``socket.getaddrinfo`` lists of it. Raises OSError."""


class _Entry(msgspec.Struct, frozen=True):
    """What the operator allows: a network, a host, or all hosts below a domain; at any port, or at one."""

    network: Network | None = None
    host: str = ""
    domain: str = ""
    port: int | None = None


class Egress:
    """The rule of one service: ``setting`` is the variable that ``allowed`` comes from, ``ports`` those of the public.

    Raises SettingsError for an entry that cannot be read.
    """

    def __init__(self, allowed: Sequence[str], setting: str, *, ports: Sequence[int] = WEB) -> None:
        self._setting, self._ports = setting, ports
        self._entries: list[_Entry] = []
        for text in allowed:
            entry = _read_entry(text.strip().lower())
            if entry is None:
                message = f"{setting}: {text!r} is no network, address or host name, with or without a port"
                raise SettingsError([message])
            self._entries.append(entry)

    def refusal(self, host: str, port: int, addresses: Sequence[str]) -> str:
        """Why nothing may be sent to ``host`` with these addresses, in words; empty when it may.

        What the operator names may be reached at its port, or at any if the entry has none; anything else at the
        public ports. The words name no address: where the names of a network point to is not for everybody.
        """
        name = host.lower().rstrip(".")
        entries = [entry for entry in self._entries if entry.port in (None, port)]
        if any(name == entry.host or (entry.domain and name.endswith(entry.domain)) for entry in entries):
            return ""
        networks = [entry.network for entry in entries if entry.network is not None]
        for text in addresses:
            address = ipaddress.ip_address(text)
            if _in_one_of(networks, unmapped(address)):
                continue
            if kind := _private_kind(address):
                return f"{host} is {kind}; nothing is sent there unless {self._setting} names it"
            if port not in self._ports:
                public = ", ".join(map(str, self._ports))
                return (
                    f"port {port} of {host} is none of {public}; nothing is sent there unless "
                    f"{self._setting} names the host"
                )
        return ""


def _read_entry(text: str) -> _Entry | None:
    """None when it cannot be read. An IPv6 address with a port is in brackets."""
    network = _network(text)
    if network is not None:
        return _Entry(network=network)
    name, colon, digits = text.rpartition(":")
    if not colon:
        name, port = text, None
    elif digits.isascii() and digits.isdigit() and 0 < int(digits) < 65536:
        port = int(digits)
    else:
        return None
    network = _network(name.removeprefix("[").removesuffix("]") if name.startswith("[") else name)
    if network is not None:
        return _Entry(network=network, port=port)
    if not name or any(char in name for char in "/:[] "):
        return None
    return _Entry(domain=name[1:], port=port) if name.startswith("*.") else _Entry(host=name, port=port)


def _network(text: str) -> Network | None:
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        return None


def _in_one_of(networks: Sequence[Network], address: Address) -> bool:
    return any(address.version == network.version and address in network for network in networks)


def unmapped(address: Address) -> Address:
    """The IPv4 address behind ``::ffff:a.b.c.d``; an IPv6 address without its zone."""
    if isinstance(address, ipaddress.IPv6Address):
        return address.ipv4_mapped or ipaddress.IPv6Address(int(address))
    return address


def _private_kind(address: Address) -> str:
    """What keeps an address from being public, in words; empty for a public one."""
    bare = unmapped(address)
    kinds = (
        (bare.is_unspecified, "an address that means this machine"),
        (bare.is_loopback, "a loopback address"),
        (bare.is_link_local, "a link-local address"),
        (bare.is_multicast, "a multicast address"),
        (isinstance(bare, ipaddress.IPv6Address) and bare.is_site_local, "a private address"),
        (_in_one_of(NEVER, bare), "an address that is mapped to another one"),
        (bare.is_private, "a private address"),
        (bare.is_reserved or not bare.is_global, "a reserved address"),
    )
    return next((words for applies, words in kinds if applies), "")


async def resolve_host(host: str, port: int, *, look_up: LookUp | None = None) -> list[ResolveResult]:
    """Every address of ``host``, as ``Resolve`` says. Names are looked up by the event loop, or else by ``look_up``."""
    if _is_address(host):
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return [ResolveResult(hostname=host, host=host, port=port, family=family, proto=0, flags=0)]
    if look_up is not None:
        addresses = await look_up(host)
    else:
        addresses = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [
        ResolveResult(
            hostname=host,
            host=str(address[0]),
            port=port,
            family=family,
            proto=protocol,
            flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
        )
        for family, _, protocol, _, address in addresses
        if family in (socket.AF_INET, socket.AF_INET6)
    ]


def _is_address(host: str) -> bool:
    """Whether ``host`` is an address in its one plain spelling, so that there is nothing to look up."""
    try:
        return str(ipaddress.ip_address(host)) == host
    except ValueError:
        return False
