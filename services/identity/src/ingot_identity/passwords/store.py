"""Small values that expire after their last change: in Redis for replicas, or in the memory of a process.

While Redis is unavailable, each process uses its own memory and no request waits.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import structlog
from cachetools import TTLCache

from ingot_chassis.settings import is_redis

log = structlog.get_logger()

MAX_VALUES = 100_000
"""Maximum number of values in the memory of a process. The value with the oldest change is evicted."""

TIMEOUT = 5.0
"""Timeout in seconds. A shorter one would expire before a process under load reads the response."""

PAUSE_SECONDS = 10.0
"""Seconds without calls to Redis after it did not respond."""

Step = Callable[[list[bytes | None]], Sequence[bytes | None]]
"""A function that computes new values from the current ones; None is no value. It may be called twice."""


class ExpiringValues(Protocol):
    """Values that expire after their last change, in ``MemoryValues`` or ``RedisValues``."""

    async def change(self, keys: Sequence[str], step: Step) -> None:
        """Replace the values of ``keys`` by the values that ``step`` returns, atomically.

        If ``step`` raises, nothing changes.
        """

    async def close(self) -> None: ...


class MemoryValues:
    """Values in memory, for a single process."""

    def __init__(self, seconds: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._values: TTLCache[str, bytes] = TTLCache(MAX_VALUES, seconds, timer=clock)

    async def change(self, keys: Sequence[str], step: Step) -> None:
        values = step([self._values.get(key) for key in keys])
        for key, value in zip(keys, values, strict=True):
            if value is None:
                self._values.pop(key, None)
            else:
                self._values[key] = value

    async def close(self) -> None:
        self._values.clear()


class RedisValues:
    """Values in Redis, for replicas: watched keys and a transaction, which is retried on a conflict."""

    def __init__(self, url: str, namespace: str, seconds: int) -> None:
        # A process that has no Redis starts a tenth faster without its client.
        from redis.asyncio import Redis
        from redis.exceptions import RedisError

        self._failures = (RedisError, OSError)
        self._redis = Redis.from_url(url, socket_timeout=TIMEOUT, socket_connect_timeout=TIMEOUT)
        self._namespace, self._seconds = namespace, seconds
        self._fallback, self._paused_until = MemoryValues(seconds), float("-inf")
        # Without it, concurrent changes of one process would repeat each other's transactions.
        self._lock = asyncio.Lock()

    async def change(self, keys: Sequence[str], step: Step) -> None:
        names = [f"{self._namespace}:{key}" for key in keys]

        async def write(pipe: Any) -> None:
            values = step(await pipe.mget(names))
            pipe.multi()
            for name, value in zip(names, values, strict=True):
                if value is None:
                    pipe.delete(name)
                else:
                    pipe.set(name, value, ex=self._seconds)

        async with self._lock:
            if time.monotonic() >= self._paused_until:
                try:
                    await self._redis.transaction(write, *names)
                    return
                except self._failures as error:
                    log.warning("the shared store is away, counting in this process", error=str(error))
                    self._paused_until = time.monotonic() + PAUSE_SECONDS
        await self._fallback.change(keys, step)

    async def close(self) -> None:
        await self._redis.aclose()


def open_values(url: str, namespace: str, *, seconds: int) -> ExpiringValues:
    """Return the values at ``url`` (memory:// or redis://…), with keys below ``namespace``.

    A value expires ``seconds`` after its last change. Raises SettingsError.
    """
    return RedisValues(url, f"ingot:{namespace}", seconds) if is_redis(url) else MemoryValues(seconds)
