"""SQL for registrations that wait for an administrator. Other services have no copy of them."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import BigInteger, Boolean, Column, LargeBinary, String, Table, Text, delete, func, select

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import Slice, TypedRow, fetch_first, fetch_page
from ingot_chassis.db.tables import LASTING_IDS, BigId, UtcDateTime
from ingot_chassis.db.transaction import insert
from ingot_identity.accounts.store.tables import metadata

WAITS_FOR = timedelta(days=30)
"""An older registration is deleted."""

registration = Table(
    "registration",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("login", String(40), nullable=False),
    Column("lower_login", String(40), nullable=False, unique=True),
    Column("address", String(254), nullable=False),
    # False where the site sends no mail.
    Column("confirmed", Boolean, nullable=False),
    # Empty for an account with a passkey in its place.
    Column("password_hash", Text, nullable=False),
    # The columns of a passkey, and the digests of its recovery codes one after the other.
    Column("credential_id", LargeBinary(1023)),
    Column("public_key", LargeBinary(1024)),
    Column("user_handle", LargeBinary(64)),
    Column("sign_count", BigInteger),
    Column("recovery_codes", LargeBinary(1024)),
    Column("note", String(1000), nullable=False),
    Column("created_at", UtcDateTime, nullable=False, index=True),
    **LASTING_IDS,
)


class RegistrationRow(TypedRow):
    """A registration, with the address as it was typed."""

    id: int
    login: str
    lower_login: str
    address: str
    confirmed: bool
    password_hash: str
    credential_id: bytes | None
    public_key: bytes | None
    user_handle: bytes | None
    sign_count: int | None
    recovery_codes: bytes | None
    note: str
    created_at: datetime


async def add(db: Executor, *, login: str, **values: Any) -> RegistrationRow | None:
    """Insert a registration. Return None if another registration has the name."""
    statement = insert(db, registration).values(
        login=login, lower_login=login.lower(), created_at=now(), **values
    )
    return await fetch_first(db, statement.on_conflict_do_nothing().returning(registration), RegistrationRow)


async def has_credential(db: Executor, credential_id: bytes) -> bool:
    """True if a waiting registration has this passkey."""
    statement = select(registration.c.id).where(registration.c.credential_id == credential_id)
    return (await db.execute(statement)).first() is not None


async def count(db: Executor) -> int:
    return int((await db.execute(select(func.count()).select_from(registration))).scalar_one())


async def list_page(db: Executor, page: Slice) -> tuple[Sequence[RegistrationRow], int]:
    """Return a page of registrations, oldest first."""
    return await fetch_page(db, select(registration), page, RegistrationRow, registration.c.id)


async def take(db: Executor, registration_id: int) -> RegistrationRow | None:
    """Delete a registration, and return it. Return None if it does not exist."""
    statement = delete(registration).where(registration.c.id == registration_id).returning(registration)
    return await fetch_first(db, statement, RegistrationRow)


async def remove_old(db: Executor) -> None:
    await db.execute(delete(registration).where(registration.c.created_at <= now() - WAITS_FOR))
