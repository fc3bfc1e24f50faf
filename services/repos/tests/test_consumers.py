"""What events of other services change."""

import pytest

from ingot_contracts.identity import Account, UserDeleted, UserEdited
from ingot_contracts.issues import OpenIssuesCounted

pytestmark = pytest.mark.both_databases


async def test_a_renamed_owner_is_found_under_the_new_name(world, ann):
    await ann.create("app")
    renamed = Account(id=1, kind="user", login="anna", email="ann@example.org")
    await world.deliver(UserEdited(account=renamed, previous_login="ann"))
    assert (await ann.get("/repos/anna/app")).json()["full_name"] == "anna/app"


async def test_a_name_that_changed_hands_leads_to_its_new_holder(world, ann, bob):
    await ann.create("app")
    await bob.create("app")
    world.identity.add_account(1, "old", email="ann@example.org")
    renamed = Account(id=2, kind="user", login="ann", email="bob@example.org")
    await world.deliver(UserEdited(account=renamed, previous_login="bob"))
    assert (await ann.get("/repos/ann/app")).json()["owner"]["id"] == 2
    assert (await ann.get("/repos/old/app")).json()["owner"]["id"] == 1


async def test_the_deletion_of_an_account_removes_its_collaborations(world, ann, bob):
    await ann.create("app")
    await bob.call("PUT", "/api/v1/repos/ann/app/collaborators/bob")
    await ann.call("PUT", "/api/v1/repos/ann/app/collaborators/bob")
    await world.deliver(UserDeleted(user_id=2, login="bob"))
    assert (await ann.call("GET", "/api/v1/repos/ann/app/collaborators")).json() == []


async def test_open_issues_are_counted_by_issues(world, ann):
    created = await ann.create("app")
    await world.deliver(OpenIssuesCounted(repository_id=created["id"], open_issues=3))
    assert (await ann.get("/repos/ann/app")).json()["open_issues_count"] == 3
