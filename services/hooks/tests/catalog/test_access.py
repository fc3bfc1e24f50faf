"""Rights to hooks: of writers of a repository, and of members and owners of an organization."""

import pytest

from ..builders import hook
from ..world import HOOKS, MEMBER, OWNER


@pytest.mark.parametrize("slash", ["", "/"])
async def test_a_member_creates_and_sees_hooks(world, slash):
    created = await world.call("POST", f"/orgs/acme/hooks{slash}", hook(), organizations=MEMBER)
    assert created.status_code == 201
    assert (await world.call("GET", f"/orgs/acme/hooks{slash}", organizations=MEMBER)).json() == [
        created.json()
    ]
    assert (
        await world.call("GET", f"/orgs/acme/hooks/{created.json()['id']}", organizations=MEMBER)
    ).status_code == 200


@pytest.mark.parametrize("organizations", [MEMBER, OWNER])
async def test_only_owners_change_hooks(world, organizations):
    created = (await world.call("POST", "/orgs/acme/hooks", hook(), organizations=MEMBER)).json()
    allowed = organizations is OWNER
    edited = await world.call(
        "PATCH", f"/orgs/acme/hooks/{created['id']}", {"active": False}, organizations=organizations
    )
    deleted = await world.call("DELETE", f"/orgs/acme/hooks/{created['id']}", organizations=organizations)
    assert (edited.status_code, deleted.status_code) == ((200, 204) if allowed else (403, 403))


async def test_the_path_of_official_clients_deletes_too(world):
    created = (await world.call("POST", "/orgs/acme/hooks", hook(), organizations=MEMBER)).json()
    assert (
        await world.call("DELETE", f"/org/acme/hooks/{created['id']}", organizations=OWNER)
    ).status_code == 204


async def test_a_membership_younger_than_the_principal_counts(world):
    assert (await world.call("GET", "/orgs/acme/hooks", user=2)).status_code == 403
    world.identity.memberships[2] = MEMBER
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
async def test_users_outside_an_organization_are_refused(world, path, user, status):
    assert (await world.call("GET", path, user=user)).status_code == status


async def test_to_a_restricted_user_outside_an_organization_does_not_exist(world):
    for more in ({}, {"restricted_to": [7]}):
        answers = [
            await world.call("GET", f"/orgs/{name}/hooks", user=2, granted_only=True, **more)
            for name in ("acme", "secret", "nobody")
        ]
        assert {(answer.status_code, answer.text) for answer in answers} == {(404, answers[2].text)}
    world.identity.memberships[2] = MEMBER
    assert (await world.call("GET", "/orgs/acme/hooks", user=2, granted_only=True)).status_code == 200


async def test_a_site_administrator_may_do_everything(world):
    created = await world.call("POST", "/orgs/secret/hooks", hook(), user=2, admin=True)
    assert created.status_code == 201
    path = f"/orgs/secret/hooks/{created.json()['id']}"
    assert (await world.call("DELETE", path, user=2, admin=True)).status_code == 204


@pytest.mark.parametrize(
    ("path", "user", "status"),
    [
        ("/repos/ann/app/hooks", 1, 200),
        ("/repos/ann/app/hooks", 2, 403),
        ("/repos/ann/app/hooks", 0, 401),
        ("/repos/ann/other/hooks", 2, 404),
        ("/repos/ann/other/hooks", 0, 404),
        ("/repos/ann/nothing/hooks", 1, 404),
        ("/repos/ann/app/hooks/0", 1, 404),
        ("/repos/ann/app/hooks/99999999999999999999", 1, 404),
        ("/repos/ann/app/hooks/x", 1, 404),
        ("/repos/ann/app/hooks/12", 1, 404),
    ],
)
async def test_hooks_are_for_those_who_may_write(world, path, user, status):
    assert (await world.call("GET", path, user=user)).status_code == status


async def test_a_token_needs_the_scope_of_hooks(world):
    assert (await world.call("GET", HOOKS, scopes=["read:repository"])).status_code == 403
    assert (await world.call("GET", HOOKS, scopes=["read:hook"])).status_code == 200
    assert (await world.call("POST", HOOKS, hook(), scopes=["read:hook"])).status_code == 403
