"""Bodies of every route that reads one: whatever they hold, the answer names the field and nothing changes."""

import json

import msgspec
import pytest

from .matrix import BODIES, MATRIX, NAMES, ROLES, Things, shape

READING = [
    "POST /admin/users",
    "PATCH /admin/users/{user}",
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
    "POST /users/{self}/tokens",
    "POST /orgs",
    "PATCH /orgs/{org}",
    "POST /orgs/{org}/rename",
    "POST /orgs/{org}/avatar",
    "POST /orgs/{org}/actions/variables/{fresh}",
    "PUT /orgs/{org}/actions/variables/{variable}",
    "POST /orgs/{org}/teams",
    "PATCH /teams/{team}",
]
"""Routes of the matrix that read a body and that somebody in it may use."""

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
"""What the reader of JSON itself refuses, before there are fields."""

UNSTORABLE = ["\x00", "a\x00b", *UNREADABLE]
STRANGE = [5, 1.5, True, "", "x", "x" * 100_000, "\u202e\U0001f4a9", [], [[]], [5], {}, {"a": "b"}]


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
        headers = await world._headers(caller, "") | {"content-type": "application/json"}
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
        assert (await send(body)).status_code in (400, 422), body[:80]
    for field in msgspec.structs.fields(struct):
        for value in [*UNSTORABLE, *STRANGE]:
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
