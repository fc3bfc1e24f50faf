"""SQL for the accounts that sources know."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import bindparam, delete, select, update

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery
from ingot_chassis.db.rows import fetch_all
from ingot_chassis.db.tables import BigId
from ingot_chassis.db.transaction import insert
from ingot_identity.sources.store.tables import IdentityRow, external_identity

_BY_SUBJECT = PreparedQuery(
    select(external_identity).where(
        external_identity.c.source_id == bindparam("source_id", type_=BigId),
        external_identity.c.subject == bindparam("subject"),
    ),
    IdentityRow,
)
_OF_ACCOUNT = PreparedQuery(
    select(external_identity).where(
        external_identity.c.account_id == bindparam("account_id", type_=BigId),
        external_identity.c.source_id == bindparam("source_id", type_=BigId),
    ),
    IdentityRow,
)


async def get(db: Executor, source_id: int, subject: str) -> IdentityRow | None:
    """The account that the source calls ``subject``."""
    return await _BY_SUBJECT.first(db, source_id=source_id, subject=subject)


async def get_of_account(db: Executor, account_id: int, source_id: int) -> IdentityRow | None:
    return await _OF_ACCOUNT.first(db, account_id=account_id, source_id=source_id)


async def list_of_account(db: Executor, account_id: int) -> Sequence[IdentityRow]:
    """By source."""
    statement = select(external_identity).where(external_identity.c.account_id == account_id)
    return await fetch_all(db, statement.order_by(external_identity.c.source_id), IdentityRow)


async def add(db: Executor, **values: Any) -> bool:
    """Insert an identity; False when the source or the account has another one for it."""
    values = {"created_at": now(), **values}
    statement = insert(db, external_identity).values(values).on_conflict_do_nothing()
    return (await db.execute(statement)).rowcount == 1


async def change(db: Executor, identity_id: int, **values: Any) -> None:
    await db.execute(update(external_identity).where(external_identity.c.id == identity_id).values(**values))


async def remove(db: Executor, account_id: int, source_id: int) -> bool:
    """False when there was none."""
    statement = delete(external_identity).where(
        external_identity.c.account_id == account_id, external_identity.c.source_id == source_id
    )
    return (await db.execute(statement)).rowcount == 1
