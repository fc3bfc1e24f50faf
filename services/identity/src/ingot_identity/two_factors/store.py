"""SQL for the second factors of accounts."""

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    ForeignKey,
    LargeBinary,
    Table,
    delete,
    exists,
    insert,
    or_,
    select,
    update,
)

from ingot_chassis.clock import now
from ingot_chassis.db import transaction
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import TypedRow, fetch_count, fetch_first
from ingot_chassis.db.tables import UtcDateTime
from ingot_identity.accounts.store.tables import AccountRow, account, metadata
from ingot_identity.passkeys.store import passkey

two_factor = Table(
    "two_factor",
    metadata,
    Column("account_id", ForeignKey("account.id", ondelete="CASCADE"), primary_key=True),
    # The secret that the app of the person has, encrypted.
    Column("sealed", LargeBinary, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    # Before that the account has no second factor.
    Column("confirmed_at", UtcDateTime),
    # The time step of the last code that was used: no code up to it works again.
    Column("last_step", BigInteger, nullable=False),
)


class TwoFactorRow(TypedRow):
    account_id: int
    sealed: bytes
    confirmed_at: datetime | None
    last_step: int


recovery_code = Table(
    "recovery_code",
    metadata,
    # A code that was used is deleted.
    Column("account_id", ForeignKey("account.id", ondelete="CASCADE"), primary_key=True),
    Column("sha256", LargeBinary(32), primary_key=True),
)


async def get(db: Executor, account_id: int) -> TwoFactorRow | None:
    """Return the app of an account, confirmed or not; None without an app."""
    return await fetch_first(
        db, select(two_factor).where(two_factor.c.account_id == account_id), TwoFactorRow
    )


async def get_account(db: Executor, account_id: int) -> AccountRow | None:
    """Return the account if it has a second factor (a confirmed app, or a passkey), or None."""
    statement = select(account).where(account.c.id == account_id, _has_factor(account_id))
    return await fetch_first(db, statement, AccountRow)


async def is_enabled(db: Executor, account_id: int) -> bool:
    """True if the account has a second factor: a confirmed app, or a passkey."""
    return bool((await db.execute(select(_has_factor(account_id)))).scalar())


def _has_factor(account_id: int) -> ColumnElement[bool]:
    has_app = exists().where(two_factor.c.account_id == account_id, two_factor.c.confirmed_at.is_not(None))
    return or_(has_app, exists().where(passkey.c.account_id == account_id))


async def save(db: Executor, account_id: int, sealed: bytes) -> bool:
    """Store a secret to confirm. Return False if the account has a confirmed secret."""
    values = {"sealed": sealed, "created_at": now(), "last_step": 0}
    statement = transaction.insert(db, two_factor).values(account_id=account_id, **values)
    statement = statement.on_conflict_do_update(
        index_elements=["account_id"], set_=values, where=two_factor.c.confirmed_at.is_(None)
    ).returning(two_factor.c.account_id)
    return (await db.execute(statement)).scalar() is not None


async def confirm(db: Executor, account_id: int) -> None:
    await db.execute(
        update(two_factor).where(two_factor.c.account_id == account_id).values(confirmed_at=now())
    )


async def mark_used(db: Executor, account_id: int, step: int) -> bool:
    """Record the use of a time step's code. Return False if this or a later step was already used."""
    unused = update(two_factor).where(two_factor.c.account_id == account_id, two_factor.c.last_step < step)
    statement = unused.values(last_step=step).returning(two_factor.c.account_id)
    return (await db.execute(statement)).scalar() is not None


async def remove(db: Executor, account_id: int) -> bool:
    """Delete the app. Return False if it did not exist."""
    statement = delete(two_factor).where(two_factor.c.account_id == account_id)
    return (await db.execute(statement.returning(two_factor.c.account_id))).scalar() is not None


async def remove_recovery_codes(db: Executor, account_id: int) -> None:
    await db.execute(delete(recovery_code).where(recovery_code.c.account_id == account_id))


async def replace_recovery_codes(db: Executor, account_id: int, digests: Collection[bytes]) -> None:
    await remove_recovery_codes(db, account_id)
    await db.execute(
        insert(recovery_code), [{"account_id": account_id, "sha256": digest} for digest in digests]
    )


async def use_recovery_code(db: Executor, account_id: int, sha256: bytes) -> bool:
    """Delete a recovery code. Return False if it does not exist."""
    statement = delete(recovery_code).where(
        recovery_code.c.account_id == account_id, recovery_code.c.sha256 == sha256
    )
    return (await db.execute(statement.returning(recovery_code.c.account_id))).scalar() is not None


async def count_recovery_codes(db: Executor, account_id: int) -> int:
    return await fetch_count(
        db, select(recovery_code.c.account_id).where(recovery_code.c.account_id == account_id)
    )
