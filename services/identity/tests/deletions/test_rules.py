"""Deleting accounts, and restoring one that owns a repository."""

import asyncio

import pytest
from sqlalchemy import update

from ingot_chassis.security.principal import ANONYMOUS
from ingot_contracts.identity.accounts import User
from ingot_contracts.identity.events import (
    MembershipChanged,
    OrganizationCreated,
    OwnershipForgotten,
    PurgeRequested,
)
from ingot_contracts.repos.events import (
    RepositoryAbandoned,
    RepositoryCreated,
    RepositoryDeleted,
    RepositoryEdited,
)
from ingot_identity.accounts.store.tables import account

from ..world import PASSWORD, REPOS, created, repository

pytestmark = pytest.mark.both_databases
ROOT = User(id=1, login="root")


async def delete(world, name="ann"):
    return await world.call("DELETE", f"/admin/users/{name}", as_="root")


async def test_a_user_is_deleted_with_their_credentials_and_the_name_is_free(world):
    user_id = await world.add_user("ann")
    token = (await world.call("POST", "/users/ann/tokens", {"name": "t"}, as_="ann")).json()["sha1"]
    assert (await delete(world)).status_code == 204
    assert (await world.emitted_types())[-1] == "identity.user.deleted.v1"
    assert (await world.call("GET", "/users/ann")).status_code == 404
    assert (await world.authenticate(token=token)).json()["user_id"] == 0
    assert (await world.authenticate(name="ann", password=PASSWORD)).json()["user_id"] == 0
    assert await world.add_user("ann") > user_id


async def test_a_member_of_an_organization_is_not_deleted(world):
    await world.add_user("ann")
    await world.call("POST", "/orgs", {"username": "acme"}, as_="ann")
    assert (await delete(world)).status_code == 422
    await world.call("DELETE", "/orgs/acme", as_="ann")
    assert (await delete(world)).status_code == 204


async def test_a_purged_user_leaves_organizations_and_takes_along_what_nobody_else_owns(world, acme):
    assert (await delete(world, "mia?purge=true")).status_code == 204
    left = [event.member for event in await world.emitted(MembershipChanged)]
    assert left[-1] is False
    assert (await world.call("GET", "/orgs/acme")).status_code == 200
    assert (await delete(world, "ann?purge=true")).status_code == 204
    assert (await world.call("GET", "/orgs/acme")).status_code == 404
    assert (await world.call("GET", "/users/ann")).status_code == 404


async def test_a_purge_waits_for_each_repository_of_the_user_and_the_organizations(world, acme):
    ids = {
        "ann": (await world.call("GET", "/users/ann")).json()["id"],
        "acme": (await world.call("GET", "/orgs/acme")).json()["id"],
    }
    for number, owner in enumerate(("ann", "ann", "acme"), 1):
        await world.deliver(RepositoryCreated(repository=repository(ids[owner], id_=number), sender=ROOT))
    answer = await delete(world, "ann?purge=true")
    assert (answer.status_code, answer.json()["repositories_left"]) == (202, 3)
    requests = await world.emitted(PurgeRequested)
    assert [(one.account_id, one.requested_by) for one in requests] == [
        (ids["acme"], ROOT),
        (ids["ann"], ROOT),
    ]
    assert (await world.authenticate(name="ann", password=PASSWORD)).status_code == 403
    left = {3: (2, 0), 1: (1, 0), 2: None}
    for number, counts in left.items():
        owner_id = ids["acme" if number == 3 else "ann"]
        await world.deliver(RepositoryDeleted(repository=repository(owner_id, id_=number), sender=ROOT))
        progress = await world.call("GET", "/admin/users/ann/purge", as_="root")
        if counts is None:
            assert progress.status_code == 404
        else:
            shown = progress.json()
            assert (shown["repositories_left"], shown["organizations_left"]) == counts
    assert [(await world.call("GET", f"/users/{name}")).status_code for name in ids] == [404, 404]
    assert "identity.user.deleted.v1" in await world.emitted_types()


async def test_a_purge_can_be_repeated_and_ends_with_an_import_that_was_given_up(world):
    user_id = await world.add_user("ann")
    assert (await world.put_ownership(user_id)).status_code == 204
    for _ in range(2):
        assert (await delete(world, "ann?purge=true")).status_code == 202
    assert len(await world.emitted(PurgeRequested)) == 2
    await world.deliver(RepositoryAbandoned(repository_id=1))
    assert (await world.call("GET", "/users/ann")).status_code == 404


async def test_the_last_administrator_is_not_purged(world):
    assert (await delete(world, "root?purge=true")).status_code == 422
    assert (await world.call("GET", "/admin/users/root/purge", as_="root")).status_code == 404


async def test_an_owner_of_repositories_is_not_deleted_until_the_last_is_deleted(world):
    owner_id = await world.add_user("ann")
    await world.deliver(created(owner_id))
    assert (await delete(world)).status_code == 422
    gone = RepositoryDeleted(repository=repository(owner_id), sender=User(id=1, login="root"))
    await world.deliver(gone)
    assert await world.emitted(OwnershipForgotten) == [OwnershipForgotten(repository_id=1)]
    assert (await delete(world)).status_code == 204


async def test_repos_says_that_a_repository_was_deleted_before_any_event(world):
    owner_id = await world.add_user("ann")
    assert (await world.put_ownership(owner_id)).status_code == 204
    headers = REPOS.headers(ANONYMOUS, peer="repos")
    assert (await world.http.delete("/internal/repositories/1", headers=headers)).status_code == 204
    assert (await delete(world)).status_code == 204


async def test_a_transferred_repository_counts_for_its_new_owner(world):
    ann, bob = await world.add_user("ann"), await world.add_user("bob")
    await world.deliver(created(ann))
    await world.deliver(RepositoryEdited(repository=repository(bob), sender=User(id=1, login="root")))
    assert (await delete(world)).status_code == 204
    assert (await delete(world, "bob")).status_code == 422


async def test_repos_sends_the_owner_before_any_event(world):
    owner_id = await world.add_user("ann")
    assert (await world.put_ownership(owner_id)).status_code == 204
    assert (await delete(world)).status_code == 422
    await world.deliver(RepositoryAbandoned(repository_id=1))
    assert (await delete(world)).status_code == 204


async def test_a_repository_of_a_deleted_owner_is_refused(world):
    owner_id = await world.add_user("ann")
    await delete(world)
    answer = await world.put_ownership(owner_id)
    assert (answer.status_code, answer.json()["message"]) == (404, "Not found.")
    assert await world.add_user("ann") > owner_id
    assert (await delete(world)).status_code == 204


async def test_a_new_owner_is_noted_unless_an_event_has_changed_it_since(world):
    ann, bob, cy = [await world.add_user(name) for name in ("ann", "bob", "cy")]
    await world.put_ownership(ann)
    await world.put_ownership(bob, before=ann)
    await world.put_ownership(cy, before=ann)
    await world.put_ownership(ann)
    assert (await delete(world, "bob")).status_code == 422
    assert [(await delete(world, name)).status_code for name in ("ann", "cy")] == [204, 204]


async def test_an_owner_is_not_deleted_while_they_get_a_repository(world):
    owner_id = await world.add_user("ann")
    put, deleted = await asyncio.gather(world.put_ownership(owner_id), delete(world))
    assert (put.status_code, deleted.status_code) in {(204, 422), (404, 204)}


@pytest.mark.parametrize("caller", ["", "root"])
async def test_only_repos_sends_owners_of_repositories(world, caller):
    headers = await world.headers_of(caller, "")
    body = {"owner_id": 1, "name": "app", "private": False}
    answer = await world.http.put("/internal/repositories/1", json=body, headers=headers)
    assert answer.status_code == 404


async def test_a_repository_created_during_the_deletion_restores_its_owner(world):
    owner_id = await world.add_user("ann")
    assert (await delete(world)).status_code == 204
    await world.deliver(created(owner_id))
    assert (await world.call("GET", "/users/ann")).json()["id"] == owner_id
    assert (await world.emitted_types())[-1] == "identity.user.created.v1"
    assert (await world.authenticate(name="ann", password="")).json()["user_id"] == 0
    assert (await delete(world)).status_code == 422


async def test_a_restored_owner_gets_another_name_if_theirs_is_taken(world):
    owner_id = await world.add_user("ann")
    await delete(world)
    await world.add_user("ann")
    await world.deliver(created(owner_id))
    back = (await world.get_as_peer(f"/internal/accounts/{owner_id}")).json()
    assert back["login"] == f"returned-{owner_id}"
    assert back["active"] is False


async def test_a_restored_organization_belongs_to_who_deleted_it(world):
    await world.add_user("ann")
    org = (await world.call("POST", "/orgs", {"username": "acme"}, as_="ann")).json()["id"]
    assert (await world.call("DELETE", "/orgs/acme", as_="ann")).status_code == 204
    await world.deliver(created(org))
    assert [m["login"] for m in (await world.call("GET", "/orgs/acme/members", as_="ann")).json()] == ["ann"]
    assert (await world.call("DELETE", "/orgs/acme", as_="ann")).status_code == 422


async def test_a_restored_organization_without_a_fallback_owner_belongs_to_an_administrator(world):
    await world.add_user("ann")
    org = (await world.call("POST", "/orgs", {"username": "acme"}, as_="ann")).json()["id"]
    await world.call("DELETE", "/orgs/acme", as_="ann")
    assert (await delete(world)).status_code == 204
    await world.deliver(created(org))
    listed = await world.call("GET", "/orgs/acme/members", as_="root")
    assert [member["login"] for member in listed.json()] == ["root"]
    assert (await world.emitted(OrganizationCreated))[-1].owner_id == 1
    membership = (await world.emitted(MembershipChanged))[-1]
    assert (membership.organization_id, membership.user_id, membership.member, membership.owner) == (
        org,
        1,
        True,
        True,
    )


async def test_an_organization_is_restored_though_there_is_nobody_to_own_it(world):
    await world.add_user("ann")
    org = (await world.call("POST", "/orgs", {"username": "acme"}, as_="ann")).json()["id"]
    await world.call("DELETE", "/orgs/acme", as_="ann")
    await delete(world)
    async with world.database.transaction() as tx:
        await tx.execute(update(account).values(admin=False))
    count = len(await world.emitted(MembershipChanged))
    await world.deliver(created(org))
    assert (await world.call("GET", "/orgs/acme")).json()["id"] == org
    assert (await world.emitted(OrganizationCreated))[-1].owner_id == 0
    assert len(await world.emitted(MembershipChanged)) == count


async def test_a_user_cannot_join_while_they_are_deleted(world):
    await world.add_user("ann")
    await world.add_user("bob")
    await world.call("POST", "/orgs", {"username": "acme"}, as_="ann")
    owners = (await world.call("GET", "/orgs/acme/teams", as_="ann")).json()[0]["id"]
    joined, deleted = await asyncio.gather(
        world.call("PUT", f"/teams/{owners}/members/bob", as_="ann"), delete(world, "bob")
    )
    assert (joined.status_code, deleted.status_code) in {(204, 422), (404, 204)}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("POST /user/emails", {"emails": ["new@x.io"]}),
        ("POST /user/keys", {"title": "k", "key": "AAAAC3NzaC1lZDI1NTE5AAAAI" + "A" * 43}),
        ("PUT /user/following/root", None),
        ("PATCH /user/settings", {"full_name": "x"}),
        ("POST /users/ann/tokens", {"name": "t"}),
        ("POST /orgs", {"username": "acme"}),
        ("GET /user", None),
    ],
)
async def test_a_principal_of_a_deleted_user_changes_nothing(world, path, body):
    await world.add_user("ann")
    await world.call("GET", "/user", as_="ann")
    await delete(world)
    assert (await world.call(*path.split(" "), body, as_="ann")).status_code == 404
