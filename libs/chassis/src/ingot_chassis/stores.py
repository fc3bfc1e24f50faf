"""The shared store: small values that are forgotten a while after their last change, in a Redis among replicas.

While that Redis is away each process goes on with a memory of its own: nobody has to wait for it.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from ingot_chassis.settings import SettingsError

log = structlog.get_logger()

MOST = 100_000
"""Values that a process remembers at most; those that would be forgotten first go first."""

TIMEOUT = 5.0
"""Seconds. Longer than a process under load may come too late itself to see the answer."""

AWAY_SECONDS = 10.0
"""How long a Redis that did not answer is left alone."""

Step = Callable[[list[bytes | None]], Sequence[bytes | None]]
"""Makes new values of those that are there; None is no value. It may be called more than once."""


class Store(Protocol):
    """What every shared store does."""

    async def change(self, keys: Sequence[str], step: Step) -> None:
        """Put what ``step`` makes of the values of ``keys`` in their place, with nobody in between.

        What it raises is raised, and nothing is changed.
        """

    async def close(self) -> None: ...


class MemoryStore:
    """For one process."""

    def __init__(self, seconds: int) -> None:
        self._seconds = seconds
        self._kept: OrderedDict[str, tuple[float, bytes]] = OrderedDict()

    async def change(self, keys: Sequence[str], step: Step) -> None:
        self._forget_old()
        values = step([self._kept[key][1] if key in self._kept else None for key in keys])
        until = time.monotonic() + self._seconds
        for key, value in zip(keys, values, strict=True):
            self._kept.pop(key, None)
            if value is not None:
                self._kept[key] = (until, value)

    def _forget_old(self) -> None:
        """All are kept equally long after their last change, so the first of them is the oldest."""
        now = time.monotonic()
        while self._kept and (len(self._kept) > MOST or next(iter(self._kept.values()))[0] <= now):
            self._kept.popitem(last=False)

    async def close(self) -> None:
        self._kept.clear()


class RedisStore:
    """For replicas: watched keys and a transaction, begun anew when another one was faster."""

    def __init__(self, url: str, namespace: str, seconds: int) -> None:
        self._redis = Redis.from_url(url, socket_timeout=TIMEOUT, socket_connect_timeout=TIMEOUT)
        self._namespace, self._seconds = namespace, seconds
        self._meanwhile, self._away_until = MemoryStore(seconds), float("-inf")
        # Else changes of one process would make each other begin anew.
        self._one_by_one = asyncio.Lock()

    async def change(self, keys: Sequence[str], step: Step) -> None:
        names = [f"{self._namespace}:{key}" for key in keys]

        async def within(pipe: Any) -> None:
            values = step(await pipe.mget(names))
            pipe.multi()
            for name, value in zip(names, values, strict=True):
                if value is None:
                    pipe.delete(name)
                else:
                    pipe.set(name, value, ex=self._seconds)

        async with self._one_by_one:
            if time.monotonic() >= self._away_until:
                try:
                    await self._redis.transaction(within, *names)
                    return
                except (RedisError, OSError) as error:
                    log.warning("the shared store is away, counting in this process", error=str(error))
                    self._away_until = time.monotonic() + AWAY_SECONDS
        await self._meanwhile.change(keys, step)

    async def close(self) -> None:
        await self._redis.aclose()


def open_store(url: str, namespace: str, *, seconds: int) -> Store:
    """The store behind ``url`` (memory:// or redis://…), keys under ``namespace``. Raises SettingsError.

    A value is forgotten ``seconds`` after its last change.
    """
    if url == "memory://":
        return MemoryStore(seconds)
    if url.startswith(("redis://", "rediss://", "unix://")):
        return RedisStore(url, f"ingot:{namespace}", seconds)
    raise SettingsError([f"INGOT_STORE_URL={url!r}: memory:// or redis://… is expected"])
