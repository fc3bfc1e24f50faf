"""What a peer refuses arrives as the error that it raised."""

import pytest

from ingot_chassis.errors import Invalid, TooManyRequests
from ingot_chassis.keys import SigningKey
from ingot_chassis.peers import Peer, PeerAnswer
from ingot_chassis.principal import ServiceIdentity


class Refusing:
    """A transport whose every call is refused."""

    def __init__(self, status, headers, body):
        self._answer = PeerAnswer(status, headers, body)

    async def send(self, *_call, **_more):
        return self._answer

    async def close(self):
        """Nothing is open."""


def peer(status, body, **headers):
    own = ServiceIdentity("gateway", SigningKey.generate())
    return Peer("identity", Refusing(status, headers, body), own)


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
