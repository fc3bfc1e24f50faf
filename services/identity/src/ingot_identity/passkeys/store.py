"""SQL for passkeys, and for used challenges."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    LargeBinary,
    String,
    Table,
    delete,
    select,
    update,
)

from ingot_chassis.clock import now
from ingot_chassis.db import transaction
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import TypedRow, fetch_all, fetch_count, fetch_first
from ingot_chassis.db.tables import LASTING_IDS, BigId, UtcDateTime
from ingot_identity.accounts.store.tables import metadata

passkey = Table(
    "passkey",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("account_id", ForeignKey("account.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("credential_id", LargeBinary(1023), nullable=False, unique=True),
    # As COSE writes it.
    Column("public_key", LargeBinary(1024), nullable=False),
    # The authenticator knows the account by it; all passkeys of an account have the same.
    Column("user_handle", LargeBinary(64), nullable=False),
    # Of the last use. It stays 0 for authenticators that do not count.
    Column("sign_count", BigInteger, nullable=False),
    Column("name", String(255), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("last_used_at", UtcDateTime),
    **LASTING_IDS,
)

used_challenge = Table(
    "used_challenge",
    metadata,
    Column("sha256", LargeBinary(32), primary_key=True),
    Column("expires_at", UtcDateTime, nullable=False, index=True),
)


class PasskeyRow(TypedRow):
    id: int
    account_id: int
    credential_id: bytes
    public_key: bytes
    user_handle: bytes
    sign_count: int
    name: str
    created_at: datetime
    last_used_at: datetime | None


async def list_of(db: Executor, account_id: int) -> Sequence[PasskeyRow]:
    """Return the passkeys of an account, oldest first."""
    statement = select(passkey).where(passkey.c.account_id == account_id).order_by(passkey.c.id)
    return await fetch_all(db, statement, PasskeyRow)


async def count_of(db: Executor, account_id: int) -> int:
    return await fetch_count(db, select(passkey.c.id).where(passkey.c.account_id == account_id))


async def get_by_credential(db: Executor, credential_id: bytes) -> PasskeyRow | None:
    return await fetch_first(db, select(passkey).where(passkey.c.credential_id == credential_id), PasskeyRow)


async def add(
    db: Executor,
    account_id: int,
    *,
    credential_id: bytes,
    public_key: bytes,
    user_handle: bytes,
    sign_count: int,
    name: str,
) -> int | None:
    """Insert a passkey. Return its id, or None if its credential is already registered."""
    statement = transaction.insert(db, passkey).values(
        account_id=account_id,
        credential_id=credential_id,
        public_key=public_key,
        user_handle=user_handle,
        sign_count=sign_count,
        name=name,
        created_at=now(),
    )
    return (await db.execute(statement.on_conflict_do_nothing().returning(passkey.c.id))).scalar()


async def mark_used(db: Executor, passkey_id: int, sign_count: int) -> bool:
    """Record a use with the counter of the authenticator. Return False if the counter did not grow.

    A counter that stays 0 is accepted: some authenticators do not count.
    """
    grows = passkey.c.sign_count < sign_count if sign_count else passkey.c.sign_count == 0
    statement = update(passkey).where(passkey.c.id == passkey_id, grows)
    statement = statement.values(sign_count=sign_count, last_used_at=now()).returning(passkey.c.id)
    return (await db.execute(statement)).scalar() is not None


async def rename(db: Executor, account_id: int, passkey_id: int, name: str) -> bool:
    """Rename a passkey. Return False if the account has no such passkey."""
    statement = update(passkey).where(passkey.c.id == passkey_id, passkey.c.account_id == account_id)
    return (await db.execute(statement.values(name=name).returning(passkey.c.id))).scalar() is not None


async def remove(db: Executor, account_id: int, passkey_id: int) -> bool:
    """Delete a passkey. Return False if the account has no such passkey."""
    statement = delete(passkey).where(passkey.c.id == passkey_id, passkey.c.account_id == account_id)
    return (await db.execute(statement.returning(passkey.c.id))).scalar() is not None


async def remove_all(db: Executor, account_id: int) -> int:
    """Delete all passkeys of an account. Return their number."""
    statement = delete(passkey).where(passkey.c.account_id == account_id).returning(passkey.c.id)
    return len((await db.execute(statement)).scalars().all())


async def use_challenge(db: Executor, sha256: bytes, expires_at: datetime) -> bool:
    """Record the use of a challenge, and delete expired rows. Return False if it was already used."""
    await db.execute(delete(used_challenge).where(used_challenge.c.expires_at <= now()))
    statement = transaction.insert(db, used_challenge).values(sha256=sha256, expires_at=expires_at)
    return (await db.execute(statement.on_conflict_do_nothing())).rowcount == 1
