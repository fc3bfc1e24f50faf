"""The whole way through real NATS: an event that repos published arrives at an endpoint."""

import json
import uuid

import msgspec
import pytest
from standardwebhooks import Webhook

from ingot_chassis.bus import Bus
from ingot_chassis.events import event_type, subject
from ingot_chassis.principal import Membership
from ingot_chassis.testing.receiver import Receiver
from ingot_chassis.testing.servers import NatsServer
from ingot_contracts.issues import CommentChanged, IssueChanged, PullRequestChanged
from ingot_contracts.repos import NO_COMMIT, RepositoryCreated, RepositoryForked
from ingot_hooks.core.bodies import TYPES
from ingot_hooks.core.subscriptions import EVENTS
from ingot_hooks.settings import Settings

from .builders import (
    ACME,
    ANN,
    Sisters,
    comment,
    config,
    envelope,
    hook,
    issue,
    pull_request,
    push,
    release,
    repository,
    status,
)
from .conftest import World
from .reference import departures

OF_ACME = repository(11, owner=ACME)
SECRET = "whsec_" + "a2s" * 16 + "aw=="


TOLD: dict[str, msgspec.Struct] = {
    "create": push(before=NO_COMMIT),
    "push": push(),
    "delete": push(after=NO_COMMIT),
    "fork": RepositoryForked(forkee=repository(), repository=repository(9, name="fork"), sender=ANN),
    "repository": RepositoryCreated(repository=OF_ACME, sender=ANN, owner_kind="organization"),
    "issues": IssueChanged(action="opened", issue=issue(), repository=repository(), sender=ANN),
    "issue_comment": CommentChanged(
        action="created", issue=issue(), comment=comment(), repository=repository(), sender=ANN
    ),
    "pull_request": PullRequestChanged(
        action="closed", pull_request=pull_request(), repository=repository(), sender=ANN
    ),
    "release": release(),
    "status": status(),
}


TOLD_NOTICES = (["create", "push"], ["push"], ["push", "delete"], *([name] for name in list(TOLD)[3:]))
"""What follows from each of these."""


@pytest.mark.parametrize("event", EVENTS)
async def test_every_event_arrives_at_hooks_of_every_type_that_ask_for_it(
    world: World, receiver: Receiver, event: str
) -> None:
    path = "/orgs/acme/hooks" if event == "repository" else "/repos/ann/app/hooks"
    owner = {50: Membership(owner=True)}
    world.sisters.memberships[1] = owner
    for type_ in TYPES:
        target = config(f"{receiver.url}/{type_}", channel="#c")
        body = hook(type=type_, config=target, events=[event])
        assert (await world.call("POST", path, body, held=owner)).status_code == 201
    for each in TOLD.values():
        await world.hear(each)
    await world.deliverer.step()
    arrived = [(each.path.split("/")[1], each.headers["X-Gitea-Event"]) for each in receiver.requests]
    count = sum(name == event for notices in TOLD_NOTICES for name in notices)
    assert sorted(arrived) == sorted([(type_, event) for type_ in TYPES] * count)
    for request in receiver.requests:
        if request.path in ("/gitea", "/gogs"):
            assert departures(event, json.loads(request.body)) == []


async def publish(bus: Bus, id_: str) -> None:
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
