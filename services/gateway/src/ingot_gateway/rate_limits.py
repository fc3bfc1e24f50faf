"""Rate limits for one minute: by account and token, and by address for anonymous callers.

Requests cost points by their work. A caller has a bucket of points that fills evenly, and is full after a
minute without requests. This is the generic cell rate algorithm: a bucket is stored as the time at which it
will be full. A request takes points from all buckets of its caller. If one bucket has too few points, the
request takes none and is rejected. A request that costs more than a bucket holds empties the bucket.

With Redis all replicas share the buckets, in one atomic step per request. While Redis is unavailable, each
replica counts alone, because no user may be locked out.
"""

import math
import re
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeVar
from urllib.parse import unquote_to_bytes

import structlog

from ingot_chassis.errors import TooManyRequests
from ingot_chassis.http.concurrency import network_of
from ingot_chassis.settings import is_redis
from ingot_gateway.routes import Route
from ingot_wire.framing import Headers

log = structlog.get_logger()

_T = TypeVar("_T")

WINDOW = 60.0
"""Seconds in which an empty bucket fills."""
READ, WRITE, EXPENSIVE = 1, 5, 10
"""Points of requests: a read; a change or a file; work for git or the renderer."""
UNKNOWN_CREDENTIAL = 5
"""Additional points for an invalid credential, because guessing must cost more."""
_EXPENSIVE = re.compile(
    r"/api/v1/markdown(/raw)?|/api/v1/markup|/api/v1/(.*/)?search|/explore/(?!names\Z).*"
    # Of a repository, over the API and as pages. A file may have any name, so its path is not looked at.
    r"|(/api/v1/repos)?/[^/]+/[^/]+/("
    r"git-(upload|receive)-pack|clone\.bundle|(archive|blame|blob_excerpt|compare|find)/.+|diffpatch|merge-upstream"
    r"|commits?/[^/]+/revert"
    r"|(commits|atom|rss)/(branch|tag|commit)/[^/]+/.+|commit/[^/]+|git/commits/[^/]+\.(diff|patch)"
    r"|pulls/[^/]+(\.diff|\.patch|/files|/range-diff|/commits/.+|/merge|/update))",
    re.DOTALL,
)
_COSTLY_QUERY = re.compile(rb"(^|&)(q|keyword|path)=[^&]")
"""Costly requests by query: searches, and the commits of one path."""
TIMEOUT = 0.5
CONNECTIONS = 8
REFUSAL_SECONDS = 1.0
PORTIONS = 100
"""The number of portions of a bucket. One portion is taken in advance."""
PAUSE_SECONDS = 2.0
MOST_BUCKETS = 100_000

SCRIPT = """
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
local window, cost, refused = tonumber(ARGV[1]), tonumber(ARGV[2]), 0
local full = {}
for i, key in ipairs(KEYS) do
  local at = math.max(tonumber(redis.call('GET', key) or 0), now)
  local points = tonumber(ARGV[2 + i])
  full[i] = at + math.min(cost, points) * window / points
  if full[i] > now + window then refused = 1 end
end
local seconds = {}
for i, key in ipairs(KEYS) do
  if refused == 0 then redis.call('SET', key, string.format('%.6f', full[i]), 'PX', math.ceil((full[i] - now) * 1000) + 1) end
  seconds[i] = string.format('%.6f', full[i] - now)
end
return {refused, seconds}
"""


class Bucket(NamedTuple):
    """A bucket: its key, and the number of points that it holds."""

    key: str
    points: int


class Levels(NamedTuple):
    """State of the buckets: the seconds until each bucket would be full if the request passed.

    ``refused`` is True if one bucket has too few points.
    """

    refused: bool
    seconds: list[float]


class Buckets(Protocol):
    """Storage of buckets."""

    async def take(self, buckets: Sequence[Bucket], cost: int) -> Levels: ...

    async def failure(self) -> str:
        """Return the reason why the buckets are unavailable; empty if they are available."""

    async def close(self) -> None: ...


class MemoryBuckets:
    """Buckets of a single process."""

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        self._full_at: dict[str, float] = {}
        self._clock = clock

    async def take(self, buckets: Sequence[Bucket], cost: int) -> Levels:
        now = self._clock()
        full_at = [
            max(self._full_at.get(bucket.key, 0.0), now) + min(cost, bucket.points) * WINDOW / bucket.points
            for bucket in buckets
        ]
        refused = any(at > now + WINDOW for at in full_at)
        if not refused:
            for bucket, at in zip(buckets, full_at, strict=True):
                self._full_at[bucket.key] = at
            if len(self._full_at) > MOST_BUCKETS:
                self._forget_full(now)
        return Levels(refused, [at - now for at in full_at])

    def _forget_full(self, now: float) -> None:
        """Remove full buckets. If too many buckets are in use, remove the buckets that will be full first."""
        in_use = [(at, key) for key, at in self._full_at.items() if at > now]
        in_use.sort(reverse=True)
        self._full_at = {key: at for at, key in in_use[: MOST_BUCKETS // 2]}

    async def failure(self) -> str:
        return ""

    async def close(self) -> None:
        self._full_at.clear()


class Advance(NamedTuple):
    """Points that this process has already taken from Redis, and the levels of the buckets at that time."""

    left: int
    at: float
    seconds: list[float]


class Refusal(NamedTuple):
    """A cached rejection by Redis. Until ``until`` it applies to requests of this or a higher cost."""

    cost: int
    until: float
    seconds: list[float]


class RedisBuckets:
    """Buckets that all replicas share.

    A replica takes a hundredth of a bucket in advance, and caches a rejection for up to a second. So few
    requests call Redis, even during a flood of rejected requests.
    """

    def __init__(self, url: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        # A process that has no Redis starts a tenth faster without its client.
        from redis.asyncio import BlockingConnectionPool, Redis
        from redis.exceptions import RedisError

        self._failures = (RedisError, OSError)
        pool = BlockingConnectionPool.from_url(
            url,
            max_connections=CONNECTIONS,
            timeout=TIMEOUT,
            socket_timeout=TIMEOUT,
            socket_connect_timeout=TIMEOUT,
        )
        self._redis = Redis.from_pool(pool)
        self._script = self._redis.register_script(SCRIPT)
        self._clock = clock
        self._advances: dict[tuple[Bucket, ...], Advance] = {}
        self._refusals: dict[tuple[Bucket, ...], Refusal] = {}
        self._fallback, self._paused_until = MemoryBuckets(), float("-inf")

    async def take(self, buckets: Sequence[Bucket], cost: int) -> Levels:
        key, now = tuple(buckets), self._clock()
        advance = self._advances.get(key)
        if advance is not None and advance.left >= cost and now - advance.at < WINDOW:
            self._advances[key] = advance = advance._replace(left=advance.left - cost)
            return Levels(False, _seconds_of(advance, buckets, now))
        refusal = self._refusals.get(key)
        if refusal is not None and cost >= refusal.cost and now < refusal.until:
            return Levels(True, refusal.seconds)
        if now >= self._paused_until:
            try:
                return await self._take_from_redis(key, cost)
            except self._failures as error:
                log.warning("the shared store is away, counting in this process", error=str(error))
                self._paused_until = now + PAUSE_SECONDS
        return await self._fallback.take(buckets, cost)

    async def _take_from_redis(self, buckets: tuple[Bucket, ...], cost: int) -> Levels:
        portion = min(bucket.points for bucket in buckets) // PORTIONS
        if portion > cost:
            levels = await self._run(buckets, portion)
            if not levels.refused:
                advance = Advance(portion - cost, self._clock(), levels.seconds)
                _remember(self._advances, buckets, advance)
                return Levels(False, _seconds_of(advance, buckets, advance.at))
        levels = await self._run(buckets, cost)
        if levels.refused:
            wait = min(max(levels.seconds) - WINDOW, REFUSAL_SECONDS)
            _remember(self._refusals, buckets, Refusal(cost, self._clock() + wait, levels.seconds))
        return levels

    async def _run(self, buckets: Sequence[Bucket], cost: int) -> Levels:
        keys = [f"ingot:gateway:{bucket.key}" for bucket in buckets]
        refused, seconds = await self._script(keys, [WINDOW, cost, *(bucket.points for bucket in buckets)])
        return Levels(bool(refused), [float(text) for text in seconds])

    async def failure(self) -> str:
        try:
            await self._redis.ping()
        except self._failures as error:
            return str(error)
        return ""

    async def close(self) -> None:
        await self._redis.aclose()


def _remember(memory: dict[tuple[Bucket, ...], _T], buckets: tuple[Bucket, ...], value: _T) -> None:
    if len(memory) >= MOST_BUCKETS:
        memory.clear()
    memory[buckets] = value


def _seconds_of(advance: Advance, buckets: Sequence[Bucket], now: float) -> list[float]:
    """Return the seconds until each bucket is full, as if the unused advance were returned."""
    return [
        max(0.0, seconds - advance.left * WINDOW / bucket.points - (now - advance.at))
        for seconds, bucket in zip(advance.seconds, buckets, strict=True)
    ]


def open_buckets(url: str) -> Buckets:
    """Return the buckets in the store ``url`` (memory:// or redis://…). Raises SettingsError."""
    return RedisBuckets(url) if is_redis(url) else MemoryBuckets()


class Limits(NamedTuple):
    """Limits in points per minute. 0 means no limit."""

    account: int = 0
    token: int = 0
    address: int = 0


NONE_LIMITED = Limits()


class RateLimiter:
    """Counts requests and rejects requests beyond the limits."""

    def __init__(self, buckets: Buckets, limits: Limits) -> None:
        self._buckets, self._limits = buckets, limits
        self.refusals: dict[str, int] = {}
        """Number of rejected requests since the process started, by the kind of the full bucket."""

    async def examine(self, _repair: bool) -> list[str]:
        """Return a problem for the doctor command if the buckets are unavailable."""
        failure = await self._buckets.failure()
        if not failure:
            return []
        return [
            (
                f"gateway: INGOT_STORE_URL does not answer: {failure}; until it does, each process counts "
                "requests alone"
            )
        ]

    @property
    def on(self) -> bool:
        """True if at least one limit is set."""
        return self._limits != NONE_LIMITED

    @property
    def limits(self) -> Limits:
        return self._limits

    def buckets_of(self, user_id: int, token_digest: str, address: str) -> list[Bucket]:
        """Return the buckets of a caller that have a limit. ``user_id`` is 0 for an anonymous caller.

        ``token_digest`` is empty without a token.
        """
        if not user_id:
            return (
                [Bucket(f"address:{network_of(address)}", self._limits.address)]
                if self._limits.address
                else []
            )
        buckets = []
        if self._limits.account:
            buckets.append(Bucket(f"account:{user_id}", self._limits.account))
        if self._limits.token and token_digest:
            buckets.append(Bucket(f"token:{token_digest}", self._limits.token))
        return buckets

    async def take(self, buckets: Sequence[Bucket], cost: int, answer_headers: Headers) -> None:
        """Take the points of a request. Add headers with the remaining points to ``answer_headers``.

        Raises TooManyRequests.
        """
        if not buckets:
            return
        levels = await self._buckets.take(buckets, cost)
        # The tightest one is that with the least left.
        seconds, bucket = max(zip(levels.seconds, buckets, strict=True), key=lambda pair: pair[0])
        if levels.refused:
            wait, kind = math.ceil(seconds - WINDOW), bucket.key.partition(":")[0]
            self.refusals[kind] = self.refusals.get(kind, 0) + 1
            answer_headers += _headers(bucket, 0, wait)
            raise TooManyRequests(
                f"the limit of {bucket.points} points in a minute for this {kind} is used up",
                headers={"Retry-After": str(max(wait, 1))},
            )
        left = math.floor((WINDOW - seconds) * bucket.points / WINDOW)
        answer_headers += _headers(bucket, max(left, 0), math.ceil(seconds))

    async def close(self) -> None:
        await self._buckets.close()


def cost_of(method: str, path: str, query: bytes, route: Route) -> int:
    """Return the points that a request costs. ``path`` is decoded, ``query`` is not."""
    if "//" in path or path.endswith("/"):  # which the services find all the same
        path = "/" + "/".join(filter(None, path.split("/")))
    if _EXPENSIVE.fullmatch(path) or (route.kind == "api" and _COSTLY_QUERY.search(unquote_to_bytes(query))):
        return EXPENSIVE
    if route.kind == "file" or method not in ("GET", "HEAD", "OPTIONS"):
        return WRITE
    return READ


def _headers(bucket: Bucket, left: int, seconds: int) -> Headers:
    return [
        (b"x-ratelimit-limit", str(bucket.points).encode()),
        (b"x-ratelimit-remaining", str(left).encode()),
        (b"x-ratelimit-reset", str(math.ceil(time.time()) + seconds).encode()),
    ]
