"""Tables of the copies of repositories, and of their counters."""

from sqlalchemy import Boolean, Column, Index, LargeBinary, Table, false, true

from ingot_chassis.db.tables import BigId, partial_index
from ingot_issues.schema import metadata

repository = Table(
    "repository",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=False),
    Column("parent_id", BigId),
    Column("owner_id", BigId, nullable=False),
    Column("view", LargeBinary, nullable=False),
    Column("has_issues", Boolean, nullable=False, default=True, server_default=true()),
    Column("has_pulls", Boolean, nullable=False, default=True, server_default=true()),
    Index("ix_repository_fork", "parent_id", "owner_id"),
)

counter = Table(
    "counter",
    metadata,
    Column("repository_id", BigId, primary_key=True, autoincrement=False),
    Column("last_number", BigId, nullable=False, default=0),
    Column("open_issues", BigId, nullable=False, default=0),
    Column("open_pulls", BigId, nullable=False, default=0),
    Column("deleted_issues", BigId, nullable=False, default=0, server_default="0"),
    Column("gone", Boolean, nullable=False, default=False),
    Column("untold", Boolean, nullable=False, default=False, server_default=false()),
    partial_index("ix_counter_untold", "untold", "repository_id"),
)
