"""The table of deliveries, and the states of a delivery.

A delivery is a row with a lease. It holds the body that is sent, and its id is the same in every attempt.
Neither the repository nor the hook of a delivery is a foreign key, because the history may outlive both. So
an id must never be reused (`LASTING_IDS`).
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
    String,
    Table,
    Text,
    UniqueConstraint,
)

from ingot_chassis.db.tables import LASTING_IDS, BigId, UtcDateTime, partial_index
from ingot_hooks.catalog.store.tables import metadata


class DeliveryState(StrEnum):
    """The state of a delivery. A worker has a lease for a ``running`` delivery.

    The last three states are final, until a redelivery.
    """

    PENDING = "pending"
    RUNNING = "running"
    DELIVERED = "delivered"
    FAILED = "failed"
    CANCELLED = "cancelled"


FINAL_STATES = (DeliveryState.DELIVERED, DeliveryState.FAILED, DeliveryState.CANCELLED)


UNDER_WAY = "state IN ('pending', 'running')"


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
    partial_index("ix_delivery_due", UNDER_WAY, "next_attempt_at", "number"),
    partial_index(
        "ix_delivery_waiting",
        "state = 'pending'",
        *("hook_id", "repository_id", "next_attempt_at", "number"),
    ),
    Index("ix_delivery_history", "hook_id", "number"),
    partial_index("ix_delivery_running", "state = 'running'", "hook_id", "repository_id"),
    **LASTING_IDS,
)
