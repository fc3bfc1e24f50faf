"""Digests of forms that any process of web has taken: in Redis, which replicas share. Each is there for a time.

While Redis is away every digest is taken for a new one, and no form waits for it: a form that is sent twice in those seconds is
a lesser harm than pages on which nobody can change anything.
"""

import time

import structlog

from ingot_chassis.settings import SettingsError

log = structlog.get_logger()

TIMEOUT = 5.0
"""Seconds. A shorter one would end while a process under load has not yet read the answer."""
PAUSE_SECONDS = 10.0
"""After Redis did not answer, it is not asked again for so long."""


class SharedDigests:
    """``seconds`` is how long each is there."""

    def __init__(self, url: str, seconds: int) -> None:
        # A process that has no Redis starts a tenth faster without its client.
        from redis.asyncio import Redis
        from redis.asyncio.retry import Retry
        from redis.backoff import NoBackoff
        from redis.exceptions import RedisError

        self._failures = (RedisError, OSError)
        self._redis = Redis.from_url(
            url,
            socket_timeout=TIMEOUT,
            socket_connect_timeout=TIMEOUT,
            # A second try would find what the first one has written, and take the form for one that was sent before.
            retry=Retry(NoBackoff(), 0),
        )
        self._seconds, self._paused_until = seconds, float("-inf")

    async def add(self, digest: bytes) -> bool:
        """False if it is there already."""
        if time.monotonic() < self._paused_until:
            return True
        try:
            return bool(await self._redis.set(_key(digest), b"", nx=True, ex=self._seconds))
        except self._failures as error:
            self._pause(error)
            return True

    async def remove(self, digest: bytes) -> None:
        """Where Redis is away it stays there: that form is refused then, until its page is loaded again."""
        if time.monotonic() < self._paused_until:
            return
        try:
            await self._redis.delete(_key(digest))
        except self._failures as error:
            self._pause(error)

    def _pause(self, error: Exception) -> None:
        log.warning("the shared store is away, each process knows its own forms", error=str(error))
        self._paused_until = time.monotonic() + PAUSE_SECONDS

    async def close(self) -> None:
        await self._redis.aclose()


def _key(digest: bytes) -> str:
    return f"ingot:web:form:{digest.hex()}"


def open_digests(url: str, *, seconds: int) -> SharedDigests | None:
    """Those behind ``url`` (redis://…); None for memory://, where each process is alone. Raises SettingsError."""
    if url == "memory://":
        return None
    if url.startswith(("redis://", "rediss://", "unix://")):
        return SharedDigests(url, seconds)
    raise SettingsError([f"INGOT_STORE_URL={url!r}: memory:// or redis://… is expected"])
