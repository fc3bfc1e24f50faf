"""Who may call what: every route, below public and private things, by role and by kind of credential."""

from typing import Any

import pytest
from sqlalchemy import update

from ingot_chassis.policy import Policy
from ingot_chassis.principal import Membership
from ingot_contracts.identity import Account

from .builders import hook, push, repository
from .conftest import World

ROLES = {"stranger": 3, "inside": 4, "keeper": 5, "administrator": 6}
"""``inside`` may read the repository or is a member of the organization, ``keeper`` may write or owns it."""

PLACES = {
    "/repos/ann/app": {"anonymous": 401, "stranger": 403, "inside": 403, "confined": 401},
    "/repos/ann/other": {"anonymous": 404, "stranger": 404, "inside": 403, "confined": 404},
    "/orgs/acme": {"anonymous": 401, "stranger": 403, "inside": 403, "confined": 403},
    "/orgs/secret": {"anonymous": 401, "stranger": 404, "inside": 403, "confined": 404},
}
"""How they refuse. ``confined``: with a token of the keeper that is restricted to something else."""

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
    "reading": {"scopes": ["read:hook"]},
    "elsewhere": {"scopes": ["write:repository"]},
    "confined here": {"scopes": ["write:hook"], "confined_to": []},
    "confined": {"scopes": ["write:hook"], "confined_to": [1]},
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
async def peopled(world: World) -> World:
    sisters = world.sisters
    for name, id_ in ROLES.items():
        sisters.accounts[name] = Account(id=id_, kind="user", login=name, admin=id_ == ROLES["administrator"])
    for name in ("ann/app", "ann/other"):
        sisters.levels |= {(name, ROLES["inside"]): "read", (name, ROLES["keeper"]): "write"}
    for role in ("inside", "keeper"):
        sisters.memberships[ROLES[role]] = held(role, "/orgs/acme") | held(role, "/orgs/secret")
    return world


def held(role: str, place: str) -> dict[int, Membership]:
    """What somebody is in the organization of the place."""
    if not place.startswith("/orgs/") or role not in ("inside", "keeper"):
        return {}
    return {IDS[place]: Membership(owner=role == "keeper")}


async def furnished(world: World, place: str) -> dict[str, str]:
    """A hook with an ended delivery there; what the path parameters stand for."""
    made = await world.call("POST", f"{place}/hooks", hook(), user=6, admin=True)
    owner = world.sisters.accounts[place.rsplit("/", 1)[1]].user() if place.startswith("/orgs/") else None
    await world.hear(push(of=repository(99, owner=owner) if owner else repository(IDS[place])))
    table = world.db.metadata.tables["delivery"]
    async with world.db.transaction() as tx:
        mine = update(table).where(table.c.hook_id == made.json()["id"]).returning(table.c.id)
        delivery_id = (await tx.execute(mine.values(state="failed"))).scalar_one()
    return {"hook_id": made.json()["id"], "delivery_id": delivery_id}


def expected(route: str, place: str, role: str, kind: str) -> int:
    refusals, reading = PLACES[place], route.startswith("GET")
    if kind == "elsewhere" or (kind == "reading" and not reading):
        return 403
    if kind == "confined" or (kind == "confined here" and place.startswith("/orgs/")):
        return refusals["confined"]
    if role in ("keeper", "administrator"):
        return ROUTES[route]
    if role == "inside" and place.startswith("/orgs/") and route in FOR_MEMBERS:
        return ROUTES[route]
    return refusals[role]


async def test_every_route_is_in_the_matrix(world: World) -> None:
    below = ("/repos/{owner}/{repo}", "/orgs/{org}")
    listed = {f"{method} {place}{path}" for place in below for method, path in (r.split(" ") for r in ROUTES)}
    assert set(public_routes(world)) == listed | {"DELETE /org/{org}/hooks/{hook_id}"}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("route", ROUTES)
async def test_a_route_answers_each_caller_as_the_matrix_says(peopled: World, route: str, place: str) -> None:
    method, path = route.split(" ")
    answers, wanted = {}, {}

    async def attempt(role: str, kind: str, **who: Any) -> None:
        things = await furnished(peopled, place)
        answer = await peopled.call(
            method, place + path.format(**things), BODIES.get(route), user=ROLES.get(role, 0), **who
        )
        answers[role, kind] = answer.status_code

    await attempt("anonymous", "")
    wanted["anonymous", ""] = PLACES[place]["anonymous"]
    for role in ROLES:
        for kind, credential in KINDS.items():
            if kind.startswith("confined") and role in ("stranger", "inside"):
                continue
            confined = {"confined_to": [IDS[place]]} if kind == "confined here" else {}
            who = {"admin": role == "administrator", "held": held(role, place), **credential, **confined}
            await attempt(role, kind, **who)
            wanted[role, kind] = expected(route, place, role, kind)
    assert answers == wanted


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("role", ["anonymous", "stranger", "inside"])
@pytest.mark.parametrize("route", BODIES)
async def test_access_is_decided_before_the_body_is_read(
    peopled: World, route: str, place: str, role: str
) -> None:
    method, path = route.split(" ")
    things = await furnished(peopled, place)
    unreadable = {"type": 7, "config": [], "active": "x", "since": "never"}
    answer = await peopled.call(
        method,
        place + path.format(**things),
        unreadable,
        user=ROLES.get(role, 0),
        held=held(role, place),
        via="basic",
    )
    wanted = expected(route, place, role, "password")
    assert answer.status_code == (max(wanted, 400))


async def test_a_token_that_is_restricted_to_an_id_does_not_reach_the_organization_of_that_id(
    peopled: World,
) -> None:
    owner = {"held": held("keeper", "/orgs/acme"), "confined_to": [50]}
    refused = await peopled.call("DELETE", "/org/acme/hooks/1", user=5, **owner)
    assert refused.status_code == 403
    assert "restricted" in refused.json()["message"]
