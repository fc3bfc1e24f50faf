"""Bodies of every route that reads one: whatever they hold, the answer names the field and nothing is half done."""

import json

import msgspec
import pytest
from identity_matrix import BODIES, MATRIX, NAMES, ROLES, Things, shape

READING = [
    "POST /admin/users",
    "PATCH /admin/users/{user}",
    "POST /admin/users/{user}/rename",
    "POST /admin/users/{user}/orgs",
    "POST /admin/users/{user}/keys",
    "PATCH /user/settings",
    "POST /user/emails",
    "PATCH /user/emails",
    "DELETE /user/emails",
    "POST /user/keys",
    "POST /user/gpg_keys",
    "POST /users/{self}/tokens",
    "POST /orgs",
    "PATCH /orgs/{org}",
    "POST /orgs/{org}/teams",
    "PATCH /teams/{team}",
]
"""Routes of the matrix that read a body."""

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


async def test_every_route_that_reads_a_body_is_among_them(identity):
    assert [route for route in MATRIX if read_by(identity.app, route)] == READING


@pytest.mark.parametrize("route", READING)
async def test_no_body_is_more_than_the_caller_can_mend(identity, route):
    struct = read_by(identity.app, route)
    for name in ("sam", "mia", "ann"):
        await identity.add_user(name)
    names, things = set(struct.__struct_fields__), Things(identity)
    method, path = route.split(" ")
    allowed = [role for role, status in zip(ROLES, MATRIX[route], strict=True) if status < 300]
    caller = NAMES[allowed[0]]

    async def send(body):
        target = f"/api/v1{await things.filled(path, caller)}"
        headers = await identity._headers(caller, "") | {"content-type": "application/json"}
        before = await identity.events()
        answer = await identity.http.request(method, target, content=body, headers=headers)
        if answer.is_success:
            things.forget()
            return answer
        assert answer.status_code in (400, 413, 422), (body[:80], answer.text)
        told = answer.json()
        assert told["message"]
        assert told["url"]
        assert await identity.events() == before
        return answer

    for body in NO_OBJECTS:
        assert (await send(body)).status_code in (400, 422), body[:80]
    for field in msgspec.structs.fields(struct):
        for value in [*UNSTORABLE, *STRANGE]:
            good = BODIES.get(route, lambda _n, _who: {})(next(things.numbers), caller)
            answer = await send(json.dumps(good | {field.encode_name: value}).encode())
            if not answer.is_success and value not in UNREADABLE:
                told = [error["field"] for error in answer.json()["errors"]]
                assert told, (field.name, value, answer.text)
                assert {name.split(".")[0].split("[")[0] for name in told} <= names, (field.name, value, told)
            if value in UNSTORABLE:
                assert not answer.is_success, (field.name, value)
