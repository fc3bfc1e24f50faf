"""SQL for networks of sign-ins. They are stored as keyed digests."""

from datetime import timedelta

from sqlalchemy import Column, ForeignKey, LargeBinary, Table, delete, select

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.tables import UtcDateTime
from ingot_chassis.db.transaction import insert
from ingot_identity.accounts.store.tables import metadata

RETENTION = timedelta(days=180)
"""Time after the last sign-in from a network until it counts as new again."""

sign_in_network = Table(
    "sign_in_network",
    metadata,
    Column("account_id", ForeignKey("account.id", ondelete="CASCADE"), primary_key=True),
    Column("digest", LargeBinary(32), primary_key=True),
    Column("last_at", UtcDateTime, nullable=False, index=True),
)


async def list_of(db: Executor, account_id: int) -> list[bytes]:
    """Return the digests of the networks of an account."""
    statement = select(sign_in_network.c.digest).where(
        sign_in_network.c.account_id == account_id, sign_in_network.c.last_at > now() - RETENTION
    )
    return list((await db.execute(statement)).scalars())


async def save(db: Executor, account_id: int, digest: bytes) -> None:
    """Record a sign-in from a network."""
    statement = insert(db, sign_in_network).values(account_id=account_id, digest=digest, last_at=now())
    await db.execute(
        statement.on_conflict_do_update(index_elements=["account_id", "digest"], set_={"last_at": now()})
    )


async def remove_old(db: Executor) -> None:
    await db.execute(delete(sign_in_network).where(sign_in_network.c.last_at <= now() - RETENTION))
