"""Digests in Redis: how long they are there, and what holds while it does not answer."""

import asyncio
from urllib.parse import urlsplit

import pytest
from redis.asyncio import Redis

from ingot_chassis.settings import SettingsError
from ingot_testing.wires import wire
from ingot_web.forms import store as shared_digests
from ingot_web.forms.store import (
    FIRST_PAUSE,
    LONG_SECONDS,
    LONGEST_PAUSE,
    SHORT_SECONDS,
    SharedDigests,
    open_digests,
)


def _url_of_wire(redis_url, port):
    address = urlsplit(redis_url)
    return address._replace(netloc=address.netloc.replace(str(address.port), str(port))).geturl()


async def test_one_of_many_copies_that_come_at_once_is_new_and_forgotten_in_time(redis_url):
    replicas = [open_digests(redis_url) for _ in range(3)]
    answers = await asyncio.gather(*(replica.add(b"a") for replica in replicas for _ in range(10)))
    assert answers.count(True) == 1
    async with Redis.from_url(redis_url) as redis:
        (key,) = await redis.keys()
        assert SHORT_SECONDS - 10 < await redis.ttl(key) <= SHORT_SECONDS
        await replicas[0].keep(b"a")
        assert LONG_SECONDS - 10 < await redis.ttl(key) <= LONG_SECONDS
    for replica in replicas:
        await replica.close()


async def test_many_forms_at_once_use_few_connections_and_all_are_known(redis_url):
    first, second = open_digests(redis_url), open_digests(redis_url)
    forms = [b"%d" % number for number in range(150)]
    assert all(await asyncio.gather(*map(first.add, forms)))
    async with Redis.from_url(redis_url) as redis:
        assert len(await redis.client_list()) <= shared_digests.CONNECTIONS + 2
    assert not any(await asyncio.gather(*map(second.add, forms)))
    for digests in (first, second):
        await digests.close()


async def test_connections_that_redis_has_closed_are_made_again(redis_url):
    first, second = open_digests(redis_url), open_digests(redis_url)
    for digests in (first, second):
        await asyncio.gather(*(digests.add(b"%d" % number) for number in range(8)))
    async with Redis.from_url(redis_url) as redis:
        await redis.client_kill_filter(_type="normal", skipme=True)
    assert [await digests.add(b"form") for digests in (first, second, first)] == [True, False, False]
    for digests in (first, second):
        await digests.close()


async def test_a_digest_whose_answer_was_lost_is_new_to_the_one_that_wrote_it(redis_url):
    parts, address = asyncio.Event(), urlsplit(redis_url)

    async def lose_one(part):
        if not parts.is_set():
            return part
        parts.clear()
        return None

    async with wire(address.hostname, address.port, down=lose_one) as port:
        first = open_digests(_url_of_wire(redis_url, port))
        assert await first.add(b"another")
        parts.set()
        second = open_digests(redis_url)
        answers = [await digests.add(b"form") for digests in (first, second, first)]
        assert answers == [
            True,
            False,
            False,
        ]
        assert not parts.is_set()
        for digests in (first, second):
            await digests.close()


async def test_of_many_forms_one_alone_waits_for_a_redis_that_does_not_answer(monkeypatch):
    monkeypatch.setattr(shared_digests, "TIMEOUT", 0.1)
    connections, now = [], [0.0]
    server = await asyncio.start_server(lambda *connection: connections.append(connection), "127.0.0.1", 0)
    url = f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    digests = SharedDigests(url, clock=lambda: now[0])

    async def tries() -> int:
        before = len(connections)
        assert all(await asyncio.gather(*(digests.add(b"a") for _ in range(5))))
        await digests.keep(b"a")
        await digests.remove(b"a")
        return len(connections) - before

    # The first ones do not know yet.
    assert await tries() == 5
    pause = FIRST_PAUSE
    while pause < 2 * LONGEST_PAUSE:
        now[0] += min(pause, LONGEST_PAUSE) - 1
        assert await tries() == 0
        now[0] += 1
        assert await tries() == 1
        pause *= 2
    (line,) = await digests.examine(False)
    assert line.startswith("web: INGOT_STORE_URL does not answer: ")
    await digests.close()
    server.close()


async def test_a_redis_that_answers_again_is_asked_by_all(redis_url):
    is_away, now, address = True, [0.0], urlsplit(redis_url)

    async def answer(part):
        return None if is_away else part

    async with wire(address.hostname, address.port, down=answer) as port:
        digests = SharedDigests(_url_of_wire(redis_url, port), clock=lambda: now[0])
        assert [await digests.add(b"a") for _ in range(2)] == [True, True]
        is_away = False
        now[0] += FIRST_PAUSE
        assert [await digests.add(b"b") for _ in range(2)] == [True, False]
        assert await digests.examine(False) == []
        await digests.close()


def test_without_a_redis_nothing_is_shared_and_another_store_is_a_wrong_setting():
    assert open_digests("memory://") is None
    with pytest.raises(SettingsError):
        open_digests("memcached://here")
