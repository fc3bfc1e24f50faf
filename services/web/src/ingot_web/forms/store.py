"""Digests of forms that any process of web has accepted, in Redis, for a limited time.

If Redis is unavailable, every digest is treated as new, because working forms matter more than duplicates.
After a pause, first of ten seconds, one form at a time retries Redis, and waits for its response. Other forms
do not wait.
"""

import secrets
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog

from ingot_chassis.settings import is_redis

log = structlog.get_logger()

_T = TypeVar("_T")

TIMEOUT = 5.0
"""Timeout in seconds. A shorter one would expire before a process under load reads the response."""
CONNECTIONS = 8
SHORT_SECONDS = 120
"""Lifetime of a new digest in seconds: longer than any form takes, short in case its process is killed."""
LONG_SECONDS = 15 * 60
"""Lifetime in seconds once the form has changed something.

Duplicates come soon, and all digests must fit into memory.
"""
FIRST_PAUSE, LONGEST_PAUSE = 10.0, 300.0
"""Seconds without calls to Redis after it did not respond.

Each pause is twice as long as the previous one.
"""


class SharedDigests:
    """Digests in the Redis at a URL, shared by all processes."""

    def __init__(self, url: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        # A process that has no Redis starts a tenth faster without its client.
        from redis.asyncio import BlockingConnectionPool, Redis
        from redis.asyncio.retry import Retry
        from redis.backoff import NoBackoff
        from redis.exceptions import ConnectionError as ConnectionLost
        from redis.exceptions import RedisError

        self._failures = (RedisError, OSError)
        pool = BlockingConnectionPool.from_url(
            url,
            max_connections=CONNECTIONS,
            timeout=TIMEOUT,
            socket_timeout=TIMEOUT,
            socket_connect_timeout=TIMEOUT,
            # Redis closes idle connections, or restarts. A server that does not answer is not asked twice.
            retry=Retry(NoBackoff(), 1, (ConnectionLost,)),
        )
        self._redis = Redis.from_pool(pool)
        self._clock = clock
        self._pause, self._paused_until = 0.0, float("-inf")

    async def add(self, digest: bytes) -> bool:
        """Store a digest. Return False if it was stored before."""
        return await self._ask(lambda: self._add(_key(digest)), otherwise=True)

    async def _add(self, key: str) -> bool:
        nonce = secrets.token_bytes(8)
        if await self._redis.set(key, nonce, nx=True, ex=SHORT_SECONDS):
            return True
        # The client retries after a lost connection. If the first try arrived, the key has the nonce of this
        # form.
        return bool(await self._redis.get(key) == nonce)

    async def keep(self, digest: bytes) -> None:
        """Extend the lifetime of a digest."""
        await self._ask(lambda: self._redis.expire(_key(digest), LONG_SECONDS), otherwise=False)

    async def remove(self, digest: bytes) -> None:
        """Remove a digest. If Redis is unavailable, it expires after its short lifetime."""
        await self._ask(lambda: self._redis.delete(_key(digest)), otherwise=0)

    async def _ask(self, command: Callable[[], Awaitable[_T]], *, otherwise: _T) -> _T:
        """Return the response of Redis, or ``otherwise`` while it is unavailable."""
        now, pause = self._clock(), self._pause
        if now < self._paused_until:
            return otherwise
        # After a pause one alone tries whether Redis is back.
        self._paused_until = now + pause
        try:
            answer = await command()
        except self._failures as error:
            log.warning("the shared store is away, each process knows its own forms", error=str(error))
            # Of several that have waited at once the first one has made the pause longer.
            if self._pause == pause:
                self._pause = min(max(2 * pause, FIRST_PAUSE), LONGEST_PAUSE)
            self._paused_until = self._clock() + self._pause
            return otherwise
        self._pause, self._paused_until = 0.0, float("-inf")
        return answer

    async def examine(self, _repair: bool) -> list[str]:
        """Return a line for the doctor if Redis is unavailable; otherwise an empty list."""
        try:
            await self._redis.ping()
        except self._failures as error:
            return [
                f"web: INGOT_STORE_URL does not answer: {error}; meanwhile each process knows its own forms"
            ]
        return []

    async def close(self) -> None:
        await self._redis.aclose()


def _key(digest: bytes) -> str:
    return f"ingot:web:form:{digest.hex()}"


def open_digests(url: str) -> SharedDigests | None:
    """Return the digests at ``url`` (redis://…). None for memory://: processes then share no digests.

    Raises SettingsError.
    """
    return SharedDigests(url) if is_redis(url) else None
