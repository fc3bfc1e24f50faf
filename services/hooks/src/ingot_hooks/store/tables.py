"""Tables of hooks.

A delivery is a leased row of its own: it carries the body as it is sent, and its id stays the same over all
attempts. Neither the repository nor the hook of a delivery is a foreign key, because history may outlive both; hence
ids must never be given twice, which SQLite promises only for AUTOINCREMENT.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from ingot_chassis.tables import NAMING, BigId, UtcDateTime, chassis_tables

metadata = MetaData(naming_convention=NAMING)
chassis_tables(metadata)

DOUBTED = text("doubted_at IS NOT NULL")

hook = Table(
    "hook",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("repository_id", BigInteger, index=True),
    Column("organization_id", BigInteger, index=True),
    Column("type", String(20), nullable=False),
    Column("url", Text, nullable=False),
    Column("endpoint", String(300), nullable=False),
    Column("content_type", String(4), nullable=False),
    Column("settings", Text, nullable=False),
    Column("sealed_secret", LargeBinary),
    Column("sealed_former_secret", LargeBinary),
    Column("former_until", UtcDateTime),
    Column("sealed_authorization", LargeBinary),
    Column("events", Text, nullable=False),
    Column("branch_filter", String(255), nullable=False),
    Column("active", Boolean, nullable=False),
    # Who answers for it: whoever made it, aimed it elsewhere or switched it on last.
    Column("creator_id", BigInteger, nullable=False, index=True),
    Column("doubted_at", UtcDateTime),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    Column("failing_since", UtcDateTime),
    Column("disabled_reason", Text, nullable=False, default=""),
    CheckConstraint("(repository_id IS NULL) <> (organization_id IS NULL)", name="one_owner"),
    Index("ix_hook_doubted", "doubted_at", postgresql_where=DOUBTED, sqlite_where=DOUBTED),
    sqlite_autoincrement=True,
)

sequence = Table(
    "sequence",
    metadata,
    Column("hook_id", BigInteger, primary_key=True),
    Column("repository_id", BigInteger, primary_key=True),
    Column("last", BigInteger, nullable=False),
)

UNDER_WAY = text("state IN ('pending', 'running')")

delivery = Table(
    "delivery",
    metadata,
    Column("number", BigId, primary_key=True, autoincrement=True),
    Column("id", String(36), nullable=False, unique=True),
    Column("hook_id", BigInteger, nullable=False),
    Column("repository_id", BigInteger, nullable=False),
    Column("event_id", String(36), nullable=False),
    Column("event", String(40), nullable=False),
    Column("kind", String(40), nullable=False, server_default=""),
    Column("action", String(40), nullable=False),
    Column("manual", Boolean, nullable=False),
    Column("endpoint", String(300), nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("sequence", BigInteger, nullable=False),
    Column("state", String(10), nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("next_attempt_at", UtcDateTime, nullable=False),
    Column("fence", Integer, nullable=False),
    Column("lease_until", UtcDateTime),
    Column("status", Integer, nullable=False),
    Column("response_headers", Text, nullable=False),
    Column("response_body", LargeBinary, nullable=False),
    Column("error", Text, nullable=False),
    Column("traceparent", String(60)),
    Column("created_at", UtcDateTime, nullable=False, index=True),
    Column("attempted_at", UtcDateTime),
    Column("finished_at", UtcDateTime),
    UniqueConstraint("hook_id", "event_id", "event"),
    CheckConstraint("state IN ('pending', 'running', 'delivered', 'failed', 'cancelled')", name="state"),
    Index("ix_delivery_due", "next_attempt_at", "number", postgresql_where=UNDER_WAY, sqlite_where=UNDER_WAY),
    Index(
        "ix_delivery_waiting",
        "hook_id",
        "repository_id",
        "next_attempt_at",
        "number",
        postgresql_where=text("state = 'pending'"),
        sqlite_where=text("state = 'pending'"),
    ),
    Index("ix_delivery_history", "hook_id", "number"),
    Index(
        "ix_delivery_running",
        "hook_id",
        "repository_id",
        postgresql_where=text("state = 'running'"),
        sqlite_where=text("state = 'running'"),
    ),
    sqlite_autoincrement=True,
)
