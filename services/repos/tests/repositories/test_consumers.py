"""Changes by events of other services."""

from datetime import UTC, datetime

import msgspec
import pytest

from ingot_chassis.http.parts import PARTS
from ingot_contracts.identity.accounts import Account, Profile, User
from ingot_contracts.identity.events import UserDeleted, UserEdited
from ingot_contracts.issues.events import OpenIssuesCounted
from ingot_repos.access.rules.account_copies import AccountCopies
from ingot_repos.catalog.store.tables import account

from ..access.test_deploy_keys import ed25519

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


async def test_the_deletion_of_an_account_removes_the_deploy_keys_it_added(world, ann, bob):
    await ann.create("app")
    await ann.call("PUT", "/api/v1/repos/ann/app/collaborators/bob", {"permission": "admin"})
    for person, number in ((ann, 1), (bob, 2)):
        key = {"title": f"key {number}", "key": ed25519(number)}
        assert (await person.post("/repos/ann/app/keys", key)).status_code == 201
    await world.deliver(UserDeleted(user_id=2, login="bob"))
    assert [key["title"] for key in (await ann.get("/repos/ann/app/keys")).json()] == ["key 1"]


async def test_open_issues_are_counted_by_issues(world, ann):
    created = await ann.create("app")
    await world.deliver(OpenIssuesCounted(repository_id=created["id"], open_issues=3))
    assert (await ann.get("/repos/ann/app")).json()["open_issues_count"] == 3


PROFILE = Profile(
    html_url="http://ingot.test/ann",
    created=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
    description="mends",
    website="https://ann.example.org",
    location="Rome",
    visibility="limited",
)
SHOWN = {
    "html_url": "http://ingot.test/ann",
    "created": "2026-01-02T03:04:05Z",
    "description": "mends",
    "website": "https://ann.example.org",
    "location": "Rome",
    "visibility": "limited",
}
"""Of ``PROFILE``."""
FOR_THE_USER = {
    "is_admin": False,
    "active": False,
    "prohibit_login": False,
    "restricted": False,
    "language": "",
    "login_name": "",
    "source_id": 0,
    "last_login": "0001-01-01T00:00:00Z",
}


async def test_users_inside_answers_and_events_have_their_profile(world, ann, bob):
    edited = Account(id=1, kind="user", login="ann", email="ann@example.org", profile=PROFILE)
    await world.deliver(UserEdited(account=edited, previous_login="ann"))
    created = await ann.create("app", auto_init=True)
    await bob.call("PUT", "/api/v1/user/starred/ann/app")
    await ann.post("/repos/ann/app/statuses/master", {"state": "success"})
    await ann.post("/repos/ann/app/releases", {"tag_name": "v1"})
    [status] = (await ann.get("/repos/ann/app/statuses/master")).json()
    [release] = (await ann.get("/repos/ann/app/releases")).json()
    [push, *_] = await world.events("push")
    for user in (
        created["owner"],
        (await bob.get("/repos/ann/app")).json()["owner"],
        status["creator"],
        release["author"],
        push["pusher"],
        push["repository"]["owner"],
    ):
        assert user.items() >= (SHOWN | FOR_THE_USER).items()
        assert set(user) == set(User.__struct_fields__)


async def test_repositories_inside_events_have_the_fields_of_answers(world, ann):
    await ann.create("app", auto_init=True, license="MIT")
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"archived": True})
    shown = (await ann.get("/repos/ann/app")).json()
    [*_, edited] = await world.events("repository.edited")
    assert set(edited["repository"]) == set(shown)
    for name in ("archived_at", "branch_count", "licenses"):
        assert edited["repository"][name] == shown[name] not in (None, 0, [])


async def test_copies_that_are_older_than_profiles_are_filled_once(world, ann):
    """A copy of a deleted account stays as it is."""
    await ann.create("app")
    copies = world.app.state[PARTS][AccountCopies]

    async def forget():
        async with world.database.transaction() as tx:
            await tx.execute(account.update().values(profile=None))

    await forget()
    owner = (await ann.get("/repos/ann/app")).json()["owner"]
    assert (owner["login"], owner["html_url"], owner["created"]) == ("ann", "", "0001-01-01T00:00:00Z")
    world.identity.accounts[1] = msgspec.structs.replace(world.identity.accounts[1], profile=PROFILE)
    async with world.database.exclusive("repos_fill_profiles"):
        await copies.fill_profiles()
    assert (await ann.get("/repos/ann/app")).json()["owner"] == owner
    await copies.fill_profiles()
    assert (await ann.get("/repos/ann/app")).json()["owner"].items() >= SHOWN.items()
    calls = len(world.identity.paths)
    await copies.fill_profiles()
    assert len(world.identity.paths) == calls
    await forget()
    del world.identity.accounts[1]
    await copies.fill_profiles()
    assert (await ann.get("/repos/ann/app")).json()["owner"] == owner
