"""Restrictions by groups of sources: how several sources and administrators work together."""

import asyncio

import pytest

from ingot_identity.accounts.components import AccountComponents
from ingot_identity.accounts.rules.locks import lock_for_update
from ingot_identity.mappings import rules as mappings
from ingot_identity.sources.rules import identities, sources
from ingot_identity.sources.rules.configs import GroupRules
from ingot_identity.sources.store import identities as links
from ingot_identity.users import rules as users

CONFIG = {"kind": "oidc", "issuer": "https://id.example.org", "client_id": "ingot"}
RULES = GroupRules(restricted_groups=["guests"])


class People:
    """The account ann, and sources that it is linked with."""

    def __init__(self, world, ann_id):
        self.world, self.ann_id = world, ann_id

    async def add_source(self, name):
        async with self.world.database.transaction() as tx:
            source = await sources.create(tx, name=name, title=name.capitalize(), config=CONFIG)
            await identities.link(tx, self.ann_id, source, f"ann at {name}")
        return source

    async def apply(self, source, *groups):
        """Apply groups of ann. Return whether ann is restricted then."""
        presenter = self.world.part(AccountComponents).presenter
        await mappings.apply_groups(self.world.database, presenter, source, RULES, self.ann_id, groups)
        return await self.is_restricted()

    async def is_restricted(self):
        return (await self.world.call("GET", "/users/ann", as_="root")).json()["restricted"]

    async def edit(self, **changes):
        return await self.world.call("PATCH", "/admin/users/ann", changes, as_="root")


@pytest.fixture
async def people(world):
    return People(world, await world.add_user("ann"))


async def test_no_other_source_ends_the_restriction_of_an_unlinked_one(people):
    one, other = await people.add_source("one"), await people.add_source("other")
    assert await people.apply(one, "guests")
    assert await people.apply(other, "guests")
    unlinked = await people.world.call("DELETE", f"/user/external_accounts/{one.id}", as_="ann")
    assert unlinked.status_code == 204
    assert await people.apply(other)
    freed = await people.edit(restricted=False)
    assert (freed.status_code, await people.is_restricted()) == (200, False)


async def test_the_last_of_two_sources_ends_a_restriction(people):
    one, other = await people.add_source("one"), await people.add_source("other")
    await people.apply(one, "guests")
    await people.apply(other, "guests")
    assert await people.apply(one)
    assert not await people.apply(other)


async def test_a_change_by_hand_meets_a_restriction_that_begins(people):
    source = await people.add_source("one")
    presenter = people.world.part(AccountComponents).presenter
    async with people.world.database.transaction() as tx:
        await lock_for_update(tx, people.ann_id)
        link = await links.get_of_account(tx, people.ann_id, source.id)
        await links.change(tx, link.id, gave_restricted=True)
        await users.edit_user(tx, presenter, people.ann_id, {"restricted": True})
        # A form repeats the value that it showed before.
        edit = asyncio.create_task(people.edit(restricted=False))
        await asyncio.sleep(0.5)
    assert ((await edit).status_code, await people.is_restricted()) == (409, True)


async def test_a_mark_without_its_restriction_is_healed(people):
    source = await people.add_source("one")
    async with people.world.database.transaction() as tx:
        link = await links.get_of_account(tx, people.ann_id, source.id)
        await links.change(tx, link.id, gave_restricted=True)
    assert await people.apply(source, "guests")
    assert not await people.apply(source)
