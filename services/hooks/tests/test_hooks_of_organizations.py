"""Hooks of organizations over HTTP: members see and create them, owners change them."""

import json

import pytest

from ingot_chassis.principal import Membership
from ingot_chassis.testing.receiver import Receiver

from .builders import hook
from .conftest import World

MEMBER, OWNER = {50: Membership()}, {50: Membership(owner=True)}


@pytest.mark.parametrize("slash", ["", "/"])
async def test_a_member_creates_and_sees_hooks(world: World, slash: str) -> None:
    created = await world.call("POST", f"/orgs/acme/hooks{slash}", hook(), held=MEMBER)
    assert created.status_code == 201
    assert (await world.call("GET", f"/orgs/acme/hooks{slash}", held=MEMBER)).json() == [created.json()]
    assert (
        await world.call("GET", f"/orgs/acme/hooks/{created.json()['id']}", held=MEMBER)
    ).status_code == 200


@pytest.mark.parametrize("held", [MEMBER, OWNER])
async def test_only_owners_change_hooks(world: World, held: dict[int, Membership]) -> None:
    made = (await world.call("POST", "/orgs/acme/hooks", hook(), held=MEMBER)).json()
    allowed = held is OWNER
    edited = await world.call("PATCH", f"/orgs/acme/hooks/{made['id']}", {"active": False}, held=held)
    deleted = await world.call("DELETE", f"/orgs/acme/hooks/{made['id']}", held=held)
    assert (edited.status_code, deleted.status_code) == ((200, 204) if allowed else (403, 403))


async def test_the_path_of_official_clients_deletes_too(world: World) -> None:
    made = (await world.call("POST", "/orgs/acme/hooks", hook(), held=MEMBER)).json()
    assert (await world.call("DELETE", f"/org/acme/hooks/{made['id']}", held=OWNER)).status_code == 204


async def test_a_membership_younger_than_the_principal_counts(world: World) -> None:
    assert (await world.call("GET", "/orgs/acme/hooks", user=2)).status_code == 403
    world.sisters.memberships[2] = MEMBER
    assert (await world.call("GET", "/orgs/acme/hooks", user=2)).status_code == 200


@pytest.mark.parametrize(
    ("path", "user", "status"),
    [
        ("/orgs/acme/hooks", 0, 401),
        ("/orgs/acme/hooks", 2, 403),
        ("/orgs/secret/hooks", 2, 404),
        ("/orgs/nobody/hooks", 2, 404),
        ("/orgs/ann/hooks", 1, 404),
    ],
)
async def test_people_outside_are_refused(world: World, path: str, user: int, status: int) -> None:
    assert (await world.call("GET", path, user=user)).status_code == status


async def test_a_site_administrator_may_all(world: World) -> None:
    made = await world.call("POST", "/orgs/secret/hooks", hook(), user=2, admin=True)
    assert made.status_code == 201
    path = f"/orgs/secret/hooks/{made.json()['id']}"
    assert (await world.call("DELETE", path, user=2, admin=True)).status_code == 204


async def test_a_hook_of_a_repository_is_not_found_in_an_organization(world: World) -> None:
    made = (await world.call("POST", "/repos/ann/app/hooks", hook())).json()
    assert (await world.call("GET", f"/orgs/acme/hooks/{made['id']}", held=OWNER)).status_code == 404


async def test_a_test_of_a_hook_tells_of_a_repository_that_does_not_exist(
    world: World, receiver: Receiver
) -> None:
    made = (
        await world.call("POST", "/orgs/acme/hooks", hook(receiver.url, active=False), held=MEMBER)
    ).json()
    path = f"/orgs/acme/hooks/{made['id']}"
    assert (await world.call("POST", f"{path}/tests", held=MEMBER)).status_code == 403
    assert (await world.call("POST", f"{path}/tests", held=OWNER)).status_code == 204
    await world.deliverer.step()
    (request,) = receiver.requests
    assert json.loads(request.body)["repository"]["full_name"] == "acme/example"
    again = await world.call(
        "POST", f"{path}/deliveries/attempts", {"since": "2020-01-01T00:00:00Z"}, held=OWNER
    )
    assert again.json() == {"count": 0}
