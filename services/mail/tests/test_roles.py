"""Roles and rights: every route, by role and by kind of credential."""

import uuid
from typing import Any

import pytest

from ingot_chassis.http.policy import Policy
from ingot_contracts.repos.access import AccessLevel

from .world import World

ROUTES = {
    "GET /user/mail-preferences": "signed-in",
    "PATCH /user/mail-preferences": "signed-in",
    "GET /user/mail-preferences/{owner}/{repo}": "resource",
    "PATCH /user/mail-preferences/{owner}/{repo}": "resource",
    "DELETE /user/mail-preferences/{owner}/{repo}": "resource",
    "GET /admin/mails": "admin",
    "GET /admin/mails/{mail_id}": "admin",
    "POST /admin/mails/{mail_id}/attempts": "admin",
    "POST /admin/mails/attempts": "admin",
}
OF_REPOSITORY = [route for route, caller in ROUTES.items() if caller == "resource"]
OF_ADMINISTRATORS = [route for route, caller in ROUTES.items() if caller == "admin"]


def public_routes(world: World) -> dict[str, Policy]:
    """``METHOD path`` -> policy, of the API."""
    return {
        f"{method} {route.path_format.removeprefix('/api/v1')}": handler.opt["policy"]
        for route in world.app.routes
        for handler in getattr(route, "route_handlers", [])
        for method in handler.http_methods - {"OPTIONS", "HEAD"}
        if route.path_format.startswith("/api/v1/")
    }


async def test_every_route_is_in_the_matrix(world):
    assert {route: policy.caller for route, policy in public_routes(world).items()} == ROUTES


async def status(world: World, route: str, repo: str = "app", **who: Any) -> int:
    method, path = route.split()
    body: Any = {"since": "2020-01-01T00:00:00Z"} if path.endswith("mails/attempts") else {}
    path = path.format(owner="ann", repo=repo, mail_id=uuid.uuid4())
    return (await world.call(method, path, None if method == "GET" else body, **who)).status_code


@pytest.mark.parametrize("route", OF_ADMINISTRATORS)
async def test_only_site_administrators_see_mails(world, route):
    assert await status(world, route, user=0) in (401, 403)
    assert await status(world, route, user=2, scopes=["all"]) == 403
    assert await status(world, route, user=6, admin=True, scopes=["write:user"]) == 403
    assert await status(world, route, user=6, admin=True, scopes=["all"], restricted_to=[7]) == 403
    missing = 404 if "{" in route else None
    allowed = await status(world, route, user=6, admin=True, scopes=["all"])
    assert allowed == missing if missing else allowed in (200, 202)


@pytest.mark.parametrize("route", [route for route in ROUTES if route not in OF_ADMINISTRATORS])
async def test_preferences_are_for_people_with_the_scope(world, route):
    assert await status(world, route, user=0) == 401
    assert await status(world, route, user=2, scopes=["write:repository"]) == 403
    reads = route.startswith("GET")
    assert await status(world, route, user=2, scopes=["read:user"]) == (200 if reads else 403)
    assert await status(world, route, user=2, scopes=["write:user"]) in (200, 204)


@pytest.mark.parametrize("route", OF_REPOSITORY)
async def test_a_private_repository_is_hidden_until_there_is_access_and_after_it_is_lost(world, route):
    assert await status(world, route, "other", user=0) == 404
    assert await status(world, route, "other", user=2, scopes=["all"]) == 404
    world.repos.levels[8, 2] = AccessLevel(level="read")
    assert await status(world, route, "other", user=2, scopes=["all"]) in (200, 204)
    del world.repos.levels[8, 2]
    assert await status(world, route, "other", user=2, scopes=["all"]) == 404


@pytest.mark.parametrize("route", OF_REPOSITORY)
async def test_a_token_for_another_repository_does_not_reach_this_one(world, route):
    assert await status(world, route, user=2, scopes=["all"], restricted_to=[8]) in (401, 403)
    assert await status(world, route, user=2, scopes=["all"], restricted_to=[7]) in (200, 204)


async def test_people_have_choices_of_their_own(world):
    await world.call("PATCH", "/user/mail-preferences", {"watching": "off"}, user=1, scopes=["all"])
    other = await world.call("GET", "/user/mail-preferences", user=2, scopes=["all"])
    assert other.json()["watching"] == "instant"
