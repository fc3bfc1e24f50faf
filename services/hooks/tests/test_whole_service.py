"""Through the whole service, with real NATS: an event that repos published arrives at an endpoint."""

import json
import uuid

import msgspec
import pytest
from standardwebhooks import Webhook

from ingot_chassis.events.bus import Bus
from ingot_chassis.events.envelope import subject
from ingot_chassis.security.principal import Membership
from ingot_hooks.catalog.store.tables import HookType
from ingot_hooks.payloads.rules.notices import NOTICES_OF
from ingot_hooks.payloads.rules.subscriptions import EVENTS
from ingot_testing.service import envelope_of

from .builders import EVENTS_BY_NAME, config, hook, push
from .payload_reference import PAYLOADS, differences
from .world import World

SECRET = "whsec_" + "a2s" * 16 + "aw=="


@pytest.mark.parametrize("event", EVENTS)
async def test_every_event_arrives_at_subscribed_hooks_of_every_type(world, receiver, event):
    path = "/orgs/acme/hooks" if event == "repository" else "/repos/ann/app/hooks"
    owner = {50: Membership(owner=True)}
    world.identity.memberships[1] = owner
    for type_ in HookType:
        target = config(f"{receiver.url}/{type_}", channel="#c")
        body = hook(type=type_, config=target, events=[event])
        assert (await world.call("POST", path, body, organizations=owner)).status_code == 201
    for each in EVENTS_BY_NAME.values():
        await world.deliver(each)
    await world.worker.step()
    arrived = [(each.path.split("/")[1], each.headers["X-Gitea-Event"]) for each in receiver.requests]
    notices = [notice for each in EVENTS_BY_NAME.values() for notice in NOTICES_OF[type(each)](each)]
    count = sum(notice.event == event for notice in notices)
    assert count
    assert sorted(arrived) == sorted([(type_, event) for type_ in HookType] * count)
    for request in receiver.requests:
        if request.path in ("/gitea", "/gogs") and event in PAYLOADS:
            assert differences(event, json.loads(request.body)) == []


async def publish(bus: Bus, event_id: str) -> None:
    """Publish a push as repos does. NATS does not drop a copy of it here, for its message id is another."""
    envelope = envelope_of(push(), event_id=event_id)
    await bus.ensure_stream("repos")
    await bus.publish([(subject(envelope.type), str(uuid.uuid4()), msgspec.json.encode(envelope))])


@pytest.fixture
def running(settings, own_nats):
    settings.background = True
    settings.nats_url = own_nats.url
    return World(settings)


async def test_a_published_push_arrives_once_and_signed(running, receiver):
    async with running.client, running.app.lifespan():
        created = await running.call(
            "POST", "/repos/ann/app/hooks", hook(config=config(receiver.url, secret=SECRET))
        )
        assert created.status_code == 201
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
