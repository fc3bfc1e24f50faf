"""A hook does not outlive the right of whoever answers for it."""

from typing import Any

import msgspec
import pytest

from ingot_chassis.errors import Conflict
from ingot_chassis.principal import Membership
from ingot_chassis.testing.receiver import Receiver
from ingot_contracts.identity import (
    Account,
    CredentialsRevoked,
    MembershipChanged,
    User,
    UserDeleted,
    UserEdited,
)
from ingot_contracts.repos import AccessChanged, Level, RepositoryEdited
from ingot_hooks.store import hooks as store

from .builders import ACME, ANN, hook, push, repository
from .conftest import World

HOOKS = "/repos/ann/app/hooks"
MEMBER, OWNER = {50: Membership()}, {50: Membership(owner=True)}
BOB = Account(id=2, kind="user", login="bob")
OF_ACME = repository(11, owner=ACME)


async def made_by_bob(world: World, url: str) -> int:
    world.sisters.levels["ann/app", 2] = "write"
    return int((await world.call("POST", HOOKS, hook(url), user=2)).json()["id"])


async def shown(world: World, id_: int) -> Any:
    return (await world.call("GET", f"{HOOKS}/{id_}")).json()


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
async def test_a_lost_right_switches_the_hook_off_and_cancels_what_waits(
    world: World, receiver: Receiver, event: msgspec.Struct
) -> None:
    id_ = await made_by_bob(world, receiver.url)
    await world.hear(push())
    world.sisters.levels["ann/app", 2] = "read"
    await world.hear(event)
    assert await world.rights.step() == 1
    found = await shown(world, id_)
    assert (found["active"], found["disabled_reason"]) == (
        False,
        "whoever set it up may no longer write to the repository",
    )
    await world.deliverer.step()
    assert receiver.requests == []
    (row,) = (await world.call("GET", f"{HOOKS}/{id_}/deliveries")).json()
    assert row["state"] == "cancelled"


async def test_nothing_is_sent_while_the_right_is_in_doubt(world: World, receiver: Receiver) -> None:
    await made_by_bob(world, receiver.url)
    world.sisters.levels["ann/app", 2] = "none"
    await world.hear(AccessChanged(repository_id=7))
    await world.hear(push())
    await world.deliverer.step()
    assert receiver.requests == []


async def test_a_right_that_is_still_held_ends_the_doubt(world: World, receiver: Receiver) -> None:
    id_ = await made_by_bob(world, receiver.url)
    await world.hear(AccessChanged(repository_id=7))
    await world.hear(push())
    await world.deliverer.step()
    assert len(receiver.requests) == 1
    assert (await shown(world, id_))["active"] is True
    assert await world.rights.step() == 0


async def test_a_delivery_waits_until_somebody_can_say(world: World, receiver: Receiver) -> None:
    id_ = await made_by_bob(world, receiver.url)
    for _ in range(3):
        await world.hear(push())
    world.sisters.silent = True
    assert [await world.deliverer.step() for _ in range(2)] == [3, 0]
    world.sisters.silent = False
    rows = (await world.call("GET", f"{HOOKS}/{id_}/deliveries")).json()
    assert [(row["state"], row["attempts"]) for row in rows] == [("pending", 0)] * 3
    assert "the right to it is not known" in rows[-1]["error"]
    assert receiver.requests == []


async def test_what_somebody_may_do_is_asked_once_for_all_their_hooks_of_a_repository(
    world: World, receiver: Receiver
) -> None:
    for _ in range(3):
        await made_by_bob(world, receiver.url)
    await world.call("POST", HOOKS, hook(receiver.url))
    await world.hear(push())
    await world.deliverer.step()
    assert (len(receiver.requests), world.sisters.asked) == (4, 2)


async def test_a_lost_right_is_noticed_without_an_event(world: World, receiver: Receiver) -> None:
    id_ = await made_by_bob(world, receiver.url)
    world.sisters.levels["ann/app", 2] = "read"
    await world.hear(push())
    await world.deliverer.step()
    assert receiver.requests == []
    assert (await shown(world, id_))["active"] is False


async def test_what_somebody_changed_meanwhile_is_not_switched_off(world: World, receiver: Receiver) -> None:
    id_ = await made_by_bob(world, receiver.url)
    await world.hear(AccessChanged(repository_id=7))
    async with world.db.read() as db:
        (before,) = await store.list_doubted(db, 1)
    world.sisters.levels["ann/app", 2] = "none"
    await world.call("PATCH", f"{HOOKS}/{id_}", {"config": {"url": receiver.url + "/new"}})
    with pytest.raises(Conflict):
        await world.rights.settle(before)
    assert (await shown(world, id_))["active"] is True


async def test_whoever_switches_a_hook_on_answers_for_it(world: World, receiver: Receiver) -> None:
    id_ = await made_by_bob(world, receiver.url)
    world.sisters.levels["ann/app", 2] = "none"
    await world.hear(AccessChanged(repository_id=7))
    await world.rights.step()
    await world.call("PATCH", f"{HOOKS}/{id_}", {"active": True})
    await world.hear(AccessChanged(repository_id=7))
    await world.hear(push())
    await world.deliverer.step()
    assert len(receiver.requests) == 1


async def test_whoever_aims_a_hook_elsewhere_answers_for_it(world: World, receiver: Receiver) -> None:
    id_ = (await world.call("POST", HOOKS, hook("http://elsewhere.example.org/"))).json()["id"]
    world.sisters.levels["ann/app", 2] = "write"
    await world.call("PATCH", f"{HOOKS}/{id_}", {"config": {"url": receiver.url}}, user=2)
    world.sisters.levels["ann/app", 2] = "none"
    await world.hear(AccessChanged(repository_id=7))
    await world.hear(push())
    await world.deliverer.step()
    assert receiver.requests == []
    assert (await shown(world, id_))["active"] is False


@pytest.mark.parametrize(
    ("account", "told"),
    [
        (Account(id=2, kind="user", login="bob", admin=True), True),
        (Account(id=2, kind="user", login="bob"), False),
        (Account(id=2, kind="user", login="bob", admin=True, active=False), False),
        (None, False),
    ],
)
@pytest.mark.parametrize("path", ["/repos/ann/other", "/orgs/secret"])
async def test_a_hook_of_an_administrator_ends_with_their_being_one(
    world: World, receiver: Receiver, path: str, account: Account | None, told: bool
) -> None:
    world.sisters.accounts["bob"] = msgspec.structs.replace(BOB, admin=True)
    made = await world.call("POST", f"{path}/hooks", hook(receiver.url), user=2, admin=True)
    assert made.status_code == 201
    if account is None:
        del world.sisters.accounts["bob"]
        await world.hear(UserDeleted(user_id=2, login="bob"))
    else:
        world.sisters.accounts["bob"] = account
        await world.hear(UserEdited(account=account, previous_login="bob"))
    secret = User(id=51, login="secret")
    await world.hear(push(of=repository(8, name="other", owner=secret)))
    await world.deliverer.step()
    assert len(receiver.requests) == int(told)


@pytest.mark.parametrize("stays", [True, False])
async def test_a_hook_of_an_organization_needs_its_maker_inside(
    world: World, receiver: Receiver, stays: bool
) -> None:
    world.sisters.add(OF_ACME, {2: "read"})
    await world.call("POST", "/orgs/acme/hooks", hook(receiver.url), user=2, held=MEMBER)
    world.sisters.memberships[2] = MEMBER if stays else {}
    await world.hear(MembershipChanged(organization_id=50, user_id=2, member=stays))
    await world.hear(push(of=OF_ACME))
    await world.deliverer.step()
    assert len(receiver.requests) == int(stays)


@pytest.mark.parametrize(
    ("held", "level", "told"),
    [(MEMBER, "none", False), (MEMBER, "read", True), (OWNER, "none", True)],
)
async def test_a_hook_of_an_organization_hears_what_its_maker_may_see(
    world: World, receiver: Receiver, held: dict[int, Membership], level: Level, told: bool
) -> None:
    """An owner also of what is gone, which nobody has access to any more."""
    world.sisters.memberships[2] = held
    world.sisters.add(OF_ACME, {2: level})
    made = await world.call("POST", "/orgs/acme/hooks", hook(receiver.url), user=2, held=held)
    await world.hear(push(of=OF_ACME))
    await world.deliverer.step()
    assert len(receiver.requests) == int(told)
    path = f"/orgs/acme/hooks/{made.json()['id']}"
    assert (await world.call("GET", path, held=OWNER)).json()["active"] is True
    (row,) = (await world.call("GET", f"{path}/deliveries", held=OWNER)).json()
    assert (row["state"], row["attempts"], row["error"]) == (
        ("delivered", 1, "")
        if told
        else ("cancelled", 0, "whoever set the hook up may not see the repository")
    )
