"""Connections to addresses that were checked before, and to no others."""

import socket
import ssl
from collections.abc import Sequence

import aiohttp
from aiohttp.abc import AbstractResolver
from aiohttp.abc import ResolveResult as AiohttpResult

from ingot_chassis.security.egress import ResolveResult


class CheckedAddresses(AbstractResolver):
    """A resolver that returns the checked addresses for every host name."""

    def __init__(self, addresses: Sequence[ResolveResult]) -> None:
        self._addresses = addresses

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[AiohttpResult]:
        del host, port, family
        return [AiohttpResult(**address) for address in self._addresses]

    async def close(self) -> None:
        """Do nothing, because the resolver holds no resources."""


def checked_connector(addresses: Sequence[ResolveResult], tls: ssl.SSLContext) -> aiohttp.TCPConnector:
    return aiohttp.TCPConnector(
        resolver=CheckedAddresses(addresses), use_dns_cache=False, ssl=tls, force_close=True
    )
