"""Restrictions by groups of sources: how several sources and administrators work together."""

import pytest

from ingot_identity.accounts.components import AccountComponents
from ingot_identity.mappings import rules as mappings
from ingot_identity.sources.rules import identities, sources
from ingot_identity.sources.rules.configs import GroupRules

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
