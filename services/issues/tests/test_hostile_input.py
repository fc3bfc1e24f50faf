"""Hostile names in every parameter and field of every route, also of those that the description leaves out.

Whatever is sent, the answer is no failure of the server.
"""

import pytest

from ingot_chassis.http.openapi import openapi_description
from ingot_chassis.security.keys import SigningKey
from ingot_chassis.security.principal import SERVICE_HEADER, ServiceIdentity
from ingot_testing.hostile_values import STORED, VALUES, in_addresses, in_bodies, undescribed

from .test_long_texts import FILLED, targets

PEERS = {name: SigningKey.generate() for name in ("gateway", "web")}
ORDINARY = {"owner": "ann", "repo": "app", "org": "acme", "user": "ann", "username": "ann", "index": "2"}
GOOD = {"texts": ["x"], "context": "ann/app", "images": "ann/app", "name": "x", "ids": [1]}
"""Of bodies that are not described."""
everywhere = pytest.mark.parametrize(
    ("database_backend", "values"),
    [("sqlite", VALUES), ("postgresql", STORED)],
    ids=["all values", "values that are stored"],
    indirect=["database_backend"],
)


@pytest.fixture
def settings(settings):
    return settings | {"public_keys": {name: key.x for name, key in PEERS.items()}}


async def sent(world, requests):
    """Return how many of them ann, or for internal routes a service, has sent. None may fail with a 5xx."""
    count = 0
    for count, one in enumerate(requests, 1):  # noqa: B007 - the number of the last one
        headers = world.headers(1, admin=True)
        for peer in [name for name in PEERS if name in one.services][:1]:
            headers |= {SERVICE_HEADER: ServiceIdentity(peer, PEERS[peer]).token("issues")}
        content = {} if one.body is None else {"json": one.body}
        answer = await world.http.request(one.method, one.url, headers=headers, **content)
        assert answer.status_code < 500, (one, answer.text)
        assert "a" not in answer.cookies, one
    return count


@everywhere
async def test_in_paths_and_queries(world, values):
    await targets(world)
    assert await sent(world, in_addresses(undescribed(world.app), values, ORDINARY)) > 2 * len(values)


@everywhere
async def test_in_paths_and_queries_that_are_described(world, values):
    """Other values come from the description itself (tests/e2e/test_schema.py)."""
    await targets(world)
    requests = in_addresses(openapi_description(world.app), {*STORED, *values[-4:]}, ORDINARY)
    assert await sent(world, requests) > 500


@everywhere
async def test_in_fields_of_bodies(world, values):
    await targets(world)
    assert await sent(world, in_bodies(undescribed(world.app), values, GOOD)) > len(values) / 2
    assert await sent(world, in_bodies(openapi_description(world.app), values, FILLED, ORDINARY)) > 100
