"""Tables of the keys of users, and the types of their rows."""

from datetime import datetime

from sqlalchemy import Boolean, Column, ForeignKey, LargeBinary, String, Table, Text, UniqueConstraint, false

from ingot_chassis.db.rows import TypedRow
from ingot_chassis.db.tables import LASTING_IDS, BigId, UtcDateTime
from ingot_identity.accounts.store.tables import metadata

ssh_key = Table(
    "ssh_key",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("account_id", ForeignKey("account.id", ondelete="CASCADE"), nullable=False),
    Column("title", String(255), nullable=False),
    Column("content", Text, nullable=False),
    # Of the key alone: the same key with another comment has the same fingerprint.
    Column("fingerprint", String(64), nullable=False, unique=True),
    Column("created_at", UtcDateTime, nullable=False),
    Column("read_only", Boolean, nullable=False, server_default=false()),
    Column("last_used_at", UtcDateTime),
    # The link with the directory that gave the key. Null for a key that a user added.
    Column("identity_id", BigId, index=True),
    UniqueConstraint("account_id", "title"),
    **LASTING_IDS,
)


class SshKeyRow(TypedRow):
    id: int
    account_id: int
    title: str
    content: str
    fingerprint: str
    created_at: datetime
    read_only: bool
    last_used_at: datetime | None
    identity_id: int | None


gpg_key = Table(
    "gpg_key",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("account_id", ForeignKey("account.id", ondelete="CASCADE"), nullable=False, index=True),
    # The primary key of a subkey; empty for a primary key.
    Column("primary_key_id", String(16), nullable=False, index=True),
    Column("key_id", String(16), nullable=False, unique=True),
    Column("content", Text, nullable=False),
    # The whole certificate of a primary key; null if it is very large, or older than this column.
    Column("certificate", LargeBinary),
    # Addresses that the key names, separated by blanks. Which of them belong to its owner is decided when it
    # is read.
    Column("addresses", Text, nullable=False),
    Column("can_sign", Boolean, nullable=False),
    Column("can_encrypt_comms", Boolean, nullable=False),
    Column("can_encrypt_storage", Boolean, nullable=False),
    Column("can_certify", Boolean, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime),
    # The owner has signed a token with it.
    Column("verified", Boolean, nullable=False, server_default=false()),
    **LASTING_IDS,
)


class GpgKeyRow(TypedRow):
    id: int
    account_id: int
    primary_key_id: str
    key_id: str
    content: str
    certificate: bytes | None
    addresses: str
    can_sign: bool
    can_encrypt_comms: bool
    can_encrypt_storage: bool
    can_certify: bool
    created_at: datetime
    expires_at: datetime | None
    verified: bool
