"""Tables of hooks, and the values of their columns that are one of a few.

A delivery is a row with a lease. It holds the body that is sent, and its id is the same in every attempt. Neither the
repository nor the hook of a delivery is a foreign key, because the history may outlive both. So an id must never be
used twice, which SQLite promises only for AUTOINCREMENT.
"""

from enum import StrEnum

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

from ingot_chassis.db.audit import audit_table
from ingot_chassis.db.tables import NAMING, BigId, UtcDateTime, chassis_tables

metadata = MetaData(naming_convention=NAMING)
chassis_tables(metadata)
audit_table(metadata)


class HookType(StrEnum):
    """What receives the deliveries of a hook, and so what they look like."""

    GITEA = "gitea"
    GOGS = "gogs"
    SLACK = "slack"
    DISCORD = "discord"
    DINGTALK = "dingtalk"
    TELEGRAM = "telegram"
    MSTEAMS = "msteams"
    FEISHU = "feishu"
    MATRIX = "matrix"


class ContentType(StrEnum):
    """How the JSON text of a delivery is sent."""

    JSON = "json"
    FORM = "form"


class DeliveryState(StrEnum):
    """``running`` is leased by a worker; the last three are final, until somebody asks for a redelivery."""

    PENDING = "pending"
    RUNNING = "running"
    DELIVERED = "delivered"
    FAILED = "failed"
    CANCELLED = "cancelled"


FINAL_STATES = (DeliveryState.DELIVERED, DeliveryState.FAILED, DeliveryState.CANCELLED)

SYSTEM, DEFAULT = 0, -1
"""``organization_id`` of the hooks of the server, for no account has such an id: those that get the events of every
repository, and those that every new repository gets a copy of."""

AWAITS_PERMISSION_CHECK = text("doubted_at IS NOT NULL")

hook = Table(
    "hook",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("repository_id", BigInteger, index=True),
    # The account whose repositories it is for, an organization or a user; or SYSTEM or DEFAULT.
    Column("organization_id", BigInteger, index=True),
    Column("name", String(255), nullable=False, default="", server_default=""),
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
    # The responsible user: the last one who created the hook, changed its URL or activated it.
    Column("creator_id", BigInteger, nullable=False, index=True),
    # Since when the permission of that user awaits a check, because an event may have changed it.
    Column("doubted_at", UtcDateTime),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    Column("failing_since", UtcDateTime),
    Column("disabled_reason", Text, nullable=False, default=""),
    CheckConstraint("(repository_id IS NULL) <> (organization_id IS NULL)", name="one_owner"),
    Index(
        "ix_hook_doubted",
        "doubted_at",
        postgresql_where=AWAITS_PERMISSION_CHECK,
        sqlite_where=AWAITS_PERMISSION_CHECK,
    ),
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
