"""Searches and lists look at as many rows among many other accounts as among few."""

from operator import attrgetter
from typing import NamedTuple

import pytest
from sqlalchemy import text

from ingot_chassis.db.arrays import COUNTED
from ingot_chassis.http.paging import Page
from ingot_chassis.security.principal import Principal
from ingot_identity.accounts.store import queries as accounts
from ingot_identity.emails import store as emails
from ingot_identity.follows import store as follows
from ingot_identity.members import store as members
from ingot_identity.organizations import store as organizations
from ingot_identity.teams import store as teams
from ingot_identity.users import store
from ingot_identity.users.store import UserFilter
from ingot_testing.service import page_costs, rows_of_pages, rows_touched

pytestmark = pytest.mark.both_databases

FEW, MANY = 200, 4_000
OWN, PAGE = 10, 5
"""Users, and organizations, that are looked for, and of a page."""
CONSTANT = 300
"""PostgreSQL reads a table of a few pages as a whole."""
ROWS_OF_A_PAGE = 3_000
"""On SQLite instructions; a walk along a list of ``MANY`` takes more."""
MORE = ", and more" * 20
"""Rows are as wide as those of people: a narrow table is read as a whole sooner."""
FILL = [
    """
    INSERT INTO account (kind, login, lower_login, full_name, description, website, location, visibility,
    email,
        email_private, password_hash, admin, active, login_prohibited, created_at, updated_at)
    WITH RECURSIVE n(n) AS (SELECT {first} UNION ALL SELECT n + 1 FROM n WHERE n < {last})
    SELECT kind, '{word}-' || kind || n, '{word}-' || kind || n, 'Holds a {word}', '{more}', '', '', 'public',
        '{word}-' || kind || n || '@example.com', n % 2 = 0, '{more}', false, true, false,
        '2026-01-01 00:00:00+00', '2026-01-01 00:00:00+00'
    FROM n CROSS JOIN (SELECT 'user' AS kind UNION ALL SELECT 'organization') AS kinds
    """,
    """
    INSERT INTO email (account_id, address, is_primary, verified)
    SELECT id, email, true, true FROM account WHERE id > {last_id}
    """,
]


async def fill(db, **values):
    async with db.transaction() as tx:
        last_id = (await tx.execute(text("SELECT coalesce(max(id), 0) FROM account"))).scalar_one()
        for statement in FILL:
            await tx.execute(text(statement.format(last_id=last_id, more=MORE, **values)))


async def settle(db):
    """As the periodic task and VACUUM do."""
    async with db.transaction() as tx:
        await store.recount(tx)
    if not db.is_sqlite:
        async with db.transaction() as tx:
            names = "SELECT indexrelid FROM pg_index WHERE indexrelid::regclass::text LIKE '%trigrams%'"
            await tx.execute(
                text(f"SELECT gin_clean_pending_list(indexrelid::regclass) FROM ({names}) AS gin")
            )
            await tx.execute(text("ANALYZE"))


def users(word, total, viewer):
    async def read(tx):
        assert (await store.search_users(tx, word, Page(1, PAGE), viewer))[1] == total

    return read


def users_of_administrators(word, total, sort):
    async def read(tx):
        user_filter = UserFilter(text=word)
        assert (await store.list_users(tx, user_filter, Page(1, PAGE), sort=sort, descending=True))[
            1
        ] == total

    return read


def filtered_users(total, sort="name", **fields):
    async def read(tx):
        user_filter = UserFilter(**fields)
        rows, number = await store.list_users(tx, user_filter, Page(1, PAGE), sort=sort, descending=True)
        assert (len(rows), number) == (total, total)

    return read


def organizations_for(word, total, viewer):
    async def read(tx):
        listed = await organizations.list_visible(tx, Page(1, PAGE), viewer=viewer, text=word)
        assert listed[1] == total

    return read


def addresses(word, total):
    async def read(tx):
        assert (await emails.search(tx, word, Page(1, PAGE)))[1] == total

    return read


def first_page(list_page):
    return lambda tx: list_page(tx, Page(1, PAGE))


def all_users(tx, page):
    return store.search_users(tx, "", page, NOBODY)


def users_by(sort, *, descending=False):
    def list_page(tx, page):
        return store.list_users(tx, UserFilter(), page, sort=sort, descending=descending)

    return list_page


def organizations_of(viewer):
    return lambda tx, page: organizations.list_visible(tx, page, viewer=viewer)


def all_addresses(tx, page):
    return emails.search(tx, "", page)


NOBODY, SOMEBODY, ROOT = Principal(), Principal(id=1), Principal(id=1, admin=True)
GUEST = Principal(id=1, granted_only=True)
READS = {
    "nobody: a name": users("needle", OWN, NOBODY),
    "nobody: no name": users("zebra", 0, NOBODY),
    "nobody: what all addresses have": users("example.com", 0, NOBODY),
    "somebody: a name": users("NEEDLE", OWN, SOMEBODY),
    "somebody: a full name": users("holds a needle", OWN, SOMEBODY),
    "somebody: an address": users("needle-user1@", 1, SOMEBODY),
    "somebody: a hidden address": users("needle-user2@", 0, SOMEBODY),
    "administrator: a hidden address": users("needle-user2@", 1, ROOT),
    "administrator: users by name": users_of_administrators("needle", OWN, "name"),
    "administrator: users by creation": users_of_administrators("needle", OWN, "created"),
    "nobody: organizations": organizations_for("needle", OWN, NOBODY),
    "restricted user: organizations": organizations_for("needle", 0, GUEST),
    "administrator: organizations": organizations_for("needle", OWN, None),
    "administrator: addresses": addresses("needle", 2 * OWN),
    "administrator: no address": addresses("zebra", 0),
    "nobody: all users": first_page(all_users),
    "administrator: all users by name": first_page(users_by("name")),
    "administrator: all users by creation": first_page(users_by("created", descending=True)),
    "administrator: all users by change": first_page(users_by("updated", descending=True)),
    "administrator: all users by id": first_page(users_by("id")),
    **{
        f"administrator: {name} by {sort}": filtered_users(total, sort, **fields)
        for name, (total, fields) in {
            "administrators": (1, {"admin": True}),
            "inactive users": (1, {"active": False}),
            "users who may not sign in": (1, {"login_prohibited": True}),
            "users with a name for signing in": (1, {"login_name": "outside"}),
            "users with a second factor": (0, {"two_factor": True}),
            "restricted users": (0, {"restricted": True}),
            "users of another kind": (0, {"matches_none": True}),
        }.items()
        for sort in ("name", "created", "updated", "id")
    },
    "administrators who may sign in": accounts.lock_administrators,
    "nobody: all organizations": first_page(organizations_of(NOBODY)),
    "somebody: all organizations": first_page(organizations_of(SOMEBODY)),
    "restricted user: all organizations": first_page(organizations_of(GUEST)),
    "administrator: all organizations": first_page(organizations_of(None)),
    "administrator: all addresses": first_page(all_addresses),
}


async def test_searches_look_at_as_many_rows_among_twenty_times_as_many(world):
    await fill(world.database, first=1, last=OWN, word="needle")
    async with world.database.transaction() as tx:
        values = "active = false, login_prohibited = true, login_name = 'outside'"
        await tx.execute(text(f"UPDATE account SET {values} WHERE login = 'needle-user1'"))
    touched = []
    for first, last in ((1, FEW), (FEW + 1, MANY)):
        await fill(world.database, first=first, last=last, word="straw")
        await settle(world.database)
        touched.append({name: await rows_touched(world.database, read) for name, read in READS.items()})
    few, many = touched
    grown = {name: (few[name], many[name]) for name in few if many[name] > 1.5 * few[name] + CONSTANT}
    assert grown == {}


async def test_a_text_is_counted_up_to_a_bound(world):
    await fill(world.database, first=1, last=COUNTED + PAGE, word="straw")
    async with world.database.read() as db:
        for number in (1, COUNTED // PAGE // 2):
            rows, total = await store.search_users(db, "raw", Page(number, PAGE), ROOT)
            assert (len(rows), total) == (PAGE, COUNTED)
        listed, total = await emails.search(db, "raw", Page(1, PAGE))
        assert (len(listed), total) == (PAGE, COUNTED)


RELATIONS = [
    # In order of time: a user follows the administrator, who follows back.
    """
    INSERT INTO follow (id, follower_id, followed_id)
    SELECT 2 * id + n, CASE n WHEN 1 THEN id ELSE {root} END, CASE n WHEN 1 THEN {root} ELSE id END
    FROM account CROSS JOIN (SELECT 1 AS n UNION ALL SELECT 2) AS numbers
    WHERE kind = 'user' AND id <> {root}
    """,
    """
    INSERT INTO membership (organization_id, user_id, public)
    SELECT {acme}, id, true FROM account WHERE kind = 'user' AND id <> {root}
    """,
    """
    INSERT INTO team (id, organization_id, name, lower_name, description, permission)
    VALUES ({team}, {acme}, 't', 't', '', 'read')
    """,
    "INSERT INTO team_member (team_id, user_id) SELECT {team}, user_id FROM membership",
]


class Crowd(NamedTuple):
    """Ids: the administrator and everybody follow each other, and everybody else is in acme and its team."""

    root: int
    acme: int
    team: int


@pytest.fixture
async def crowd(world):
    database, find = world.database, "SELECT min(id) FROM account WHERE kind = :kind"
    await fill(database, first=1, last=MANY, word="straw")
    async with database.transaction() as tx:
        kinds = [{"kind": kind} for kind in ("user", "organization")]
        root, acme = [(await tx.execute(text(find), kind)).scalar_one() for kind in kinds]
        crowd = Crowd(root, acme, team=1)
        for statement in RELATIONS:
            await tx.execute(text(statement.format(**crowd._asdict())))
    await settle(database)
    return crowd


USERS = MANY + 1
SERVER_LISTS = {
    "users": (all_users, USERS),
    "users by name, the last first": (users_by("name", descending=True), USERS),
    "users by id": (users_by("id"), USERS),
    "users by creation": (users_by("created"), USERS),
    "users by change, the last first": (users_by("updated", descending=True), USERS),
    "organizations": (organizations_of(NOBODY), MANY),
    "organizations of the administrator": (organizations_of(None), MANY),
    "addresses": (all_addresses, 2 * MANY + 1),
}
LISTS = {
    "followers": (lambda crowd: lambda tx, page: follows.list_followers(tx, crowd.root, page), MANY),
    "following": (lambda crowd: lambda tx, page: follows.list_following(tx, crowd.root, page), MANY),
    "team": (lambda crowd: lambda tx, page: teams.list_members(tx, crowd.team, page), MANY),
    "organization": (
        lambda crowd: lambda tx, page: members.list_page(tx, crowd.acme, page, public_only=False),
        MANY,
    ),
}


BY_NAME = attrgetter("lower_login")
ORDERS = {
    "users": BY_NAME,
    "users by name, the last first": BY_NAME,
    "users by creation": attrgetter("created_at", "id"),
    "users by change, the last first": attrgetter("updated_at", "id"),
    "organizations": BY_NAME,
    "organizations of the administrator": BY_NAME,
    "addresses": attrgetter("address"),
    "organization": BY_NAME,
}


async def check_order(world, name, list_page, total):
    rows = await rows_of_pages(world.database, list_page)
    order = ORDERS.get(name, attrgetter("id"))
    assert rows == sorted(rows, key=order, reverse="the last first" in name), name
    assert len({row.id for row in rows}) == total, name


async def test_what_is_before_a_page_is_counted_by_an_index(world, crowd):
    """The middle page walks along half of the index. The first page walks along none, but counts all rows."""
    for name, (list_of, total) in LISTS.items():
        costs = await page_costs(world.database, list_of(crowd), total)
        assert costs.last <= 1.2 * costs.first + CONSTANT, name
        assert costs.middle <= 2.1 * costs.first + CONSTANT, name
        await check_order(world, name, list_of(crowd), total)


@pytest.mark.usefixtures("crowd")
async def test_lists_of_the_server_are_not_counted(world):
    """The first page and the last one look at their own rows alone."""
    for name, (list_page, total) in SERVER_LISTS.items():
        costs = await page_costs(world.database, list_page, total)
        assert max(costs.first, costs.last) <= ROWS_OF_A_PAGE, name
        await check_order(world, name, list_page, total)
