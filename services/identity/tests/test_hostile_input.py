"""Bodies of every route that reads one: for any content, the response names the field and nothing changes.

Hostile names are tried as well, also at routes without a description: between services, of sign-ins, of
pictures.
"""

import json

import msgspec
import pytest

from ingot_chassis.http.openapi import openapi_description
from ingot_chassis.security.principal import ANONYMOUS
from ingot_testing.hostile_values import (
    STORED,
    VALUES,
    in_addresses,
    in_bodies,
    is_turn_of,
    undescribed,
)

from .matrix import BODIES, MATRIX, NAMES, ROLES, Things, shape
from .world import GATEWAY, REPOS

READING = [
    "POST /admin/auths",
    "PATCH /admin/auths/{source}",
    "POST /admin/auths/{source}/scim_tokens",
    "POST /admin/users",
    "PATCH /admin/users/{user}",
    "POST /admin/users/{user}/badges",
    "DELETE /admin/users/{user}/badges",
    "POST /admin/users/{user}/rename",
    "POST /admin/users/{user}/orgs",
    "POST /admin/users/{user}/keys",
    "PATCH /user/settings",
    "POST /user/avatar",
    "POST /user/emails",
    "PATCH /user/emails",
    "DELETE /user/emails",
    "POST /user/keys",
    "POST /user/gpg_keys",
    "POST /user/actions/variables/{fresh}",
    "PUT /user/actions/variables/{variable}",
    "POST /user/applications/oauth2",
    "PATCH /user/applications/oauth2/{application}",
    "POST /user/proof",
    "POST /user/two_factor",
    "POST /users/{self}/tokens",
    "POST /orgs",
    "PATCH /orgs/{org}",
    "POST /orgs/{org}/rename",
    "POST /orgs/{org}/avatar",
    "POST /orgs/{org}/actions/variables/{fresh}",
    "PUT /orgs/{org}/actions/variables/{variable}",
    "POST /orgs/{org}/teams",
    "POST /orgs/{org}/teams/{team}/members",
    "PATCH /teams/{team}",
]
"""Routes of the matrix that read a body and that some role in it may use."""

NO_OBJECTS = [
    b"[5]",
    b'"x"',
    b"5",
    b"true",
    b"{",
    b"\xff",
    b'{"a": 1e999}',
    b"[" * 100_000,
    b"{" * 5000 + b'"',
]
UNREADABLE = ["\ud800", 2**64, -(2**64)]
"""Values that the JSON parser itself rejects, before fields are read."""

UNSTORABLE = ["\x00", "a\x00b", *UNREADABLE]
STRANGE = [5, 1.5, True, "", "x", "x" * 100_000, "\u202e\U0001f4a9", [], [[]], [5], {}, {"a": "b"}]


@pytest.fixture
async def world(make_world):
    """A server that sends mail, so people can be invited."""
    async with make_world(sends_mail=True) as world:
        yield world


def read_by(app, route):
    """The struct that a route makes of its body; None when it reads none."""
    method, path = route.split(" ")
    for one in app.routes:
        if shape(one.path.removeprefix("/api/v1")) == shape(path):
            for handler in one.route_handlers:
                if method in handler.http_methods:
                    data = handler.parsed_fn_signature.parameters.get("data")
                    return data.annotation if data else None
    raise LookupError(route)


async def test_every_route_that_reads_a_body_is_among_them(world):
    used = [route for route, answers in MATRIX.items() if min(answers) < 300]
    assert [route for route in used if read_by(world.app, route)] == READING


@pytest.mark.parametrize("route", READING)
async def test_every_bad_body_gets_an_error_that_names_the_field(world, route):
    struct = read_by(world.app, route)
    for name in ("sam", "mia", "ann"):
        await world.add_user(name)
    names, things = set(struct.__struct_fields__), Things(world)
    method, path = route.split(" ")
    allowed = [role for role, status in zip(ROLES, MATRIX[route], strict=True) if status < 300]
    caller = NAMES[allowed[0]]

    async def send(body):
        target = f"/api/v1{await things.filled(path, caller)}"
        headers = await world.headers_of(caller, "") | {"content-type": "application/json"}
        before = await world.emitted_types()
        answer = await world.http.request(method, target, content=body, headers=headers)
        if answer.is_success:
            things.forget()
            return answer
        assert answer.status_code in (400, 413, 422), (body[:80], answer.text)
        error = answer.json()
        assert error["message"]
        assert error["url"]
        assert await world.emitted_types() == before
        return answer

    for body in NO_OBJECTS:
        assert (await send(body)).status_code == 422, body[:80]
    for place, field in enumerate(msgspec.structs.fields(struct), len(route)):
        for value in (one for one in [*UNSTORABLE, *STRANGE] if is_turn_of(repr(one), place)):
            good = BODIES.get(route, lambda _n, _who: {})(next(things.numbers), caller)
            answer = await send(json.dumps(good | {field.encode_name: value}).encode())
            if not answer.is_success and value not in UNREADABLE:
                fields = [error["field"] for error in answer.json()["errors"]]
                assert fields, (field.name, value, answer.text)
                assert {name.split(".")[0].split("[")[0] for name in fields} <= names, (
                    field.name,
                    value,
                    fields,
                )
            if value in UNSTORABLE:
                assert not answer.is_success, (field.name, value)


everywhere = pytest.mark.parametrize(
    ("database_backend", "values"),
    [("sqlite", VALUES), ("postgresql", STORED)],
    ids=["all values", "values that are stored"],
    indirect=["database_backend"],
)
GOOD = {"key_ids": ["0"], "fingerprints": ["0"], "owner_id": 1, "name": "app", "private": False, "before": 0}


def headers(services):
    """Return the headers of one of those services, or of an anonymous caller without any."""
    if "repos" in services:
        return REPOS.headers(ANONYMOUS, peer="repos")
    return GATEWAY.headers(ANONYMOUS, peer="gateway") if "gateway" in services else {}


async def sent(world, requests, caller=None):
    """Send the requests. None may fail. Return their number."""
    count = 0
    for count, one in enumerate(requests, 1):  # noqa: B007 - the number of the last one
        content = {} if one.body is None else {"json": one.body}
        answer = await world.http.request(
            one.method, one.url, headers=caller or headers(one.services), **content
        )
        assert answer.status_code < 500, (one, answer.text)
        assert "a" not in answer.cookies, one
    return count


@everywhere
async def test_in_paths_and_queries(world, values):
    assert await sent(world, in_addresses(undescribed(world.app), values)) > 2 * len(values)


@pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)
async def test_in_paths_and_queries_that_are_described(world):
    """Other values come from the description itself (tests/e2e/test_schema.py)."""
    ordinary = dict.fromkeys(("username", "org", "user"), "root")
    requests = in_addresses(openapi_description(world.app), [*STORED, "9" * 5000], ordinary)
    assert await sent(world, requests, await world.headers_of("root", "")) > 300


@everywhere
async def test_in_fields_of_bodies(world, values):
    assert await sent(world, in_bodies(undescribed(world.app), values, GOOD)) > len(values)


@pytest.mark.parametrize("ids", ["9" * 20, "-1", "x", "1&ids=" + "9" * 20])
async def test_ids_that_no_database_has_are_refused(world, ids):
    for path in ("organizations/1/teams", "organizations/1/team-members"):
        answer = await world.http.get(f"/internal/{path}?ids={ids}", headers=headers(["repos"]))
        assert 400 <= answer.status_code < 500, (path, answer.text)
