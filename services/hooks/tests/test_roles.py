"""Access to every route, below public and private objects, by role and by kind of credential."""

from typing import Any

import pytest
from sqlalchemy import update

from ingot_chassis.http.policy import Policy
from ingot_chassis.security.principal import Membership
from ingot_contracts.identity.accounts import Account, User
from ingot_testing.non_empty import non_empty

from .builders import config, hook, push, repository
from .world import World

ROLES = {"stranger": 3, "reader": 4, "writer": 5, "administrator": 6, "owner": 9}
"""In an organization reader and writer are members. The owner has administrative access to repositories."""

REFUSALS = {
    "/repos/ann/app": {"anonymous": 401, "stranger": 403, "reader": 403, "writer": 403, "restricted": 401},
    "/repos/ann/other": {"anonymous": 404, "stranger": 404, "reader": 403, "writer": 403, "restricted": 404},
    "/orgs/acme": {"anonymous": 401, "stranger": 403, "reader": 403, "writer": 403, "restricted": 403},
    "/orgs/secret": {"anonymous": 401, "stranger": 404, "reader": 403, "writer": 403, "restricted": 404},
}
"""The status by owner and role. ``restricted``: a token of the owner, restricted to another repository."""

IDS = {"/repos/ann/app": 7, "/repos/ann/other": 8, "/orgs/acme": 50, "/orgs/secret": 51}

ROUTES = {
    "GET /hooks": 200,
    "POST /hooks": 201,
    "GET /hooks/{hook_id}": 200,
    "PATCH /hooks/{hook_id}": 200,
    "DELETE /hooks/{hook_id}": 204,
    "POST /hooks/{hook_id}/tests": 204,
    "GET /hooks/{hook_id}/deliveries": 200,
    "GET /hooks/{hook_id}/deliveries/{delivery_id}": 200,
    "POST /hooks/{hook_id}/deliveries/{delivery_id}/attempts": 202,
    "POST /hooks/{hook_id}/deliveries/attempts": 202,
}
FOR_MEMBERS = ("GET /hooks", "POST /hooks", "GET /hooks/{hook_id}")
BODIES = {
    "POST /hooks": hook(),
    "PATCH /hooks/{hook_id}": {"active": True},
    "POST /hooks/{hook_id}/deliveries/attempts": {"since": "2020-01-01T00:00:00Z"},
}
KINDS: dict[str, Any] = {
    "password": {"via": "basic"},
    "token": {"scopes": ["all"]},
    "read scope": {"scopes": ["read:hook"]},
    "other scope": {"scopes": ["write:repository"]},
    "restricted to this": {"scopes": ["write:hook"], "restricted_to": []},
    "restricted": {"scopes": ["write:hook"], "restricted_to": [1]},
}


def public_routes(world: World) -> dict[str, Policy]:
    """``METHOD path`` -> policy, of everything that is routed from outside."""
    return {
        f"{method} {route.path_format.removeprefix('/api/v1')}": handler.opt["policy"]
        for route in world.app.routes
        for handler in getattr(route, "route_handlers", [])
        for method in handler.http_methods - {"OPTIONS", "HEAD"}
        if route.path_format.startswith("/api/v1/")
    }


@pytest.fixture
async def peopled(world):
    """The world with a user for each role."""
    for name, id_ in ROLES.items():
        admin = id_ == ROLES["administrator"]
        world.save_account(Account(id=id_, kind="user", login=name, admin=admin))
    for repository_id in (7, 8):
        world.repos.levels |= {
            (repository_id, ROLES["reader"]): "read",
            (repository_id, ROLES["writer"]): "write",
            (repository_id, ROLES["owner"]): "admin",
        }
    for role in ("reader", "writer", "owner"):
        world.identity.memberships[ROLES[role]] = memberships(role, "/orgs/acme") | memberships(
            role, "/orgs/secret"
        )
    return world


def memberships(role: str, place: str) -> dict[int, Membership]:
    """Return the memberships of a role in the organization of the place."""
    if not place.startswith("/orgs/") or role not in ("reader", "writer", "owner"):
        return {}
    return {IDS[place]: Membership(owner=role == "owner")}


async def create_hook_with_delivery(world: World, place: str) -> dict[str, str]:
    """A hook there with a failed delivery; the values of the path parameters."""
    body = hook(config=config(is_system_webhook="true")) if place == "/admin" else hook()
    created = await world.call("POST", f"{place}/hooks", body, user=6, admin=True)
    owner = User(id=6, login="administrator") if place == "/user" else None
    if place.startswith("/orgs/"):
        owner = world.identity.accounts[IDS[place]].user()
    await world.deliver(push(target=repository(99, owner=owner) if owner else repository(IDS.get(place, 7))))
    table = world.table("delivery")
    async with world.db.transaction() as tx:
        statement = update(table).where(table.c.hook_id == created.json()["id"]).returning(table.c.id)
        delivery_id = (await tx.execute(statement.values(state="failed"))).scalar_one()
    return {"hook_id": created.json()["id"], "delivery_id": delivery_id}


def expected(route: str, place: str, role: str, kind: str) -> int:
    refusals, is_read = REFUSALS[place], route.startswith("GET")
    if kind == "other scope" or (kind == "read scope" and not is_read):
        return 403
    if kind == "restricted" or (kind == "restricted to this" and place.startswith("/orgs/")):
        return refusals["restricted"]
    if role in ("owner", "administrator"):
        return ROUTES[route]
    if role in ("reader", "writer") and place.startswith("/orgs/") and route in FOR_MEMBERS:
        return ROUTES[route]
    return refusals[role]


async def test_every_route_is_in_the_matrix(world):
    below = ("/repos/{owner}/{repo}", "/orgs/{org}", "/user", "/admin")
    listed = {f"{method} {place}{path}" for place in below for method, path in (r.split(" ") for r in ROUTES)}
    assert set(public_routes(world)) == listed | {"DELETE /org/{org}/hooks/{hook_id}"}


async def test_every_route_declares_the_level_that_it_enforces(world):
    for route, policy in non_empty(public_routes(world).items()):
        method, path = route.split(" ")
        of_members = f"{method} {path.removeprefix('/orgs/{org}')}" in FOR_MEMBERS
        levels = {"repos": "admin", "user": "own", "admin": "administrator"}
        level = levels.get(path.split("/")[1], "member" if of_members else "owner")
        assert (policy.caller, policy.level, policy.decide is None) == ("resource", level, False), route


@pytest.mark.parametrize("place", REFUSALS)
@pytest.mark.parametrize("route", ROUTES)
async def test_a_route_answers_each_caller_as_the_matrix_says(peopled, route, place):
    method, path = route.split(" ")
    answers, expected_answers = {}, {}
    parameters: dict[str, str] = {}

    async def attempt(role: str, kind: str, **who: Any) -> None:
        if not parameters:
            parameters.update(await create_hook_with_delivery(peopled, place))
        answer = await peopled.call(
            method, place + path.format(**parameters), BODIES.get(route), user=ROLES.get(role, 0), **who
        )
        if answer.is_success and method != "GET":
            parameters.clear()  # it has changed
        answers[role, kind] = answer.status_code

    await attempt("anonymous", "")
    expected_answers["anonymous", ""] = REFUSALS[place]["anonymous"]
    for role in ROLES:
        for kind, credential in KINDS.items():
            if kind.startswith("restricted") and role in ("stranger", "reader", "writer"):
                continue
            restriction = {"restricted_to": [IDS[place]]} if kind == "restricted to this" else {}
            who = {
                "admin": role == "administrator",
                "organizations": memberships(role, place),
                **credential,
                **restriction,
            }
            await attempt(role, kind, **who)
            expected_answers[role, kind] = expected(route, place, role, kind)
    assert answers == expected_answers


@pytest.mark.parametrize("place", REFUSALS)
@pytest.mark.parametrize("route", BODIES)
async def test_access_is_decided_before_the_body_is_read(peopled, route, place):
    method, path = route.split(" ")
    parameters = await create_hook_with_delivery(peopled, place)
    unreadable = {"type": 7, "config": [], "active": "x", "since": "never"}
    for role in ("anonymous", "stranger", "reader", "writer"):
        answer = await peopled.call(
            method,
            place + path.format(**parameters),
            unreadable,
            user=ROLES.get(role, 0),
            organizations=memberships(role, place),
            via="basic",
        )
        status = expected(route, place, role, "password")
        assert (role, answer.status_code) == (role, 422 if status < 400 else status)


async def test_a_token_that_is_restricted_to_an_id_does_not_reach_the_organization_of_that_id(peopled):
    owner = {"organizations": memberships("owner", "/orgs/acme"), "restricted_to": [50]}
    refused = await peopled.call("DELETE", "/org/acme/hooks/1", user=9, **owner)
    assert refused.status_code == 403
    assert "restricted" in refused.json()["message"]
