"""Rate limits of a caller, in one process and in several."""

import asyncio
import time

import aiohttp
import pytest
from redis.asyncio import Redis

from ingot_chassis.errors import TooManyRequests
from ingot_chassis.settings import SettingsError
from ingot_gateway import rate_limits
from ingot_gateway.rate_limits import (
    EXPENSIVE,
    MOST_BUCKETS,
    READ,
    WINDOW,
    WRITE,
    Bucket,
    Limits,
    MemoryBuckets,
    RateLimiter,
    RedisBuckets,
    cost_of,
    open_buckets,
)
from ingot_gateway.routes import RouteTable

from .world import TOKEN, open_world

REPO = "/api/v1/repos/ann/app"
ANN = {"Authorization": f"token {TOKEN}"}


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(params=["memory", "redis"])
async def buckets(request: pytest.FixtureRequest):
    url = request.getfixturevalue("redis_url") if request.param == "redis" else "memory://"
    opened = open_buckets(url)
    yield opened
    await opened.close()


async def test_a_bucket_holds_its_points_and_no_more(buckets):
    bucket = Bucket("address:a", 10)
    levels = [await buckets.take([bucket], 3) for _ in range(4)]

    assert [level.refused for level in levels] == [False, False, False, True]
    assert [round(level.seconds[0]) for level in levels] == [18, 36, 54, 72]


async def test_what_one_bucket_refuses_is_taken_from_none(buckets):
    account, token = Bucket("account:1", 100), Bucket("token:t", 2)
    assert not (await buckets.take([account, token], 2)).refused
    assert (await buckets.take([account, token], 2)).refused

    assert round((await buckets.take([account], 1)).seconds[0], 1) == 1.8


async def test_a_request_that_costs_more_than_a_bucket_holds_takes_all_of_it(buckets):
    bucket = Bucket("address:a", 5)

    assert [(await buckets.take([bucket], 10)).refused for _ in range(2)] == [False, True]


async def test_buckets_fill_evenly():
    clock = Clock()
    buckets, bucket = MemoryBuckets(clock=clock), Bucket("address:a", 60)
    for _ in range(60):
        assert not (await buckets.take([bucket], 1)).refused
    assert (await buckets.take([bucket], 1)).refused
    clock.now += WINDOW / 60
    assert not (await buckets.take([bucket], 1)).refused
    assert (await buckets.take([bucket], 1)).refused
    clock.now += WINDOW
    assert (await buckets.take([bucket], 60)).refused is False


async def test_the_memory_of_buckets_is_bounded():
    buckets = MemoryBuckets()
    for number in range(MOST_BUCKETS + 10):
        await buckets.take([Bucket(f"address:{number}", 1000)], 1)

    assert len(buckets._full_at) <= MOST_BUCKETS


async def test_many_at_once_never_get_more_than_there_is(redis_url, monkeypatch):
    # On a busy machine 90 connections take longer than a request would wait.
    monkeypatch.setattr(rate_limits, "TIMEOUT", 10.0)
    replicas = [RedisBuckets(redis_url) for _ in range(3)]
    takes = [replicas[number % 3].take([Bucket("account:1", 50)], 1) for number in range(90)]
    levels = await asyncio.gather(*takes)
    for replica in replicas:
        await replica.close()

    # The bucket fills a little while they run.
    assert 50 <= sum(not level.refused for level in levels) <= 54


async def test_points_are_taken_in_advance_and_counted_as_they_are_spent(redis_url):
    replicas = [RedisBuckets(redis_url) for _ in range(2)]
    bucket = Bucket("account:1", 6000)
    allowed = 0
    for number in range(6400):
        levels = await replicas[number % 2].take([bucket], 1)
        allowed += not levels.refused
        if number == 99:
            assert 0.9 <= levels.seconds[0] <= 1.7, "100 of 6000 points are one second"
    for replica in replicas:
        await replica.close()

    # 6000, what comes back while this runs, and not even the last portion is lost.
    assert 6000 <= allowed < 6400


async def test_a_flood_of_refused_requests_does_not_reach_redis(redis_url):
    clock, bucket = Clock(), Bucket("account:1", 2)
    buckets = RedisBuckets(redis_url, clock=clock)
    refused = [(await buckets.take([bucket], 1)).refused for _ in range(3)]
    async with Redis.from_url(redis_url) as redis:
        await redis.flushdb()
    refused.append((await buckets.take([bucket], 1)).refused)
    clock.now += 1
    refused.append((await buckets.take([bucket], 1)).refused)
    await buckets.close()

    assert refused == [False, False, True, True, False]


async def test_without_redis_each_process_counts_alone():
    buckets = RedisBuckets("redis://127.0.0.1:1/0")
    bucket = Bucket("account:1", 2)

    assert [(await buckets.take([bucket], 1)).refused for _ in range(3)] == [False, False, True]
    started = time.monotonic()
    await buckets.take([bucket], 1)
    assert time.monotonic() - started < 0.1
    await buckets.close()


def test_an_unknown_store_is_named():
    with pytest.raises(SettingsError, match="INGOT_STORE_URL"):
        open_buckets("file:///tmp")


@pytest.mark.parametrize(
    ("method", "path", "cost"),
    [
        ("GET", REPO, READ),
        ("HEAD", REPO, READ),
        ("PATCH", REPO, WRITE),
        ("POST", f"{REPO}/issues", WRITE),
        ("GET", f"{REPO}/raw/main/a.txt", WRITE),
        ("GET", f"{REPO}/raw/compare/a.diff", WRITE),
        ("GET", "/ann/app.git/info/refs", READ),
        ("GET", f"{REPO}/commits?page=2", READ),
        ("GET", f"{REPO}/pulls/1", READ),
        ("GET", "/ann/app/src/branch/main/blame/a.txt", READ),
        ("GET", f"{REPO}/archive/main.zip", EXPENSIVE),
        ("GET", f"{REPO}/blame/a.txt", EXPENSIVE),
        ("GET", f"{REPO}/compare/main...topic", EXPENSIVE),
        ("GET", f"{REPO}/commits?sha=main&path=a.txt", EXPENSIVE),
        ("GET", f"{REPO}/git/commits/abc.diff", EXPENSIVE),
        ("GET", f"{REPO}/pulls/1.patch", EXPENSIVE),
        ("GET", f"{REPO}/pulls/1/files", EXPENSIVE),
        ("POST", f"{REPO}/pulls/1/merge", EXPENSIVE),
        ("POST", f"{REPO}/diffpatch", EXPENSIVE),
        ("POST", f"{REPO}/commits/abc/revert", EXPENSIVE),
        ("POST", "/ann/app/commit/abc/revert", EXPENSIVE),
        ("GET", f"{REPO}/issues?state=all&q=bread", EXPENSIVE),
        ("GET", "/api/v1/repos/search", EXPENSIVE),
        ("GET", "/api/v1/users/search?q=a", EXPENSIVE),
        ("POST", "/api/v1/markdown", EXPENSIVE),
        ("POST", "/api/v1/markup", EXPENSIVE),
        ("GET", "/explore/repos", EXPENSIVE),
        ("GET", "/explore/names?login=an", READ),
        ("GET", "/explore/names\n", EXPENSIVE),
        ("GET", "/ann/app/find/branch/main?q=a", EXPENSIVE),
        ("GET", "/ann/app/blob_excerpt/abc?path=a.txt", EXPENSIVE),
        ("GET", "/ann/app/archive/main.zip", EXPENSIVE),
        ("GET", "/ann/app/blame/branch/main/a.txt", EXPENSIVE),
        ("GET", "/ann/app/commit/abc", EXPENSIVE),
        ("GET", "/ann/app/commits/branch/main/src/a.txt", EXPENSIVE),
        ("GET", "/ann/app/pulls/1/files", EXPENSIVE),
        ("GET", "/ann/app/pulls/1/range-diff", EXPENSIVE),
        ("GET", "/ann/app/pulls/1.diff", EXPENSIVE),
        ("POST", "/ann/app.git/git-upload-pack", EXPENSIVE),
        ("POST", "/ann/app.git/git-receive-pack", EXPENSIVE),
        ("GET", "/ann/app.git/clone.bundle", EXPENSIVE),
        ("POST", "/ann/app.git/git-upload-pack/", EXPENSIVE),
        ("GET", "/ann//app/commit/abc/", EXPENSIVE),
        ("GET", "/ann/app/blame/branch/main/a\n", EXPENSIVE),
        ("GET", "/ann/app/atom/branch/main/a.txt", EXPENSIVE),
        ("GET", f"{REPO}/commits?%70ath=a.txt", EXPENSIVE),
    ],
)
def test_requests_cost_what_they_cause(method, path, cost):
    path, _, query = path.partition("?")
    route = RouteTable().find(path)
    assert route is not None

    assert cost_of(method, path, query.encode(), route) == cost


@pytest.mark.parametrize(
    ("user_id", "token", "address", "keys"),
    [
        (7, "t", "10.0.0.1", ["account:7", "token:t"]),
        (7, "", "10.0.0.1", ["account:7"]),
        (0, "", "10.0.0.1", ["address:10.0.0.1"]),
        (0, "t", "2001:db8::1:2:3:4", ["address:2001:db8::/64"]),
        (0, "", "fe80::1%eth0", ["address:fe80::/64"]),
    ],
)
def test_an_account_counts_wherever_it_is_and_an_address_for_nobody(user_id, token, address, keys):
    limiter = RateLimiter(MemoryBuckets(), Limits(10, 10, 10))

    assert [bucket.key for bucket in limiter.buckets_of(user_id, token, address)] == keys


async def test_refusals_are_counted_by_what_was_full():
    limiter = RateLimiter(MemoryBuckets(), Limits(account=10, token=1))
    await limiter.take(limiter.buckets_of(7, "t", ""), 1, [])
    for _ in range(2):
        with pytest.raises(TooManyRequests):
            await limiter.take(limiter.buckets_of(7, "t", ""), 1, [])
    assert limiter.refusals == {"token": 2}


async def test_nothing_is_limited_by_default(client):
    async with client.get(REPO) as answer:
        assert not [name for name in answer.headers if name.lower().startswith("x-ratelimit")]


async def test_answers_say_how_much_is_left_and_when_it_is_full_again():
    async with (
        open_world("asgi", rate_limit_account=12) as world,
        aiohttp.ClientSession(world.url, headers=ANN) as client,
    ):
        answers = []
        for method in ("GET", "PATCH", "PATCH"):
            async with client.request(method, REPO) as answer:
                answers.append((answer.status, answer.headers["X-RateLimit-Remaining"]))
                assert answer.headers["X-RateLimit-Limit"] == "12"
                assert 0 < int(answer.headers["X-RateLimit-Reset"]) - time.time() < WINDOW + 2
        assert answers == [(200, "11"), (200, "6"), (200, "1")]
        async with client.patch(REPO) as answer:
            assert (answer.status, answer.headers["X-RateLimit-Remaining"]) == (429, "0")
            assert 0 < int(answer.headers["Retry-After"]) <= WINDOW
            assert "points in a minute for this account" in (await answer.json())["message"]
        assert world.services["repos"].calls == 3
        async with aiohttp.ClientSession(world.url) as anonymous, anonymous.get(REPO) as answer:
            assert answer.status == 200


async def test_guessing_credentials_costs_an_address_more():
    async with (
        open_world("asgi", rate_limit_address=12) as world,
        aiohttp.ClientSession(world.url) as client,
    ):
        statuses = []
        for number in range(3):
            async with client.get(REPO, headers={"Authorization": f"token guess{number}"}) as answer:
                statuses.append(answer.status)
        async with client.get(REPO, headers=ANN) as answer:
            assert answer.status == 200

    assert statuses == [200, 200, 429]


async def test_two_gateways_count_together(redis_url):
    shared = {"rate_limit_token": 4, "store_url": redis_url}
    async with open_world("asgi", **shared) as one, open_world("asgi", **shared) as other:
        statuses = []
        for world in (one, other, one, other, one, other):
            async with aiohttp.ClientSession(world.url, headers=ANN) as client, client.get(REPO) as answer:
                statuses.append(answer.status)

    assert statuses == [200, 200, 200, 200, 429, 429]
