"""Every text and every list of a request has a limit: a far too long value is sent for each in the
description."""

import re
from itertools import groupby

import pytest

from ingot_chassis.http.openapi import openapi_description
from ingot_testing.long_texts import request_fields

from .builders import config, hook
from .test_roles import BODIES, create_hook_with_delivery

OWNERS = {
    "/repos/{owner}/{repo}": "/repos/ann/app",
    "/orgs/{org}": "/orgs/acme",
    "/user": "/user",
    "/admin": "/admin",
}
"""The beginning of a path to one that is there."""


async def test_whatever_is_too_long_is_refused_by_its_field(world):
    fields, complaints = list(request_fields(openapi_description(world.app))), {}
    for (method, path), group in groupby(fields, lambda field: (field.method, field.path)):
        template = next(template for template in OWNERS if path.startswith(f"/api/v1{template}/"))
        place, below = OWNERS[template], path.removeprefix(f"/api/v1{template}")
        target = place + below.format(**await create_hook_with_delivery(world, place))
        for field in group:
            body = field.within(BODIES[f"{method} {below}"], field.excess())
            answer = await world.call(method, target, body, user=6, admin=True)
            complaints[method, path, field.keys] = field.complaint(answer)
    assert len(complaints) > 10
    assert {field: text for field, text in complaints.items() if text} == {}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (hook(branch_filter="m" * 256), "branch_filter"),
        (hook(authorization_header="x" * 1001), "authorization_header"),
        (hook(events=["push"] * 101), "events"),
        (hook(events=["x" * 256]), "events"),
        ({"type": "x" * 256, "config": config()}, "type"),
        ({"type": "gitea", "config": config("http://x/" + "y" * 2040)}, "config.url"),
        ({"type": "gitea", "config": config(secret="s" * 256)}, "config.secret"),
        ({"type": "discord", "config": config(icon_url="y" * 501)}, "config.icon_url"),
        ({"type": "slack", "config": config(channel="y" * 501)}, "config.channel"),
    ],
)
async def test_one_more_than_the_limit_is_too_many(world, body, field):
    refused = await world.call("POST", "/repos/ann/app/hooks", body)
    assert refused.status_code == 422
    (error,) = refused.json()["errors"]
    assert error["field"].split("[")[0] == field
    assert re.search(r"\d", error["message"])


async def test_a_value_at_its_limit_and_an_unknown_key_are_accepted(world):
    url = "http://x/" + "y" * 2039
    config_ = config(url, secret="s" * 255, icon_url="y" * 500, http_method="post")
    created = await world.call("POST", "/repos/ann/app/hooks", hook(type="discord") | {"config": config_})
    assert (created.status_code, created.json()["config"]["url"]) == (201, url)
