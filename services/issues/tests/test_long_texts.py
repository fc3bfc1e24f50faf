"""Texts and lists beyond any limit, in every field of every request, generated from the API description.

Every request is rejected, the response names the field, and nothing is stored.
"""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from ingot_chassis.http.openapi import openapi_description
from ingot_chassis.security.principal import Membership
from ingot_testing.long_texts import LONG, RequestField, request_fields

from .world import World

LONG_IN_FORM = "x" * 200_000
ISSUE, PULL = 1, 2
FILLED = {
    "title": "x", "head": "more", "base": "main", "name": "x", "color": "#ff0000", "body": "x", "index": 1,
    "content": "eyes", "path": "x",
}  # fmt: skip
"""Other fields that a request must have to be accepted."""
RENDERS = {"renderMarkdown", "renderMarkdownRaw", "renderMarkup"}
"""They store nothing, and bound their body as a whole."""


def fields_of(world: World) -> list[RequestField]:
    return list(request_fields(openapi_description(world.app)))


async def targets(world: World) -> Callable[[str], str]:
    """Makes one of everything that paths name; fills these names in."""
    await world.open_issue()
    await world.propose()
    comment = (await world.call("POST", f"/issues/{ISSUE}/comments", {"body": "x"})).json()["id"]
    label = (await world.create_label())["id"]
    milestone = (await world.create_milestone())["id"]
    world.identity.add_account(9, "acme", kind="organization")
    world.identity.memberships = {1: {9: Membership(owner=True)}}
    answer = await world.call("POST", "//orgs/acme/labels", {"name": "x", "color": "#ff0000"})
    values = {
        "owner": "ann",
        "repo": "app",
        "org": "acme",
        "comment_id": comment,
        "label_id": label,
        "milestone_id": milestone,
        "id": answer.json()["id"],
        **dict.fromkeys(("attachment_id", "position", "review_id", "time_id"), 1),
        "user": "ann",
    }

    def filled(path: str) -> str:
        return path.format(**values, index=PULL if "/pulls/" in path else ISSUE)

    return filled


async def sent(world: World, field: RequestField, path: str, body: Any = None, **form: Any) -> httpx.Response:
    world.forget_grants()
    content = form or {"json": body}
    return await world.http.request(field.method, path, headers=world.headers(1), **content)


# These requests take long, and are refused before the database is used: one database is enough.
@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_whatever_is_too_long_is_refused_by_its_field(world):
    filled = await targets(world)
    before = await world.payloads()
    fields, complaints = fields_of(world), {}
    for field in fields:
        answer = await sent(world, field, filled(field.path), field.within(FILLED, field.excess()))
        if field.operation_id in RENDERS:
            assert answer.status_code == 422
        else:
            complaints[field.method, field.path, field.keys] = field.complaint(answer)
    assert len(complaints) > 50
    assert {field: text for field, text in complaints.items() if text} == {}
    assert await world.payloads() == before


async def test_a_form_is_bounded_like_json(world):
    filled = await targets(world)
    before = await world.payloads()
    complaints = {}
    for field in fields_of(world):
        name, *within = field.keys
        if field.operation_id in RENDERS or field.is_list or len(within) > 1:  # a form has no objects
            continue
        form = FILLED | {f"{name}[]" if within else name: LONG_IN_FORM}
        complaints[field.method, field.path, field.keys] = field.complaint(
            await sent(world, field, filled(field.path), data=form)
        )
    assert {field: text for field, text in complaints.items() if text} == {}
    assert await world.payloads() == before


async def test_markdown_that_is_not_json_is_bounded_too(world):
    answer = await world.http.post(
        "/api/v1/markdown/raw", content="x" * LONG, headers={"content-type": "text/plain"}
    )
    assert answer.status_code == 422


async def test_the_answer_names_the_field_and_the_limit(world):
    await targets(world)
    for path, body, field, limit in (
        ("/milestones", {"title": "x", "description": "x" * 4_500_000}, "description", "65536"),
        ("/issues", {"title": "x" * 256}, "title", "255"),
        ("/issues", {"title": "x", "body": "x" * 131_073}, "body", "131072"),
        ("/issues", {"title": "x", "labels": ["x" * 256]}, "labels", "255"),
        ("/issues", {"title": "x", "assignees": ["bob"] * 1_001}, "assignees", "1000"),
        (f"/pulls/{PULL}/merge", {"merge_message_field": "x" * 65_537}, "merge_message_field", "65536"),
    ):
        answer = await world.call("POST", path, body)
        assert answer.status_code == 422
        [error] = answer.json()["errors"]
        assert field in error["field"]
        assert limit in error["message"]


async def test_texts_as_long_as_their_limits_are_stored(world):
    await targets(world)
    for method, path, body in (
        ("POST", "/issues", {"title": "\u20ac" * 255, "body": "\u20ac" * 131_072}),
        ("POST", "/labels", {"name": "\u20ac" * 255, "color": "#ff0000"}),
        ("POST", "/milestones", {"title": "\u20ac" * 255, "description": "\u20ac" * 65_536}),
        ("PATCH", "/milestones/1", {"description": "\u20ac" * 65_536}),
        ("PUT", f"/issues/{ISSUE}/lock", {"lock_reason": "\u20ac" * 2_000}),
        ("POST", f"/pulls/{PULL}/merge", {"mergetitlefield": "x" * 255, "mergemessagefield": "x" * 65_536}),
    ):
        answer = await world.call(method, path, body)
        assert answer.is_success, (path, answer.text)
