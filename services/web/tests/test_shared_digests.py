"""Digests in Redis: how long they are there, and what holds while it does not answer."""

import asyncio

import pytest
from redis.asyncio import Redis

from ingot_chassis.settings import SettingsError
from ingot_web.store import shared_digests
from ingot_web.store.shared_digests import open_digests


async def test_one_of_many_copies_that_come_at_once_is_new_and_forgotten_in_time(redis_url):
    replicas = [open_digests(redis_url, seconds=100) for _ in range(3)]
    answers = await asyncio.gather(*(replica.add(b"a") for replica in replicas for _ in range(10)))
    assert answers.count(True) == 1
    async with Redis.from_url(redis_url) as redis:
        (key,) = await redis.keys()
        assert 90 < await redis.ttl(key) <= 100
    for replica in replicas:
        await replica.close()


async def test_a_redis_that_does_not_answer_is_waited_for_once(monkeypatch):
    monkeypatch.setattr(shared_digests, "TIMEOUT", 0.1)
    connections = []
    server = await asyncio.start_server(lambda *connection: connections.append(connection), "127.0.0.1", 0)
    digests = open_digests(f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}", seconds=100)
    assert await digests.add(b"a")
    tries = len(connections)
    assert await digests.add(b"a")
    await digests.remove(b"a")
    assert (len(connections), tries) == (1, 1)
    await digests.close()
    server.close()


def test_without_a_redis_nothing_is_shared_and_another_store_is_a_wrong_setting():
    assert open_digests("memory://", seconds=1) is None
    with pytest.raises(SettingsError):
        open_digests("memcached://here", seconds=1)
