"""SQL for sources."""

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import bindparam, delete, func, select, update

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery
from ingot_chassis.db.rows import Slice, TypedRow, fetch_all, fetch_page
from ingot_chassis.db.tables import BigId
from ingot_chassis.db.transaction import insert
from ingot_identity.sources.store.tables import SourceRow, auth_source, external_identity

_BY_ID = PreparedQuery(
    select(auth_source).where(auth_source.c.id == bindparam("source_id", type_=BigId)), SourceRow
)
_BY_NAME = PreparedQuery(select(auth_source).where(auth_source.c.name == bindparam("name")), SourceRow)


async def get(db: Executor, source_id: int) -> SourceRow | None:
    return await _BY_ID.first(db, source_id=source_id)


async def get_by_name(db: Executor, name: str) -> SourceRow | None:
    return await _BY_NAME.first(db, name=name.lower())


async def list_enabled(db: Executor) -> Sequence[SourceRow]:
    """Return the enabled sources, by title."""
    statement = select(auth_source).where(auth_source.c.enabled)
    return await fetch_all(db, statement.order_by(auth_source.c.title, auth_source.c.id), SourceRow)


async def list_page(db: Executor, page: Slice) -> tuple[Sequence[SourceRow], int]:
    return await fetch_page(db, select(auth_source), page, SourceRow, auth_source.c.id)


async def list_by_id(db: Executor, source_ids: Collection[int]) -> Sequence[SourceRow]:
    return await fetch_all(db, select(auth_source).where(auth_source.c.id.in_(source_ids)), SourceRow)


async def list_from_settings(db: Executor) -> Sequence[SourceRow]:
    return await fetch_all(db, select(auth_source).where(auth_source.c.from_settings), SourceRow)


class AccountsRow(TypedRow):
    """A source, and the number of accounts that are linked with it."""

    source_id: int
    accounts: int


async def count_identities(db: Executor, source_ids: Collection[int]) -> dict[int, int]:
    """Return the number of linked accounts of each source."""
    statement = (
        select(external_identity.c.source_id, func.count().label("accounts"))
        .where(external_identity.c.source_id.in_(source_ids))
        .group_by(external_identity.c.source_id)
    )
    return {row.source_id: row.accounts for row in await fetch_all(db, statement, AccountsRow)}


async def add(db: Executor, **values: Any) -> int | None:
    """Insert a source. Return its id, or None if the name is taken."""
    values = {"created_at": now(), "updated_at": now(), **values}
    statement = insert(db, auth_source).values(values).on_conflict_do_nothing().returning(auth_source.c.id)
    return (await db.execute(statement)).scalar()


async def change(db: Executor, source_id: int, **values: Any) -> None:
    statement = update(auth_source).where(auth_source.c.id == source_id)
    await db.execute(statement.values(updated_at=now(), **values))


async def remove(db: Executor, source_id: int) -> None:
    await db.execute(delete(auth_source).where(auth_source.c.id == source_id))
