"""Looking up names, so that a name server that is silent holds up nobody but those who ask it."""

import asyncio
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

AT_ONCE = 256

AddressInfo = tuple[Any, ...]
"""What ``socket.getaddrinfo`` lists."""


def _asked(host: str) -> list[AddressInfo]:
    return socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)


class Names:
    """Each name once at a time, in threads of their own.

    Those of the event loop are four, and a lookup cannot be stopped: one endpoint would take them all.
    """

    def __init__(self, ask: Callable[[str], list[AddressInfo]] = _asked) -> None:
        self._ask = ask
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="name")
        self._under_way: dict[str, asyncio.Future[list[AddressInfo]]] = {}

    async def look_up(self, host: str) -> list[AddressInfo]:
        """Raises OSError, and ValueError for what cannot be a name."""
        asked = self._under_way.get(host)
        if asked is None:
            asked = asyncio.get_running_loop().run_in_executor(self._threads, self._ask, host)
            self._under_way[host] = asked
            asked.add_done_callback(lambda done: self._ended(host, done))
        return await asyncio.shield(asked)

    def _ended(self, host: str, asked: asyncio.Future[list[AddressInfo]]) -> None:
        del self._under_way[host]
        if not asked.cancelled():
            asked.exception()  # Seen, also when nobody waits for it any more.

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
