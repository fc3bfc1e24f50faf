"""SQL for the copies of identity's accounts."""

from collections.abc import Iterable
from typing import NamedTuple

from sqlalchemy import Boolean, Column, String, Table, Text, bindparam, delete, false, select, update
from sqlalchemy.dialects import postgresql

from ingot_chassis.db.arrays import any_of_few
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery, PreparedWrite
from ingot_chassis.db.rows import TypedRow, fetch_all
from ingot_chassis.db.tables import BigId
from ingot_chassis.db.transaction import insert
from ingot_contracts.identity.accounts import Account
from ingot_issues.schema import metadata

account = Table(
    "account",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=False),
    Column("kind", String(12), nullable=False),
    Column("login", String(40), nullable=False),
    Column("lower_login", String(40), nullable=False, index=True),
    Column("full_name", String(100), nullable=False, default=""),
    Column("email", String(254), nullable=False, default=""),
    Column("avatar_url", Text, nullable=False, default=""),
    # A restricted user, who reads nothing because it is public.
    Column("granted_only", Boolean, nullable=False, default=False, server_default=false()),
    Column("profile", Text),  # see ``profile_fields``; null: not fetched yet
)

BATCH = 100


class AccountIdRow(TypedRow):
    """The id of the account that has a login."""

    id: int
    lower_login: str


class PersonRow(TypedRow):
    """The columns of ``Person``."""

    id: int
    login: str
    full_name: str
    email: str
    avatar_url: str
    profile: str | None


class Person(NamedTuple):
    """The columns of an account that other users see."""

    id: int
    login: str
    full_name: str
    email: str
    avatar_url: str
    profile: str | None = None


People = dict[int, Person]
"""Accounts by id. Deleted accounts are omitted."""

PERSON_COLUMNS = tuple(account.c[name] for name in Person._fields)
_PEOPLE = PreparedQuery(select(*PERSON_COLUMNS).where(any_of_few(account.c.id, "ids")), PersonRow)


def person_of(row: PersonRow) -> Person:
    return Person(row.id, row.login, row.full_name, row.email, row.avatar_url, row.profile)


async def get_people(db: Executor, ids: Iterable[int]) -> People:
    """Return the accounts with these ids."""
    distinct = sorted(set(ids))
    if not distinct:
        return {}
    return {row.id: person_of(row) for row in await _PEOPLE.all(db, ids=distinct)}


async def exists(db: Executor, account_id: int) -> bool:
    """Return whether there is a copy of the account."""
    return (await db.execute(select(account.c.id).where(account.c.id == account_id))).scalar() is not None


async def user_ids_by_login(db: Executor, logins: Iterable[str]) -> dict[str, int]:
    """Return user ids by lower-case login."""
    statement = select(account.c.lower_login, account.c.id).where(
        account.c.lower_login.in_([login.lower() for login in logins]), account.c.kind == "user"
    )
    return {row.lower_login: row.id for row in await fetch_all(db, statement, AccountIdRow)}


async def get_id(db: Executor, login: str) -> int | None:
    """Return the id of the user or organization of that name."""
    return (await db.execute(select(account.c.id).where(account.c.lower_login == login.lower()))).scalar()


async def save(db: Executor, copy: Account) -> None:
    """Insert or update the copy of one account.

    If another copy has this login, it has lost the login: events of two accounts may arrive in any order.
    """
    values = _values(copy)
    await db.execute(
        update(account)
        .where(account.c.lower_login == values["lower_login"], account.c.id != copy.id)
        .values(lower_login="")
    )
    statement = insert(db, account).values(values)
    await db.execute(statement.on_conflict_do_update(index_elements=["id"], set_=values))


_COLUMNS = (
    "id",
    "kind",
    "login",
    "lower_login",
    "full_name",
    "email",
    "avatar_url",
    "profile",
    "granted_only",
)
_ADD_MISSING = PreparedWrite(
    postgresql.insert(account).values({name: bindparam(name) for name in _COLUMNS}).on_conflict_do_nothing()
)


async def add_missing(db: Executor, copy: Account) -> None:
    """Insert a copy unless one exists, because the existing copy may come from a later event."""
    await _ADD_MISSING.run(db, **_values(copy))


async def list_granted_only(db: Executor, ids: Iterable[int]) -> list[int]:
    """Return the elements of ``ids`` that are restricted users."""
    distinct = sorted(set(ids))
    if not distinct:
        return []
    statement = select(account.c.id).where(account.c.id.in_(distinct), account.c.granted_only)
    return list((await db.execute(statement)).scalars())


async def list_without_profile(db: Executor, after: int) -> list[int]:
    """Return at most ``BATCH`` copies beyond the id ``after`` that were made before profiles were copied."""
    statement = select(account.c.id).where(account.c.profile.is_(None), account.c.id > after)
    return list((await db.execute(statement.order_by(account.c.id).limit(BATCH))).scalars())


async def add_profile(db: Executor, account_id: int, profile: str | None) -> None:
    """Fill the profile column of a copy, unless an event has filled it since."""
    is_empty = account.c.id == account_id, account.c.profile.is_(None)
    await db.execute(update(account).where(*is_empty).values(profile=profile))


async def remove(db: Executor, account_id: int) -> None:
    """Delete the copy of an account."""
    await db.execute(delete(account).where(account.c.id == account_id))


def _values(copy: Account) -> dict[str, str | int | None]:
    return {
        "id": copy.id,
        "kind": copy.kind,
        "login": copy.login,
        "lower_login": copy.login.lower(),
        "full_name": copy.full_name,
        "email": copy.email,
        "granted_only": copy.granted_only,
        "avatar_url": copy.avatar_url,
        "profile": copy.written_profile(),
    }
