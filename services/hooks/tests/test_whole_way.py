"""The whole way through real NATS: an event that repos published arrives at an endpoint."""

import uuid

import pytest
from standardwebhooks import Webhook

from ingot_chassis.bus import Bus
from ingot_chassis.events import event_type, subject
from ingot_chassis.testing.receiver import Receiver
from ingot_chassis.testing.servers import NatsServer
from ingot_hooks.settings import Settings

from .builders import Sisters, config, envelope, hook, push
from .conftest import World

SECRET = "whsec_" + "a2s" * 16 + "aw=="


async def publish(bus: Bus, id_: str) -> None:
    import msgspec

    event = push()
    await bus.ensure_stream("repos")
    body = msgspec.json.encode(envelope(event, id_=id_))
    await bus.publish([(subject(event_type(type(event))), str(uuid.uuid4()), body)])


@pytest.fixture
def running(settings: Settings, own_nats: NatsServer) -> World:
    settings.background = True
    settings.nats_url = own_nats.url
    return World(settings, Sisters())


async def test_a_published_push_arrives_once_and_signed(running: World, receiver: Receiver) -> None:
    async with running.client, running.app.lifespan():
        made = await running.call(
            "POST", "/repos/ann/app/hooks", hook(config=config(receiver.url, secret=SECRET))
        )
        assert made.status_code == 201
        bus = Bus(running.settings.nats_url, name="repos")
        await publish(bus, "e1")
        await publish(bus, "e1")
        await publish(bus, "e2")
        requests = await receiver.wait_for(2)
        await bus.close()
    assert len(receiver.requests) == 2
    assert len({request.headers["webhook-id"] for request in requests}) == 2
    for request in requests:
        Webhook(SECRET).verify(request.body, dict(request.headers))
