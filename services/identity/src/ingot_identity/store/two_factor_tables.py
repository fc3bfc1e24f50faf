"""Tables of the second factors of accounts, and the type of their rows."""

from datetime import datetime

from sqlalchemy import BigInteger, Column, ForeignKey, LargeBinary, Table

from ingot_chassis.db.rows import TypedRow
from ingot_chassis.db.tables import UtcDateTime
from ingot_identity.store.tables import metadata

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
