"""Resolves host names in its own threads, so a silent name server delays no other work."""

import asyncio
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

MAX_THREADS = 256

AddressInfo = tuple[Any, ...]
"""The items that ``socket.getaddrinfo`` lists."""


def _addresses(host: str) -> list[AddressInfo]:
    return socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)


class HostResolver:
    """Resolves hosts. Callers that wait for the same host share one lookup.

    The event loop has four threads for lookups, and a lookup cannot be cancelled: one endpoint could occupy
    all four.
    """

    def __init__(self, resolve: Callable[[str], list[AddressInfo]] = _addresses) -> None:
        self._resolve = resolve
        self._threads = ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="dns")
        self._lookups: dict[str, asyncio.Future[list[AddressInfo]]] = {}

    async def look_up(self, host: str) -> list[AddressInfo]:
        """Return the addresses of a host.

        Raises OSError, and ValueError for text that cannot be a host name.
        """
        lookup = self._lookups.get(host)
        if lookup is None:
            lookup = asyncio.get_running_loop().run_in_executor(self._threads, self._resolve, host)
            self._lookups[host] = lookup
            lookup.add_done_callback(lambda done: self._remove(host, done))
        return await asyncio.shield(lookup)

    def _remove(self, host: str, lookup: asyncio.Future[list[AddressInfo]]) -> None:
        del self._lookups[host]
        if not lookup.cancelled():
            lookup.exception()  # read it also without callers: asyncio would log it as unhandled

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
