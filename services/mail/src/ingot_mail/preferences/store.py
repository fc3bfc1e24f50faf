"""SQL for preferences of a person: general preferences, and preferences for one repository."""

from collections.abc import Collection, Mapping
from enum import StrEnum

import msgspec
from sqlalchemy import Boolean, Column, String, Table, delete, select

from ingot_chassis.clock import now
from ingot_chassis.db.arrays import any_of
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import TypedRow, fetch_all, fetch_first
from ingot_chassis.db.tables import BigId, UtcDateTime
from ingot_chassis.db.transaction import insert
from ingot_mail.schema import metadata

EVERYWHERE = 0
"""The ``repository_id`` of general preferences."""


class Frequency(StrEnum):
    """Values of the frequency of mail."""

    OFF = "off"
    INSTANT = "instant"
    HOURLY = "hourly"
    DAILY = "daily"


preference = Table(
    "preference",
    metadata,
    Column("account_id", BigId, primary_key=True, autoincrement=False),
    Column("repository_id", BigId, primary_key=True, autoincrement=False),
    Column("mentions", String(10), nullable=False),
    Column("participating", String(10), nullable=False),
    Column("watching", String(10), nullable=False),
    Column("own", Boolean, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
)


class PreferenceRow(TypedRow):
    """The columns of ``Choices``."""

    account_id: int
    repository_id: int
    mentions: Frequency
    participating: Frequency
    watching: Frequency
    own: bool


class Choices(msgspec.Struct, frozen=True, kw_only=True):
    """The preferences of a person, for one repository or in general. The defaults apply to new persons."""

    account_id: int
    repository_id: int = EVERYWHERE
    mentions: Frequency = Frequency.INSTANT
    participating: Frequency = Frequency.INSTANT
    watching: Frequency = Frequency.INSTANT
    own: bool = False


_COLUMNS = [preference.c[name] for name in PreferenceRow.__annotations__]


def _choices(row: PreferenceRow) -> Choices:
    return Choices(
        account_id=row.account_id,
        repository_id=row.repository_id,
        mentions=Frequency(row.mentions),
        participating=Frequency(row.participating),
        watching=Frequency(row.watching),
        own=row.own,
    )


async def list_effective(
    db: Executor, account_ids: Collection[int], repository_id: int
) -> Mapping[int, Choices]:
    """Return the choices of each person that apply to a repository.

    They are the choices for the repository or, without these, the general choices.
    """
    statement = (
        select(*_COLUMNS)
        .where(
            any_of(preference.c.account_id, "ids"),
            preference.c.repository_id.in_([EVERYWHERE, repository_id]),
        )
        .order_by(preference.c.repository_id)
    )
    rows = await fetch_all(db, statement.params(ids=sorted(account_ids)), PreferenceRow)
    effective = {account_id: Choices(account_id=account_id) for account_id in account_ids}
    return effective | {row.account_id: _choices(row) for row in rows}


async def get(db: Executor, account_id: int, repository_id: int) -> Choices | None:
    """Return the choices for exactly this repository, or None. ``EVERYWHERE`` has the general choices."""
    statement = select(*_COLUMNS).where(
        preference.c.account_id == account_id, preference.c.repository_id == repository_id
    )
    row = await fetch_first(db, statement, PreferenceRow)
    return _choices(row) if row is not None else None


async def save(db: Executor, row: Choices) -> None:
    values = {
        "mentions": row.mentions.value,
        "participating": row.participating.value,
        "watching": row.watching.value,
        "own": row.own,
        "updated_at": now(),
    }
    keys = {"account_id": row.account_id, "repository_id": row.repository_id}
    statement = insert(db, preference).values(**keys, **values)
    await db.execute(statement.on_conflict_do_update(index_elements=[*keys], set_=values))


async def remove(db: Executor, account_id: int, repository_id: int | None = None) -> None:
    """Delete the choices for a repository, or all choices of a person."""
    statement = delete(preference).where(preference.c.account_id == account_id)
    if repository_id is not None:
        statement = statement.where(preference.c.repository_id == repository_id)
    await db.execute(statement)
