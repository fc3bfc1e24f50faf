"""Hostile names in every parameter and field of every route, also of those that the description leaves out.

Whatever is sent, the answer is no failure of the server.
"""

import msgspec
import pytest

from ingot_chassis.http.openapi import openapi_description
from ingot_chassis.security.keys import SigningKey
from ingot_chassis.security.principal import SERVICE_HEADER, Principal, ServiceIdentity
from ingot_testing.hostile_values import STORED, VALUES, in_addresses, in_bodies, undescribed

from .builders import hook

PEERS = {name: SigningKey.generate() for name in ("gateway", "web")}
ORDINARY = {"owner": "ann", "repo": "app", "org": "acme"}
ANN = Principal(id=1, name="ann", admin=True, via="basic")
everywhere = pytest.mark.parametrize(
    ("database_backend", "values"),
    [("sqlite", VALUES), ("postgresql", STORED)],
    ids=["all values", "values that are stored"],
    indirect=["database_backend"],
)


@pytest.fixture
def settings(settings):
    return msgspec.structs.replace(settings, public_keys={name: key.x for name, key in PEERS.items()})


async def sent(world, requests):
    """Send the requests as ann, or as a service that may call the route. Return the number; none may fail."""
    count = 0
    for count, one in enumerate(requests, 1):  # noqa: B007 - the number of the last one
        headers = world.callers.headers(ANN)
        for peer in [name for name in PEERS if name in one.services][:1]:
            headers |= {SERVICE_HEADER: ServiceIdentity(peer, PEERS[peer]).token("hooks")}
        content = {} if one.body is None else {"json": one.body}
        answer = await world.client.request(one.method, one.url, headers=headers, **content)
        assert answer.status_code < 500, (one, answer.text)
        assert "a" not in answer.cookies, one
    return count


@everywhere
async def test_in_paths_and_queries(world, values):
    assert (await world.call("POST", "/repos/ann/app/hooks", hook())).status_code == 201
    assert await sent(world, in_addresses(undescribed(world.app), values, ORDINARY)) > 2 * len(values)
    assert await sent(world, in_addresses(openapi_description(world.app), values, ORDINARY)) > 5 * len(values)


@everywhere
async def test_in_fields_of_bodies(world, values):
    requests = in_bodies(openapi_description(world.app), values, hook(), ORDINARY)
    assert await sent(world, requests) > 5 * len(values)
