"""Secrets of hooks: two while they rotate, and a header that nobody can read back."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import update
from standardwebhooks import Webhook
from standardwebhooks.webhooks import WebhookVerificationError

from ingot_chassis.tables import now
from ingot_chassis.testing.receiver import Receiver
from ingot_hooks.core.signing import standard_key

from .builders import config, hook, push
from .conftest import World

HOOKS = "/repos/ann/app/hooks"


async def make(world: World, url: str, **more: Any) -> str:
    made = await world.call("POST", HOOKS, hook(config=config(url, secret="old"), **more))
    assert made.status_code == 201, made.text
    assert "authorization_header" not in made.json()
    return f"{HOOKS}/{made.json()['id']}"


async def sent(world: World, receiver: Receiver) -> Any:
    await world.hear(push())
    await world.deliverer.step()
    return receiver.requests[-1]


def verifies(request: Any, secret: str) -> bool:
    try:
        Webhook(standard_key(secret)).verify(request.body, dict(request.headers))
    except WebhookVerificationError:
        return False
    return True


async def test_a_replaced_secret_signs_for_a_while(world: World, receiver: Receiver) -> None:
    path = await make(world, receiver.url)
    await world.call("PATCH", path, {"config": {"secret": "new"}})
    await world.call("PATCH", path, {"config": {"secret": "new"}})
    request = await sent(world, receiver)
    assert verifies(request, "old")
    assert verifies(request, "new")
    async with world.db.transaction() as tx:
        table = world.db.metadata.tables["hook"]
        await tx.execute(update(table).values(former_until=now() - timedelta(seconds=1)))
    request = await sent(world, receiver)
    assert (verifies(request, "old"), verifies(request, "new")) == (False, True)


async def test_a_secret_that_is_taken_away_signs_no_more(world: World, receiver: Receiver) -> None:
    path = await make(world, receiver.url)
    await world.call("PATCH", path, {"config": {"secret": ""}})
    assert "webhook-signature" not in (await sent(world, receiver)).headers


async def test_the_authorization_header_is_sent_and_never_shown(world: World, receiver: Receiver) -> None:
    path = await make(world, receiver.url, authorization_header="Bearer s3cret")
    assert (await sent(world, receiver)).headers["Authorization"] == "Bearer s3cret"
    for shown in (path, HOOKS, f"{path}/deliveries"):
        assert "s3cret" not in (await world.call("GET", shown)).text
    async with world.db.read() as db:
        row = (await db.execute(world.db.metadata.tables["hook"].select())).one()
    assert b"s3cret" not in row.sealed_authorization


@pytest.mark.parametrize(
    ("edit", "header"),
    [
        ({}, "Bearer s3cret"),
        ({"config": {"secret": "other"}}, "Bearer s3cret"),
        ({"authorization_header": "Basic x"}, "Basic x"),
        ({"authorization_header": ""}, None),
    ],
)
async def test_an_edit_changes_the_header_only_when_it_names_it(
    world: World, receiver: Receiver, edit: Any, header: str | None
) -> None:
    path = await make(world, receiver.url, authorization_header="Bearer s3cret")
    await world.call("PATCH", path, edit)
    assert (await sent(world, receiver)).headers.get("Authorization") == header


@pytest.mark.parametrize(
    "before", ["http://elsewhere.example.org", "https://127.0.0.1:{port}", "http://127.0.0.1:{port}/other"]
)
async def test_the_header_does_not_follow_to_another_url(
    world: World, receiver: Receiver, before: str
) -> None:
    port = receiver.url.rpartition(":")[2]
    path = await make(world, before.format(port=port), authorization_header="Bearer s3cret")
    await world.call("PATCH", path, {"config": {"url": receiver.url}})
    assert "Authorization" not in (await sent(world, receiver)).headers


@pytest.mark.parametrize(
    ("edit", "header"), [({}, "Bearer s3cret"), ({"authorization_header": "Basic x"}, "Basic x")]
)
async def test_the_header_stays_with_its_url_and_one_that_is_given_goes_along(
    world: World, receiver: Receiver, edit: Any, header: str
) -> None:
    path = await make(world, receiver.url, authorization_header="Bearer s3cret")
    url = receiver.url + ("/new" if edit else "")
    await world.call("PATCH", path, {"config": {"url": url, "content_type": "json"}, **edit})
    assert (await sent(world, receiver)).headers["Authorization"] == header


@pytest.mark.parametrize("header", ["a\r\nX: y", "a\nb", "ä", "x" * 1500])
async def test_a_header_that_cannot_be_sent_is_refused(world: World, header: str) -> None:
    refused = await world.call("POST", HOOKS, hook(authorization_header=header))
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"] == "authorization_header"
