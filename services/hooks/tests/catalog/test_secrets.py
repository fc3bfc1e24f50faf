"""Secrets of hooks: rotation of the signing secret, and the Authorization header, which the API never
returns."""

from datetime import timedelta
from typing import Any

import pytest
from standardwebhooks import Webhook
from standardwebhooks.webhooks import WebhookVerificationError

from ingot_chassis.clock import now
from ingot_hooks.deliveries.rules.signing import standard_webhooks_key
from ingot_testing.receiver import Receiver

from ..builders import hook, push
from ..world import HOOKS, MEMBER, OWNER, World


async def create_hook(world: World, url: str, **fields: Any) -> str:
    """Its path."""
    return f"{HOOKS}/{await world.create_hook(url, secret='old', **fields)}"


async def send(world: World, receiver: Receiver) -> Any:
    await world.deliver(push())
    await world.worker.step()
    return receiver.requests[-1]


def verifies(request: Any, secret: str) -> bool:
    try:
        Webhook(standard_webhooks_key(secret)).verify(request.body, dict(request.headers))
    except WebhookVerificationError:
        return False
    return True


async def test_a_replaced_secret_signs_for_a_while(world, receiver):
    path = await create_hook(world, receiver.url)
    await world.call("PATCH", path, {"config": {"secret": "new"}})
    await world.call("PATCH", path, {"config": {"secret": "new"}})
    request = await send(world, receiver)
    assert verifies(request, "old")
    assert verifies(request, "new")
    await world.update_all("hook", former_until=now() - timedelta(seconds=1))
    request = await send(world, receiver)
    assert (verifies(request, "old"), verifies(request, "new")) == (False, True)


async def test_a_removed_secret_does_not_sign(world, receiver):
    path = await create_hook(world, receiver.url)
    await world.call("PATCH", path, {"config": {"secret": ""}})
    assert "webhook-signature" not in (await send(world, receiver)).headers


async def test_the_authorization_header_is_sealed_sent_and_shown_with_the_hook(world, receiver):
    path = await create_hook(world, receiver.url, authorization_header="Bearer s3cret")
    assert (await send(world, receiver)).headers["Authorization"] == "Bearer s3cret"
    assert (await world.call("GET", path)).json()["authorization_header"] == "Bearer s3cret"
    assert [one["authorization_header"] for one in (await world.call("GET", HOOKS)).json()] == [
        "Bearer s3cret"
    ]
    assert "s3cret" not in (await world.call("GET", f"{path}/deliveries")).text
    (row,) = await world.rows("hook")
    assert b"s3cret" not in row.sealed_authorization


async def test_the_header_of_an_organization_is_shown_to_those_who_may_change_the_hook(world):
    hooks, body = "/orgs/acme/hooks", hook(authorization_header="Bearer s3cret")
    created = await world.call("POST", hooks, body, organizations=OWNER)
    assert created.json()["authorization_header"] == "Bearer s3cret"
    path = f"{hooks}/{created.json()['id']}"
    for caller, header in (
        ({"organizations": OWNER}, "Bearer s3cret"),
        ({"user": 3, "admin": True}, "Bearer s3cret"),
        ({"organizations": MEMBER}, ""),
    ):
        assert (await world.call("GET", path, **caller)).json()["authorization_header"] == header
        [listed] = (await world.call("GET", hooks, **caller)).json()
        assert listed["authorization_header"] == header


async def test_a_header_that_another_key_sealed_is_not_shown(world):
    path = await create_hook(world, "http://ci.example.org", authorization_header="Bearer s3cret")
    await world.update_all("hook", sealed_authorization=b"of another key")
    answer = await world.call("GET", path)
    assert (answer.status_code, answer.json()["authorization_header"]) == (200, "")


@pytest.mark.parametrize(
    ("edit", "header"),
    [
        ({}, "Bearer s3cret"),
        ({"config": {"secret": "other"}}, "Bearer s3cret"),
        ({"authorization_header": "Basic x"}, "Basic x"),
        ({"authorization_header": ""}, None),
    ],
)
async def test_an_edit_changes_the_header_only_when_it_names_it(world, receiver, edit, header):
    path = await create_hook(world, receiver.url, authorization_header="Bearer s3cret")
    await world.call("PATCH", path, edit)
    assert (await send(world, receiver)).headers.get("Authorization") == header


@pytest.mark.parametrize(
    "before", ["http://other.example.org", "https://127.0.0.1:{port}", "http://127.0.0.1:{port}/other"]
)
async def test_the_header_is_dropped_when_the_url_changes(world, receiver, before):
    port = receiver.url.rpartition(":")[2]
    path = await create_hook(world, before.format(port=port), authorization_header="Bearer s3cret")
    await world.call("PATCH", path, {"config": {"url": receiver.url}})
    assert "Authorization" not in (await send(world, receiver)).headers


@pytest.mark.parametrize(
    ("edit", "header"), [({}, "Bearer s3cret"), ({"authorization_header": "Basic x"}, "Basic x")]
)
async def test_the_header_stays_with_its_url_unless_a_new_one_comes_with_the_new_url(
    world, receiver, edit, header
):
    path = await create_hook(world, receiver.url, authorization_header="Bearer s3cret")
    url = receiver.url + ("/new" if edit else "")
    await world.call("PATCH", path, {"config": {"url": url, "content_type": "json"}, **edit})
    assert (await send(world, receiver)).headers["Authorization"] == header


@pytest.mark.parametrize("header", ["a\r\nX: y", "a\nb", "ä", "x" * 1500])
async def test_a_header_that_cannot_be_sent_is_rejected(world, header):
    refused = await world.call("POST", HOOKS, hook(authorization_header=header))
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"] == "authorization_header"
