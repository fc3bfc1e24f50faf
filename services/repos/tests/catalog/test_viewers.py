"""Visible repositories: the SQL condition, compared with the function that decides."""

import msgspec
import pytest
from sqlalchemy import select

from ingot_chassis.http.paging import Page
from ingot_chassis.security.principal import ANONYMOUS, Membership, Principal
from ingot_contracts.identity.accounts import Account
from ingot_contracts.identity.units import write_levels
from ingot_repos.access.rules import levels as access
from ingot_repos.access.store import collaborations
from ingot_repos.catalog.store import accounts, repositories
from ingot_repos.catalog.store import lists as repository_lists
from ingot_repos.catalog.store.repositories import RepositoryRow
from ingot_repos.catalog.store.tables import repository
from ingot_repos.repositories.store.search import Search, search

pytestmark = pytest.mark.both_databases

ANN, BOB, CARL = 1, 2, 3
OWNERS = {ANN: "public", BOB: "private", 10: "public", 11: "limited", 12: "private"}
"""The visibility of each account that owns an open and a closed repository."""


def member(user, **memberships):
    organizations = {
        int(key.removeprefix("of_")): Membership(**fields) for key, fields in memberships.items()
    }
    return Principal(id=user, name=f"u{user}", organizations=organizations)


PRINCIPALS = {
    "nobody": ANONYMOUS,
    "ann": member(ANN),
    "bob": member(BOB),
    "carl": member(CARL),
    "administrator": Principal(id=CARL, name="carl", admin=True),
    "member of 12": member(CARL, of_12={}),
    "owner of 12": member(CARL, of_12={"owner": True}),
    "everywhere in 11": member(CARL, of_11={"everywhere": "read"}),
    "team of 10": member(CARL, of_10={"teams": {60: "read"}}),
    "team of 10 by unit": member(CARL, of_10={"teams": {60: write_levels({"issues": "read"})}}),
    "team of 10 without any unit": member(CARL, of_10={"teams": {60: write_levels({"code": "none"})}}),
    "everywhere in 11 by unit": member(CARL, of_11={"everywhere": write_levels({"wiki": "read"})}),
    "other team of 10": member(CARL, of_10={"teams": {61: "read"}}),
    "restricted": Principal(id=ANN, name="ann", restricted_to=[1, 2, 3, 4]),
    "otherwise restricted": Principal(id=ANN, name="ann", restricted_to=[2]),
    "restricted administrator": Principal(id=CARL, name="carl", admin=True, restricted_to=[4]),
    "token for what is public": Principal(id=ANN, name="ann", restricted_to=[], public_only=True),
}
PRINCIPALS |= {
    f"{name}, as a restricted user": msgspec.structs.replace(principal, granted_only=True)
    for name, principal in PRINCIPALS.items()
    if not principal.admin
}
GRANTED = {
    "nobody": [],
    "ann": ["open-1", "closed-1"],
    "carl": ["closed-2"],
    "member of 12": ["closed-2"],
    "owner of 12": ["closed-2", "open-12", "closed-12"],
    "everywhere in 11": ["closed-2", "open-11", "closed-11"],
    "team of 10": ["closed-2", "closed-10"],
    "team of 10 without any unit": ["closed-2"],
    "restricted": ["open-1", "closed-1"],
    "otherwise restricted": ["closed-1"],
    "token for what is public": ["open-1"],
}
"""The repositories that some restricted users read."""


@pytest.fixture
async def shelf(world):
    """Of each owner an open and a closed repository; carl works on bob's, team 60 has that of 10."""
    async with world.database.transaction() as tx:
        for id_, visibility in OWNERS.items():
            kind = "user" if id_ < 10 else "organization"
            await accounts.save(tx, Account(id=id_, kind=kind, login=f"a{id_}", visibility=visibility))
        await accounts.save(tx, Account(id=CARL, kind="user", login="carl", visibility="public"))
        for id_ in OWNERS:
            for name, private in (("open", False), ("closed", True)):
                values = {
                    "private": private,
                    "state": "ready",
                    "shard": "shard-0",
                    "default_branch": "master",
                }
                added = await repositories.add(tx, owner_id=id_, name=f"{name}-{id_}", **values)
                if (id_, private) == (10, True):
                    await collaborations.grant(tx, added, 60)
                if (id_, private) == (BOB, True):
                    await collaborations.save(tx, added, CARL, "write")
    return world


async def read_rows(db, viewer, ids):
    return [await repositories.get(db, viewer, id_) for id_ in ids]


async def test_everybody_sees_what_they_may_read_whoever_asked_before(shelf):
    async with shelf.database.read() as db:
        ids = list((await db.execute(select(repository.c.id).order_by(repository.c.id))).scalars())
        for name in [*PRINCIPALS, *reversed(PRINCIPALS)]:
            principal = PRINCIPALS[name]
            viewer = access.viewer(principal)
            rows: list[RepositoryRow] = await read_rows(db, viewer, ids)
            readable = [row.id for row in rows if access.access_to(row, principal).of(None) != "none"]
            assert await repository_lists.list_visible_ids(db, viewer, ids) == readable, name
            assert sorted(await repositories.get_visible(db, viewer, ids)) == readable, name
            for query in ({}, {"text": "e"}, {"text": "ope clo"}, {"text": "open"}, {"text": "n-1"}):
                matching, total = await search(db, viewer, Search(sort="id", **query), Page(1, 50))
                texts = query.get("text", "").split()
                expected = [
                    row.id for row in rows if row.id in readable and all(text in row.name for text in texts)
                ]
                assert ([row.id for row in matching], total) == (expected, len(expected)), (name, query)


async def test_a_restricted_user_reads_only_what_was_given(shelf):
    async with shelf.database.read() as db:
        ids = list((await db.execute(select(repository.c.id).order_by(repository.c.id))).scalars())
        for name, expected in GRANTED.items():
            viewer = access.viewer(PRINCIPALS[f"{name}, as a restricted user"])
            rows = await repositories.get_visible(db, viewer, ids)
            assert [rows[id_].name for id_ in sorted(rows)] == expected, name
