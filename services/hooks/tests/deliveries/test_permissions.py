"""A hook does not outlive the permission of its responsible user."""

from typing import Any

import msgspec
import pytest

from ingot_chassis.errors import Conflict
from ingot_chassis.security.principal import Membership
from ingot_contracts.identity.accounts import Account, User
from ingot_contracts.identity.events import CredentialsRevoked, MembershipChanged, UserDeleted, UserEdited
from ingot_contracts.identity.units import UNITS, write_levels
from ingot_contracts.repos.access import AccessLevel
from ingot_contracts.repos.events import AccessChanged, RepositoryEdited
from ingot_hooks.catalog.rules import access
from ingot_hooks.catalog.store import queries as store

from ..builders import ACME, ANN, hook, push, repository
from ..world import HOOKS, MEMBER, OWNER, World

BOB = Account(id=2, kind="user", login="bob")
OF_ACME = repository(11, owner=ACME)


async def create_hook_as_bob(world: World, url: str) -> int:
    world.repos.levels[7, 2] = "admin"
    return int((await world.call("POST", HOOKS, hook(url), user=2)).json()["id"])


async def get_hook(world: World, hook_id: int) -> Any:
    return (await world.call("GET", f"{HOOKS}/{hook_id}")).json()


@pytest.mark.parametrize(
    "event",
    [
        AccessChanged(repository_id=7),
        RepositoryEdited(repository=repository(), sender=ANN),
        MembershipChanged(organization_id=50, user_id=2, member=False),
        UserDeleted(user_id=2, login="bob"),
        UserEdited(account=BOB, previous_login="bob"),
        CredentialsRevoked(user_id=2),
    ],
    ids=lambda event: type(event).__name__,
)
async def test_a_lost_permission_switches_the_hook_off_and_cancels_its_pending_deliveries(
    world, receiver, event
):
    hook_id = await create_hook_as_bob(world, receiver.url)
    await world.deliver(push())
    world.repos.levels[7, 2] = "read"
    await world.deliver(event)
    assert await world.permissions.step() == 1
    hook_body = await get_hook(world, hook_id)
    assert (hook_body["active"], hook_body["disabled_reason"]) == (
        False,
        "whoever set it up no longer administers the repository",
    )
    await world.worker.step()
    assert receiver.requests == []
    (row,) = (await world.call("GET", f"{HOOKS}/{hook_id}/deliveries")).json()
    assert row["state"] == "cancelled"


async def test_nothing_is_sent_until_the_permission_is_checked(world, receiver):
    await create_hook_as_bob(world, receiver.url)
    world.repos.levels[7, 2] = "none"
    await world.deliver(AccessChanged(repository_id=7))
    await world.deliver(push())
    await world.worker.step()
    assert receiver.requests == []


async def test_a_permission_that_still_exists_ends_the_check(world, receiver):
    hook_id = await create_hook_as_bob(world, receiver.url)
    await world.deliver(AccessChanged(repository_id=7))
    await world.deliver(push())
    await world.worker.step()
    assert len(receiver.requests) == 1
    assert (await get_hook(world, hook_id))["active"] is True
    assert await world.permissions.step() == 0


async def test_a_delivery_waits_while_repos_does_not_answer(world, receiver):
    hook_id = await create_hook_as_bob(world, receiver.url)
    for _ in range(3):
        await world.deliver(push())
    world.repos.unavailable = True
    assert [await world.worker.step() for _ in range(2)] == [3, 0]
    world.repos.unavailable = False
    rows = (await world.call("GET", f"{HOOKS}/{hook_id}/deliveries")).json()
    assert [(row["state"], row["attempts"]) for row in rows] == [("pending", 0)] * 3
    assert "the permission for it could not be checked" in rows[-1]["error"]
    assert receiver.requests == []


async def test_repos_is_asked_once_for_all_hooks_of_a_user_in_a_repository(world, receiver):
    for _ in range(3):
        await create_hook_as_bob(world, receiver.url)
    await world.call("POST", HOOKS, hook(receiver.url))
    await world.deliver(push())
    await world.worker.step()
    assert (len(receiver.requests), world.repos.operations().count("level")) == (4, 2)


async def test_a_lost_permission_is_noticed_without_an_event(world, receiver):
    hook_id = await create_hook_as_bob(world, receiver.url)
    world.repos.levels[7, 2] = "read"
    await world.deliver(push())
    await world.worker.step()
    assert receiver.requests == []
    assert (await get_hook(world, hook_id))["active"] is False


async def test_a_hook_that_was_changed_meanwhile_is_not_switched_off(world, receiver):
    hook_id = await create_hook_as_bob(world, receiver.url)
    await world.deliver(AccessChanged(repository_id=7))
    async with world.db.read() as db:
        (before,) = await store.list_awaiting_permission_check(db, 1)
    world.repos.levels[7, 2] = "none"
    await world.call("PATCH", f"{HOOKS}/{hook_id}", {"config": {"url": receiver.url + "/new"}})
    with pytest.raises(Conflict):
        await world.permissions.check(before)
    assert (await get_hook(world, hook_id))["active"] is True


async def test_a_user_who_activates_a_hook_becomes_its_responsible_user(world, receiver):
    hook_id = await create_hook_as_bob(world, receiver.url)
    world.repos.levels[7, 2] = "none"
    await world.deliver(AccessChanged(repository_id=7))
    await world.permissions.step()
    await world.call("PATCH", f"{HOOKS}/{hook_id}", {"active": True})
    await world.deliver(AccessChanged(repository_id=7))
    await world.deliver(push())
    await world.worker.step()
    assert len(receiver.requests) == 1


async def test_a_user_who_changes_the_url_becomes_its_responsible_user(world, receiver):
    hook_id = (await world.call("POST", HOOKS, hook("http://other.example.org/"))).json()["id"]
    world.repos.levels[7, 2] = "admin"
    await world.call("PATCH", f"{HOOKS}/{hook_id}", {"config": {"url": receiver.url}}, user=2)
    world.repos.levels[7, 2] = "none"
    await world.deliver(AccessChanged(repository_id=7))
    await world.deliver(push())
    await world.worker.step()
    assert receiver.requests == []
    assert (await get_hook(world, hook_id))["active"] is False


@pytest.mark.parametrize(
    ("account", "sent"),
    [
        (Account(id=2, kind="user", login="bob", admin=True), True),
        (Account(id=2, kind="user", login="bob"), False),
        (Account(id=2, kind="user", login="bob", admin=True, active=False), False),
        (None, False),
    ],
)
@pytest.mark.parametrize("path", ["/repos/ann/other", "/orgs/secret"])
async def test_a_hook_of_an_administrator_needs_an_administrator(world, receiver, path, account, sent):
    world.save_account(msgspec.structs.replace(BOB, admin=True))
    created = await world.call("POST", f"{path}/hooks", hook(receiver.url), user=2, admin=True)
    assert created.status_code == 201
    if account is None:
        world.remove_account(2)
        await world.deliver(UserDeleted(user_id=2, login="bob"))
    else:
        world.save_account(account)
        await world.deliver(UserEdited(account=account, previous_login="bob"))
    secret = User(id=51, login="secret")
    await world.deliver(push(target=repository(8, name="other", owner=secret)))
    await world.worker.step()
    assert len(receiver.requests) == int(sent)


@pytest.mark.parametrize("stays", [True, False])
async def test_a_hook_of_an_organization_needs_a_responsible_member(world, receiver, stays):
    world.repos.add(OF_ACME, {2: "read"})
    await world.call("POST", "/orgs/acme/hooks", hook(receiver.url), user=2, organizations=MEMBER)
    world.identity.memberships[2] = MEMBER if stays else {}
    await world.deliver(MembershipChanged(organization_id=50, user_id=2, member=stays))
    await world.deliver(push(target=OF_ACME))
    await world.worker.step()
    assert len(receiver.requests) == int(stays)


@pytest.mark.parametrize(
    ("organizations", "level", "sent"),
    [
        (MEMBER, "none", False),
        (MEMBER, "read", True),
        (OWNER, "none", True),
        ({50: Membership(everywhere="read")}, "none", True),
        ({50: Membership(everywhere=write_levels({"code": "read"}))}, "none", True),
        ({50: Membership(everywhere=write_levels({"issues": "write"}))}, "none", False),
        (MEMBER, AccessLevel(level="none", units={"code": "read"}), True),
        (MEMBER, AccessLevel(level="none", units={"issues": "write", "pulls": "write"}), False),
    ],
)
async def test_a_hook_of_an_organization_gets_what_its_responsible_user_may_see(
    world, receiver, organizations, level, sent
):
    """Users with all repositories also get events of deleted ones, to which access no longer exists."""
    world.identity.memberships[2] = organizations
    world.repos.add(OF_ACME, {2: level})
    created = await world.call(
        "POST", "/orgs/acme/hooks", hook(receiver.url), user=2, organizations=organizations
    )
    await world.deliver(push(target=OF_ACME))
    await world.worker.step()
    assert len(receiver.requests) == int(sent)
    path = f"/orgs/acme/hooks/{created.json()['id']}"
    assert (await world.call("GET", path, organizations=OWNER)).json()["active"] is True
    (row,) = (await world.call("GET", f"{path}/deliveries", organizations=OWNER)).json()
    assert (row["state"], row["attempts"], row["error"]) == (
        ("delivered", 1, "")
        if sent
        else ("cancelled", 0, "whoever set the hook up may not see the repository")
    )


@pytest.mark.parametrize(
    ("event", "units"),
    [
        ("push", {"code"}),
        ("status", {"code"}),
        ("issues", {"issues"}),
        ("issue_comment", {"issues"}),
        ("pull_request", {"code", "pulls"}),
        ("pull_request_comment", {"code", "pulls"}),
        ("pull_request_review_approved", {"code", "pulls"}),
        ("release", {"releases"}),
        ("wiki", {"wiki"}),
    ],
)
def test_an_event_is_for_readers_of_its_units(event, units):
    account, levels = Account(id=2, kind="user", login="bob"), dict.fromkeys(UNITS, "read")
    for unit in UNITS:
        without = levels | {unit: "none"}
        assert access.sees(AccessLevel(level="none", units=without), event) == (unit not in units)
        everywhere = Membership(everywhere=write_levels(without))
        assert access.sees_all_repositories(account, everywhere, event) == (unit not in units)
    nothing = AccessLevel(level="none")
    assert access.sees(AccessLevel(level="none", units={"packages": "read"}), "repository")
    assert not access.sees(nothing, "repository")
    assert not access.sees(nothing, event)


async def test_a_redelivery_asks_for_the_permission_again(world, receiver):
    hook_id = await create_hook_as_bob(world, receiver.url)
    await world.deliver(push())
    await world.worker.step()
    (sent,) = (await world.call("GET", f"{HOOKS}/{hook_id}/deliveries")).json()
    world.repos.levels[7, 2] = "none"
    again = f"{HOOKS}/{hook_id}/deliveries/{sent['id']}/attempts"
    assert (await world.call("POST", again)).status_code == 202
    await world.new_worker().step()
    assert len(receiver.requests) == 1
    assert (await get_hook(world, hook_id))["active"] is False
    assert (await world.call("POST", again)).status_code == 202
    await world.worker.step()
    assert len(receiver.requests) == 2, "whoever administers the repository may try a hook that is off"
