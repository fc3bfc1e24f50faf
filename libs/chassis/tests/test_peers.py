"""An error of a peer arrives as the error that it raised."""

import msgspec
import pytest

from ingot_chassis.errors import Invalid, NotFound, TooManyRequests
from ingot_chassis.peers.peers import NoRoute, Peer
from ingot_chassis.peers.transports import PeerAnswer
from ingot_chassis.security.keys import SigningKey
from ingot_chassis.security.principal import ServiceIdentity
from ingot_chassis.telemetry import set_client_address


class RefusingTransport:
    """A transport whose every call is refused."""

    def __init__(self, status, headers, body):
        self._answer = PeerAnswer(status, headers, body)

    async def send(self, _method, _path, headers, *_more):
        self.sent = headers
        return self._answer

    async def close(self):
        """Nothing is open."""


def peer(status, body, **headers):
    own = ServiceIdentity("gateway", SigningKey.generate())
    return Peer("identity", RefusingTransport(status, headers, body), own)


async def test_who_has_to_wait_is_told_how_long():
    with pytest.raises(TooManyRequests) as refused:
        await peer(429, b'{"message":"slow down","url":""}', **{"retry-after": "7"}).get("/x", str)
    assert refused.value.headers == {"retry-after": "7"}
    assert refused.value.message == "slow down"


async def test_a_refused_field_keeps_its_name():
    body = b'{"message":"m","url":"","errors":[{"field":"name","code":"taken","message":"x"}]}'
    with pytest.raises(Invalid) as refused:
        await peer(422, body).get("/x", str)
    assert [error.field for error in refused.value.errors] == ["name"]


@pytest.mark.parametrize(("message", "error"), [("no such operation", NoRoute), ("Not found.", NotFound)])
async def test_a_missing_route_is_told_from_what_is_not_there(message, error):
    """By the words of `error_responses`, which every release has."""
    with pytest.raises(NotFound) as refused:
        await peer(404, msgspec.json.encode({"message": message, "url": ""})).get("/internal/x", str)
    assert (type(refused.value), refused.value.status) == (error, 404)


async def test_the_address_of_the_caller_goes_along():
    own = ServiceIdentity("issues", SigningKey.generate())
    transport = RefusingTransport(200, {}, b"1")
    set_client_address("192.0.2.7")
    await Peer("repos", transport, own).get("/x", int)
    assert transport.sent["x-forwarded-for"] == "192.0.2.7"
    set_client_address("")
    await Peer("repos", transport, own).get("/x", int)
    assert "x-forwarded-for" not in transport.sent
