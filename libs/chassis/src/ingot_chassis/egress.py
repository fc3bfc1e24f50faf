"""Where this process may connect to on behalf of a user: public addresses, and what the operator allows beyond.

A name is resolved once, every address that it has is judged, because any of them may be connected to, and only
those addresses are used.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypedDict

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


class Egress:
    """The rule of one service: ``setting`` is the variable that ``allowed`` comes from, ``ports`` those of the public.

    Raises SettingsError for an entry that cannot be read.
    """

    def __init__(self, allowed: Sequence[str], setting: str, *, ports: Sequence[int] = WEB) -> None:
        self._setting, self._ports = setting, ports
        self._networks: list[Network] = []
        self._hosts: set[str] = set()
        self._domains: list[str] = []
        for entry in allowed:
            self._allow(entry.strip().lower())

    def _allow(self, entry: str) -> None:
        try:
            self._networks.append(ipaddress.ip_network(entry, strict=False))
        except ValueError:
            if not entry or "/" in entry or ":" in entry:
                raise SettingsError(
                    [f"{self._setting}: {entry!r} is no network, address or host name"]
                ) from None
            if entry.startswith("*."):
                self._domains.append(entry[1:])
            else:
                self._hosts.add(entry)

    def refusal(self, host: str, port: int, addresses: Sequence[str]) -> str:
        """Why nothing may be sent to ``host`` with these addresses, in words; empty when it may.

        What the operator names may be reached at any port, anything else at the public ones.
        """
        name = host.lower().rstrip(".")
        if name in self._hosts or any(name.endswith(domain) for domain in self._domains):
            return ""
        for text in addresses:
            address = ipaddress.ip_address(text)
            kind = _private_kind(address)
            if self._allows(address):
                continue
            if kind:
                return f"{host} is {address}, {kind}; nothing is sent there unless {self._setting} names it"
            if port not in self._ports:
                public = ", ".join(map(str, self._ports))
                return (
                    f"port {port} of {host} is none of {public}; nothing is sent there unless "
                    f"{self._setting} names the host"
                )
        return ""

    def _allows(self, address: Address) -> bool:
        return _in_one_of(self._networks, _unmapped(address))


def _in_one_of(networks: Sequence[Network], address: Address) -> bool:
    return any(address.version == network.version and address in network for network in networks)


def _unmapped(address: Address) -> Address:
    """The IPv4 address behind ``::ffff:a.b.c.d``; an IPv6 address without its zone."""
    if isinstance(address, ipaddress.IPv6Address):
        return address.ipv4_mapped or ipaddress.IPv6Address(int(address))
    return address


def _private_kind(address: Address) -> str:
    """What keeps an address from being public, in words; empty for a public one."""
    bare = _unmapped(address)
    kinds = (
        (bare.is_unspecified, "an address that means this machine"),
        (bare.is_loopback, "a loopback address"),
        (bare.is_link_local, "a link-local address"),
        (bare.is_multicast, "a multicast address"),
        (isinstance(bare, ipaddress.IPv6Address) and bare.is_site_local, "a private address"),
        (_in_one_of(NEVER, bare), "an address that leads to places of its own"),
        (bare.is_private, "a private address"),
        (bare.is_reserved or not bare.is_global, "a reserved address"),
    )
    return next((words for applies, words in kinds if applies), "")


async def resolved(host: str, port: int, *, look_up: LookUp | None = None) -> list[ResolveResult]:
    """Every address of ``host``, as ``Resolve`` says. Names are looked up by the event loop, or else by ``look_up``."""
    if _is_address(host):
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return [ResolveResult(hostname=host, host=host, port=port, family=family, proto=0, flags=0)]
    if look_up is not None:
        found = await look_up(host)
    else:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [
        ResolveResult(
            hostname=host,
            host=str(address[0]),
            port=port,
            family=family,
            proto=protocol,
            flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
        )
        for family, _, protocol, _, address in found
        if family in (socket.AF_INET, socket.AF_INET6)
    ]


def _is_address(host: str) -> bool:
    """Whether ``host`` is an address in its one plain spelling, so that there is nothing to look up."""
    try:
        return str(ipaddress.ip_address(host)) == host
    except ValueError:
        return False
