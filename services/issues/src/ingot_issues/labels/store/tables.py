"""Tables of labels, and of the labels of issues."""

from sqlalchemy import Boolean, Column, ForeignKey, Index, String, Table, Text, false

from ingot_chassis.db.tables import LASTING_IDS, BigId
from ingot_issues.schema import metadata

label = Table(
    "label",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("repository_id", BigId, nullable=False),
    Column("organization_id", BigId, index=True),
    Column("name", String(255), nullable=False),
    Column("color", String(6), nullable=False),
    Column("description", Text, nullable=False, default="", server_default=""),
    Column("exclusive", Boolean, nullable=False, default=False, server_default=false()),
    Column("is_archived", Boolean, nullable=False, default=False, server_default=false()),
    Index("ix_label_listed", "repository_id", "name"),
    **LASTING_IDS,
)

issue_label = Table(
    "issue_label",
    metadata,
    Column("issue_id", BigId, ForeignKey("issue.id", ondelete="CASCADE"), primary_key=True),
    Column("label_id", BigId, ForeignKey("label.id", ondelete="CASCADE"), primary_key=True, index=True),
)
