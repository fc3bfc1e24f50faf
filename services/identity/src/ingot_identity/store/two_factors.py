"""SQL for the second factors of accounts."""

from collections.abc import Collection

from sqlalchemy import delete, insert, select, update

from ingot_chassis.clock import now
from ingot_chassis.db import transaction
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import fetch_count, fetch_first
from ingot_identity.store.tables import AccountRow, account
from ingot_identity.store.two_factor_tables import TwoFactorRow, recovery_code, two_factor


async def get(db: Executor, account_id: int) -> TwoFactorRow | None:
    """The second factor of an account, also one that is not confirmed."""
    return await fetch_first(
        db, select(two_factor).where(two_factor.c.account_id == account_id), TwoFactorRow
    )


async def get_account(db: Executor, account_id: int) -> AccountRow | None:
    """The account, if it has a second factor that is confirmed."""
    statement = (
        select(account)
        .join(two_factor, two_factor.c.account_id == account.c.id)
        .where(account.c.id == account_id, two_factor.c.confirmed_at.is_not(None))
    )
    return await fetch_first(db, statement, AccountRow)


async def save(db: Executor, account_id: int, sealed: bytes) -> bool:
    """Note a secret that is to be confirmed; False when the account has a confirmed one."""
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
    """Note that the code of a time step was used; False when it, or a later one, was used before."""
    unused = update(two_factor).where(two_factor.c.account_id == account_id, two_factor.c.last_step < step)
    statement = unused.values(last_step=step).returning(two_factor.c.account_id)
    return (await db.execute(statement)).scalar() is not None


async def remove(db: Executor, account_id: int) -> bool:
    """Remove the second factor with its recovery codes; whether there was one."""
    await db.execute(delete(recovery_code).where(recovery_code.c.account_id == account_id))
    statement = delete(two_factor).where(two_factor.c.account_id == account_id)
    return (await db.execute(statement.returning(two_factor.c.account_id))).scalar() is not None


async def replace_recovery_codes(db: Executor, account_id: int, digests: Collection[bytes]) -> None:
    await db.execute(delete(recovery_code).where(recovery_code.c.account_id == account_id))
    await db.execute(
        insert(recovery_code), [{"account_id": account_id, "sha256": digest} for digest in digests]
    )


async def use_recovery_code(db: Executor, account_id: int, sha256: bytes) -> bool:
    """Whether there was such a code. There is none any more."""
    statement = delete(recovery_code).where(
        recovery_code.c.account_id == account_id, recovery_code.c.sha256 == sha256
    )
    return (await db.execute(statement.returning(recovery_code.c.account_id))).scalar() is not None


async def count_recovery_codes(db: Executor, account_id: int) -> int:
    return await fetch_count(
        db, select(recovery_code.c.account_id).where(recovery_code.c.account_id == account_id)
    )
