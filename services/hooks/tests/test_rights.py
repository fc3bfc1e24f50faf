"""A hook does not outlive the right of whoever answers for it."""

from typing import Any

import msgspec
import pytest

from ingot_chassis.errors import Unavailable
from ingot_chassis.principal import Membership
from ingot_chassis.testing.receiver import Receiver
from ingot_contracts.identity import MembershipChanged, UserDeleted
from ingot_contracts.repos import AccessChanged, RepositoryEdited

from .builders import ACME, ANN, config, hook, push, repository
from .conftest import World

HOOKS = "/repos/ann/app/hooks"
MEMBER = {50: Membership()}


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
    await world.hear(AccessChanged(repository_id=7))
    await world.hear(push())

    class Silent:
        async def settle(self, _hook: Any) -> str:
            raise Unavailable("repos does not answer")

    known, world.deliverer._rights = world.deliverer._rights, Silent()
    await world.deliverer.step()
    (row,) = (await world.call("GET", f"{HOOKS}/{id_}/deliveries")).json()
    assert (row["state"], row["attempts"]) == ("pending", 0)
    assert "repos does not answer" in row["error"]
    assert receiver.requests == []
    world.deliverer._rights = known


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


async def test_a_hook_of_an_administrator_rests_on_no_right_that_is_lost(
    world: World, receiver: Receiver
) -> None:
    world.sisters.levels["ann/app", 2] = "owner"
    await world.call("POST", HOOKS, hook(receiver.url), user=2, admin=True)
    world.sisters.levels["ann/app", 2] = "none"
    await world.hear(AccessChanged(repository_id=7))
    await world.hear(push())
    await world.deliverer.step()
    assert len(receiver.requests) == 1


@pytest.mark.parametrize("stays", [True, False])
async def test_a_hook_of_an_organization_needs_its_maker_inside(
    world: World, receiver: Receiver, stays: bool
) -> None:
    await world.call("POST", "/orgs/acme/hooks", hook(config=config(receiver.url)), user=2, held=MEMBER)
    world.sisters.memberships[2] = MEMBER if stays else {}
    await world.hear(MembershipChanged(organization_id=50, user_id=2, member=stays))
    await world.hear(push(of=repository(11, owner=ACME)))
    await world.deliverer.step()
    assert len(receiver.requests) == int(stays)
