"""Access to every public route, by role and by kind of credential.

The gate tries each route with each role by password, and with each other kind of credential by some role.
``make soak`` tries all (INGOT_SAFETY).
"""

import secrets
from zlib import crc32

import pytest

from ingot_chassis.security.principal import Principal
from ingot_identity.accounts.store import queries as accounts
from ingot_identity.tokens import rules as tokens
from ingot_testing.hostile_values import WHOLE

from .matrix import BODIES, MATRIX, NAMES, ROLES, Things, public_routes, shape
from .world import PASSWORD

KINDS = ("basic", "token", "narrow", "reading", "other", "sudo", "restricted")
"""Kinds of credentials. These are tokens:

- ``narrow``: with the scope of the route only.
- ``reading``: with the read scope of the route.
- ``other``: with another scope.
- ``restricted``: restricted to a repository.
"""


@pytest.fixture
async def world(make_world):
    """A server that sends mail, so people can be invited."""
    async with make_world(sends_mail=True) as world:
        yield world


def scopes_of(kind, policy):
    """Those of a token of that kind for a route with that policy."""
    return {
        "narrow": [policy.scope or "write:misc"],
        "reading": [policy.scope.replace("write:", "read:") or "read:misc"],
        "other": ["write:misc"],
    }.get(kind, ["all"])


async def statement(world, name, kind, policy):
    """Return the principal for a credential of that kind. With ``sudo``, root acts as ``name``."""
    if kind == "basic":
        credential = {"name": name, "password": PASSWORD}
    elif kind == "sudo":
        credential = {"name": "root", "password": PASSWORD, "sudo": name}
    else:
        restricted_to = [7] if kind == "restricted" else []
        async with world.database.transaction() as tx:
            row = await accounts.get_by_login(tx, name)
            token = await tokens.create(
                tx, row.id, secrets.token_hex(4), scopes_of(kind, policy), None, restricted_to
            )
        credential = {"token": token[1]}
    return (await world.authenticate(**credential)).json()["statement"]


def expected(policy, kind, by_password, method, path, *, anonymous):
    """Return the status for a credential of that kind where a password gets ``by_password``."""
    own = path == "/user" or path.startswith("/user/")
    if kind in ("basic", "sudo"):
        return by_password
    if path == "/token":
        return 200 if method == "GET" else 204
    if path.startswith("/admin/") and by_password == 403:
        return 403
    if "/tokens" in path or "basic" in (policy.caller, policy.level):
        return 401
    if kind == "restricted" and anonymous not in (401, 403):
        return anonymous
    if kind == "restricted":
        return by_password if own and method == "GET" else 403
    too_narrow = kind == "other" or (kind == "reading" and method != "GET")
    return 403 if policy.scope and too_narrow else by_password


def attempts(route):
    """Return roles and kinds of credentials for a route: every kind of the first allowed role, two of each
    other one."""
    first, others = crc32(route.encode()), KINDS[1:]
    allowed = [
        role
        for role, status in zip(ROLES, MATRIX[route], strict=True)
        if role != "anonymous" and status < 300
    ]
    for number, role in enumerate(ROLES[1:]):
        turns = {"basic", *(others[(first + 2 * number + turn) % len(others)] for turn in (0, 1))}
        tries_all = WHOLE or role == (allowed or ROLES[1:])[0]
        yield from ((role, kind) for kind in KINDS if tries_all or kind in turns)


async def test_every_route_is_in_the_matrix(world):
    listed = {f"{method} {shape(path)}" for method, path in (key.split(" ") for key in MATRIX)}
    assert set(public_routes(world.app)) == listed


PARTS = 12
"""Each walks through its routes in one world, which costs more than the calls of a route."""


@pytest.mark.parametrize("part", range(PARTS))
async def test_a_route_answers_each_role_as_the_matrix_says(world, part):
    policies = public_routes(world.app)
    for name in ("sam", "mia", "ann"):
        await world.add_user(name)
    things, statements, answers, expectations = Things(world), {}, {}, {}
    for route in list(MATRIX)[part::PARTS]:
        method, path = route.split(" ")
        policy = policies[f"{method} {shape(path)}"]
        by_role = dict(zip(ROLES, MATRIX[route], strict=True))
        expectations[route, "anonymous", ""] = by_role["anonymous"]
        for role, kind in attempts(route):
            ordinary = role == "administrator" and not {"all", "write:admin"} & set(scopes_of(kind, policy))
            expectations[route, role, kind] = expected(
                policy,
                kind,
                by_role["stranger" if ordinary else role],
                method,
                path,
                anonymous=by_role["anonymous"],
            )
        things.forget()
        answers |= await answers_of(world, things, {} if path == "/token" else statements, route, policy)
    assert answers == expectations


async def answers_of(world, things, statements, route, policy):
    """Return the status for each role and kind of credential. Adds the principal tokens of identity to
    ``statements``."""
    method, path = route.split(" ")
    answers = {}
    for role, kind in [("anonymous", ""), *attempts(route)]:
        credential = (role, kind, *scopes_of(kind, policy))
        if kind and credential not in statements:
            statements[credential] = await statement(world, NAMES[role], kind, policy)
        headers = {"ingot-principal": statements[credential]} if kind else {}
        caller = NAMES.get(role, "sam")
        make_body = BODIES.get(route, lambda _n, _who: {})
        body = make_body(next(things.numbers), caller) if method != "GET" else None
        target = f"/api/v1{await things.filled(path, caller)}"
        answer = await world.http.request(method, target, json=body, headers=headers)
        answers[route, role, kind] = answer.status_code
        if answer.is_success and method != "GET":
            things.forget()
    return answers


NAMED_IN_THE_BODY = ("POST /user/gpg_key_verify", 404)
"""The key that does not exist is named in the body."""


@pytest.mark.parametrize("body", ["[5]", "{", '{"name": {}, "username": 5, "description": []}'])
async def test_a_caller_is_refused_before_the_body_is_read(world, body):
    ids = {name: await world.add_user(name) for name in ("sam", "mia", "ann")} | {"root": 1}
    things, answers, expectations = Things(world), {}, {}
    for route, statuses in MATRIX.items():
        method, path = route.split(" ")
        for role, status in zip(ROLES, statuses, strict=True):
            if method == "GET" or status not in (401, 403, 404) or (route, status) == NAMED_IN_THE_BODY:
                continue
            name = NAMES.get(role, "")
            principal = Principal(id=ids.get(name, 0), name=name, admin=role == "administrator", via="basic")
            headers = {"ingot-principal": await world.principal_token(principal)} if name else {}
            headers["content-type"] = "application/json"
            target = f"/api/v1{await things.filled(path, name or 'sam')}"
            answer = await world.http.request(method, target, content=body, headers=headers)
            answers[route, role], expectations[route, role] = answer.status_code, status
    assert answers == expectations


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_the_tokens_of_another_are_not_there_whatever_the_body(world, method):
    for name in ("ann", "bob"):
        await world.add_user(name)
    for other in ("bob", "nobody"):
        answer = await world.call_raw(method, f"/users/{other}/tokens", "[5]", as_="ann")
        assert answer.status_code == 404
