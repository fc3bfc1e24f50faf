"""Expiring values: changes in one step, among replicas and while Redis is down."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

import pytest

from ingot_chassis.settings import SettingsError
from ingot_identity.passwords import store as expiring_values
from ingot_identity.passwords.store import MemoryValues, RedisValues, open_values


def one_more(values):
    return [str(int(value or b"0") + 1).encode() for value in values]


async def read(store, *keys):
    """The values of ``keys``, which stay what they are."""
    values = []

    def unchanged(present):
        values[:] = present
        return present

    await store.change(keys, unchanged)
    return values


@pytest.fixture(params=["memory", "redis"])
async def store(request):
    url = "memory://" if request.param == "memory" else request.getfixturevalue("redis_url")
    opened = open_values(url, "test", seconds=100)
    yield opened
    await opened.close()


async def test_values_change_together_and_none_is_no_value(store):
    await store.change(["a", "b"], lambda values: [b"1", b"2"] if values == [None, None] else values)
    await store.change(["b", "c"], lambda _values: [None, b"3"])
    assert await read(store, "a", "b", "c") == [b"1", None, b"3"]


async def test_what_a_step_raises_is_raised_and_nothing_changes(store):
    await store.change(["a"], one_more)
    with pytest.raises(ZeroDivisionError):
        await store.change(["a"], lambda _values: [bytes(1 // 0)])
    assert await read(store, "a") == [b"1"]


async def test_no_change_of_a_replica_is_lost(redis_url):
    replicas = [open_values(redis_url, "test", seconds=100) for _ in range(3)]
    await asyncio.gather(
        *(replica.change(["a", str(n)], one_more) for replica in replicas for n in range(50))
    )
    assert await read(replicas[0], "a", "0", "49") == [b"150", b"3", b"3"]
    for replica in replicas:
        await replica.close()


async def test_values_in_memory_expire():
    moment = 0.0
    store = MemoryValues(100, clock=lambda: moment)
    await store.change(["a", "b"], one_more)
    moment = 60
    await store.change(["a"], one_more)
    moment = 100
    await store.change(["c"], one_more)
    assert await read(store, "a", "b", "c") == [b"2", None, b"1"]


async def test_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(expiring_values, "MAX_VALUES", 10)
    store = MemoryValues(100)
    for number in range(30):
        await store.change([str(number)], one_more)
    assert await read(store, "29", "20", "0") == [b"1", b"1", None]


async def test_values_in_redis_expire(redis_url):
    store = RedisValues(redis_url, "test", 100)
    await store.change(["a"], one_more)
    assert 90 < await store._redis.ttl("test:a") <= 100
    await store.close()


@asynccontextmanager
async def proxy_of(url: str, port: int = 0) -> AsyncIterator[str]:
    """Another address of the Redis at ``url``, for as long as the block lasts."""
    behind, talks = urlsplit(url), set[asyncio.Task[None]]()

    async def pump(reader, writer):
        try:
            with suppress(OSError):
                while data := await reader.read(4096):
                    writer.write(data)
        finally:
            writer.close()

    async def enter(reader, writer):
        within = await asyncio.open_connection(behind.hostname, behind.port)
        talks.update(
            {asyncio.create_task(pump(reader, within[1])), asyncio.create_task(pump(within[0], writer))}
        )

    server = await asyncio.start_server(enter, "127.0.0.1", port)
    outside = server.sockets[0].getsockname()[1]
    try:
        yield behind._replace(netloc=f"{behind.netloc.rpartition(':')[0]}:{outside}").geturl()
    finally:
        server.close()
        for talk in talks:
            talk.cancel()
        await asyncio.gather(*talks, return_exceptions=True)


async def test_while_redis_is_down_each_process_counts_alone(redis_url, monkeypatch):
    monkeypatch.setattr(expiring_values, "PAUSE_SECONDS", 0.0)
    async with proxy_of(redis_url) as url:
        replicas = [open_values(url, "test", seconds=100) for _ in range(2)]
        for replica in replicas:
            await replica.change(["a"], one_more)
        assert await read(replicas[0], "a") == [b"2"]
    for replica in replicas:
        for _ in range(3):
            await replica.change(["a"], one_more)
        assert await read(replica, "a") == [b"3"]
    async with proxy_of(redis_url, urlsplit(url).port):
        for replica in replicas:
            await replica.change(["a"], one_more)
        assert await read(replicas[0], "a") == [b"4"]
        for replica in replicas:
            await replica.close()


async def test_a_redis_that_does_not_answer_is_waited_for_once(monkeypatch):
    monkeypatch.setattr(expiring_values, "TIMEOUT", 0.1)
    connections = []
    server = await asyncio.start_server(lambda *connection: connections.append(connection), "127.0.0.1", 0)
    store = open_values(f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}", "test", seconds=100)
    await asyncio.gather(*(store.change(["a"], one_more) for _ in range(20)))
    assert await read(store, "a") == [b"20"]
    tries = len(connections)
    await store.change(["a"], one_more)
    assert len(connections) == tries
    await store.close()
    server.close()


def test_another_kind_of_url_is_a_wrong_setting():
    with pytest.raises(SettingsError):
        open_values("memcached://here", "test", seconds=1)
