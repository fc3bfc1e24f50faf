"""Column types and the chassis' own tables: outbox, inbox, job, relay state.

Each service adds the tables to its MetaData (``chassis_tables``), so its migrations create them.
"""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    DateTime,
    Dialect,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    text,
)

NAMING = {
    "ix": "ix_%(column_0_N_label)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}

BigId = BigInteger().with_variant(Integer, "sqlite")
"""A 64-bit id. SQLite numbers rows only for a column that is declared INTEGER."""

LASTING_IDS: dict[str, Any] = {"sqlite_autoincrement": True}
"""Arguments of a table whose ids other services or clients store.

Without them SQLite reuses the id of a deleted last row, and the new row inherits its grants.
"""


def partial_index(name: str, where: str, *columns: str, on_sqlite: str = "", unique: bool = False) -> Index:
    """Return an index of some rows. ``on_sqlite`` is the condition for SQLite, if it needs another text."""
    return Index(
        name, *columns, unique=unique, postgresql_where=text(where), sqlite_where=text(on_sqlite or where)
    )


class UtcDateTime(TypeDecorator[datetime]):
    """An aware datetime in UTC. SQLite drops the zone, so this type adds it to values that are read."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        del dialect
        return value.astimezone(UTC) if value is not None else None

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        del dialect
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def chassis_tables(metadata: MetaData) -> None:
    """Add the chassis' tables to ``metadata``."""
    Table(
        "outbox",
        metadata,
        Column("seq", BigId, primary_key=True, autoincrement=True),
        Column("id", String(36), nullable=False, unique=True),
        Column("type", String(100), nullable=False),
        Column("key", String(100), nullable=False),
        Column("payload", LargeBinary, nullable=False),
        Column("traceparent", String(60)),
        Column("created_at", UtcDateTime, nullable=False),
        Column("sent_at", UtcDateTime),
        Column("dead_lettered_at", UtcDateTime),
        partial_index("ix_outbox_unsent", "sent_at IS NULL", "seq"),
        partial_index("ix_outbox_dead_lettered", "dead_lettered_at IS NOT NULL", "seq"),
        **LASTING_IDS,
    )
    Table(
        "relay",
        metadata,
        Column("stream", String(100), primary_key=True),
        Column("created", String(40), nullable=False),
    )
    Table(
        "inbox",
        metadata,
        Column("consumer", String(60), primary_key=True),
        Column("event_id", String(36), primary_key=True),
        Column("received_at", UtcDateTime, nullable=False, index=True),
        Column("error", Text),
        Column("envelope", LargeBinary),
    )
    Table(
        "job",
        metadata,
        Column("id", BigId, primary_key=True, autoincrement=True),
        Column("kind", String(60), nullable=False),
        Column("key", String(200), nullable=False),
        Column("payload", LargeBinary, nullable=False),
        Column("state", String(10), nullable=False),
        Column("run_at", UtcDateTime, nullable=False),
        Column("attempts", Integer, nullable=False),
        Column("fence", Integer, nullable=False),
        Column("owner", String(100)),
        Column("lease_until", UtcDateTime),
        Column("progress", Text),
        Column("last_error", Text),
        Column("traceparent", String(60)),
        Column("created_at", UtcDateTime, nullable=False),
        Column("finished_at", UtcDateTime),
        UniqueConstraint("kind", "key"),
        Index("ix_job_due", "state", "run_at"),
        **LASTING_IDS,
    )
