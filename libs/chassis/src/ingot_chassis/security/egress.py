"""Egress rules for requests on behalf of users: public addresses, and addresses that the operator allows.

A name is resolved once. All its addresses are checked, because any of them may be used for the connection.
Only these addresses are used.
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
    # Not public in spite of their range: protocol assignments, 6to4 relays, a cloud's host service for its
    # guests.
    ipaddress.IPv4Network("192.0.0.0/24"),
    ipaddress.IPv4Network("192.88.99.0/24"),
    ipaddress.IPv4Network("168.63.129.16/32"),
    # They embed an arbitrary IPv4 address: NAT64, 6to4, Teredo.
    ipaddress.IPv6Network("64:ff9b::/96"),
    ipaddress.IPv6Network("64:ff9b:1::/48"),
    ipaddress.IPv6Network("2002::/16"),
    ipaddress.IPv6Network("2001::/32"),
)

WEB = (80, 443)


class ResolveResult(TypedDict):
    """One address of a host, in the form that aiohttp expects."""

    hostname: str
    host: str
    port: int
    family: int
    proto: int
    flags: int


Resolve = Callable[[str, int], Awaitable[list[ResolveResult]]]
"""A function ``(host, port)`` that returns every address of the host. Raises OSError."""

LookUp = Callable[[str], Awaitable[list[Any]]]
"""A function ``(host)`` that returns the list of ``socket.getaddrinfo``. Raises OSError."""


class _Entry(msgspec.Struct, frozen=True):
    """An allowed target: a network, a host, or all hosts below a domain. It may be limited to one port."""

    network: Network | None = None
    host: str = ""
    domain: str = ""
    port: int | None = None


class Egress:
    """The egress rule of one service.

    ``setting`` is the name of the variable with ``allowed``. ``ports`` are the allowed ports of public
    addresses. Raises SettingsError for an invalid entry.
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
        """Return the reason why requests to ``host`` with these addresses are denied; empty if allowed.

        Targets that the operator allows may be reached at the port of the entry. An entry without a port
        allows any port. Other targets may be reached at the public ports. The text contains no address,
        because addresses of internal names are confidential.
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
    """Return the entry, or None if it is invalid. An IPv6 address with a port is in brackets."""
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
    """Return the IPv4 address in ``::ffff:a.b.c.d``. Return other IPv6 addresses without their zone."""
    if isinstance(address, ipaddress.IPv6Address):
        return address.ipv4_mapped or ipaddress.IPv6Address(int(address))
    return address


def _private_kind(address: Address) -> str:
    """Return the reason why an address is not public; empty for a public address."""
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
    """Return every address of ``host``. ``look_up`` replaces the event loop's resolver. Raises OSError."""
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
    """Return whether ``host`` is an address in its canonical spelling, which needs no resolution."""
    try:
        return str(ipaddress.ip_address(host)) == host
    except ValueError:
        return False
