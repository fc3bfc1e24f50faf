"""Forms that are remembered, by one process and by several."""

import time

import pytest
from redis.asyncio import Redis

from ingot_chassis.security.keys import SigningKey
from ingot_web.forms.rules.sent import RecentDigests, SentForms, digest_of
from ingot_web.forms.store import LONG_SECONDS, SHORT_SECONDS, open_digests

from ..forge import HOME
from ..test_forms import ANSWERS, CHANGED_ANSWER
from ..world import ANN, World

COMMENT = "/ann/demo/issues/1/comments"


def test_a_digest_is_new_once_unless_it_was_removed():
    digests = RecentDigests()
    assert [digests.add(b"a"), digests.add(b"a"), digests.add(b"b")] == [True, False, True]
    digests.remove(b"a")
    digests.remove(b"c")
    assert digests.add(b"a")


def test_the_oldest_digest_is_forgotten_first():
    digests = RecentDigests(most=2)
    assert [digests.add(digest) for digest in (b"a", b"b", b"c", b"a", b"c")] == [
        True,
        True,
        True,
        True,
        False,
    ]


def test_where_a_field_ends_counts():
    assert digest_of([b"ab", b"c"]) != digest_of([b"a", b"bc"])


@pytest.fixture(params=["redis", "away"])
async def replicas(request, forge, redis_url):
    """Two processes with one Redis. With `away`, no server listens at its address."""
    forge.answers |= ANSWERS
    forge.changed = CHANGED_ANSWER
    settings = {
        "private_key": SigningKey.generate().text(),
        "store_url": redis_url if request.param == "redis" else "redis://127.0.0.1:1",
    }
    first = World(forge, **settings)
    worlds = [first, World(forge, callers=first.callers, **settings)]
    yield worlds
    for world in worlds:
        await world.close()


async def _send(world, form):
    return (await world.post(COMMENT, form, ANN)).status_code


def _form(world, body):
    return {"body": body, "token": world.form_token(ANN, at=time.time())}


async def test_a_form_that_reaches_another_process_changes_nothing_again(request, replicas, forge):
    form = _form(replicas[0], "so")
    answers = [await _send(world, form) for world in (*replicas, *replicas)]
    # While Redis is down each process knows only its own forms: a repeated form is accepted, so changes stay
    # possible.
    is_shared = "redis" in request.node.callspec.id.split("-")
    assert answers == ([303, 409, 409, 409] if is_shared else [303, 303, 409, 409])
    assert [call[:2] for call in forge.sent] == [("POST", f"{HOME}/issues/1/comments")] * answers.count(303)


async def test_a_form_that_was_refused_may_be_sent_again_to_any_process(replicas, forge):
    first, second = replicas
    form = _form(first, "so")
    forge.refuses = 422
    assert [await _send(first, form), await _send(second, form), await _send(first, form)] == [422] * 3
    forge.refuses = 0
    assert [await _send(second, form), await _send(second, form)] == [303, 409]


@pytest.mark.parametrize(
    ("refused", "fields", "status"),
    [("", {}, 303), (f"{HOME}/issues/1", {"state": "closed"}, 403)],
    ids=["changed", "changed in part"],
)
async def test_a_form_is_known_for_long_once_it_has_changed_something(
    forge, redis_url, refused, fields, status
):
    forge.answers |= ANSWERS
    forge.changed = CHANGED_ANSWER
    forge.refusals[refused] = (403, b'{"message": "refused", "url": ""}')
    world = World(forge, store_url=redis_url)
    assert await _send(world, _form(world, "so") | fields) == status
    async with Redis.from_url(redis_url) as redis:
        (key,) = await redis.keys()
        assert SHORT_SECONDS < await redis.ttl(key) <= LONG_SECONDS
    await world.close()


async def test_a_process_that_refused_a_copy_takes_the_form_when_the_first_one_refused_it_too(redis_url):
    shared = [open_digests(redis_url) for _ in range(2)]
    first, second = map(SentForms, shared)
    assert [await first.add(b"form"), await second.add(b"form")] == [True, False]
    await first.remove(b"form")
    assert [await second.add(b"form"), await first.add(b"form")] == [True, False]
    for digests in shared:
        await digests.close()
