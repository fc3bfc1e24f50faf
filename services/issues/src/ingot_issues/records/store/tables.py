"""Tables of issues, pull requests and timelines.

A pull request is an issue with a row in ``pull``. Both take their numbers from the same row of ``counter``. A
row of ``comment`` is a comment or another row of a timeline, by its ``kind`` (``timeline.CommentKind``).
"""

from sqlalchemy import (
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
)

from ingot_chassis.db.tables import LASTING_IDS, BigId, UtcDateTime, partial_index
from ingot_issues.schema import metadata

issue = Table(
    "issue",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("repository_id", BigId, nullable=False),
    Column("number", BigId, nullable=False),
    Column("is_pull", Boolean, nullable=False),
    Column("author_id", BigId, nullable=False),
    Column("title", String(255), nullable=False),
    Column("body", Text, nullable=False, default=""),
    Column("state", String(6), nullable=False),
    Column("milestone_id", BigId, ForeignKey("milestone.id", ondelete="SET NULL"), index=True),
    Column("comments", Integer, nullable=False, default=0),
    Column("locked", Boolean, nullable=False, default=False, server_default=false()),
    Column("pin_order", Integer, nullable=False, default=0, server_default="0"),
    Column("due_date", UtcDateTime),
    Column("ref", String(255), nullable=False, default="", server_default=""),
    Column("content_version", Integer, nullable=False, default=0, server_default="0"),
    # The author at the source of an import.
    Column("original_author", String(255), nullable=False, default="", server_default=""),
    Column("original_author_id", BigId, nullable=False, default=0, server_default="0"),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    Column("closed_at", UtcDateTime),
    UniqueConstraint("repository_id", "number"),
    Index("ix_issue_in_state", "repository_id", "state", "number"),
    Index("ix_issue_of_kind", "repository_id", "is_pull", "number"),
    Index("ix_issue_of_author", "author_id", "repository_id"),
    **LASTING_IDS,
)

pull = Table(
    "pull",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("issue_id", BigId, ForeignKey("issue.id", ondelete="CASCADE"), nullable=False, unique=True),
    Column("base_branch", String(255), nullable=False),
    Column("base_sha", String(64), nullable=False),
    Column("head_repository_id", BigId, nullable=False),
    Column("head_branch", String(255), nullable=False),
    Column("head_sha", String(64), nullable=False),
    Column("merge_base", String(64), nullable=False),
    Column("additions", Integer),
    Column("deletions", Integer),
    Column("changed_files", Integer),
    Column("mergeable", Boolean, nullable=False),
    Column("merged", Boolean, nullable=False, default=False),
    Column("merged_at", UtcDateTime),
    Column("merged_by", BigId),
    # The login at the source of who merged an imported pull request.
    Column("original_merger", String(255), nullable=False, default="", server_default=""),
    Column("merge_sha", String(64)),
    Column("merge_claim", String(36)),
    Column("merge_claimed_until", UtcDateTime),
    Column("takes_branch", Boolean, nullable=False, default=False, server_default=false()),
    Column("head_hidden", Boolean, nullable=False, default=False, server_default=false()),
    # Users with write access to the base may push to the head branch.
    Column("allow_maintainer_edit", Boolean, nullable=False, default=False, server_default=false()),
    # The commit to which a push moved the head branch after the last comparison, or empty.
    Column("head_tip", String(64), nullable=False, default="", server_default=""),
    Index("ix_pull_head", "head_repository_id", "head_branch"),
    Index("ix_pull_merge", "merge_sha"),
    Index("ix_pull_head_sha", "head_sha"),
    partial_index("ix_pull_head_tip", "head_tip <> ''", "head_tip"),
    **LASTING_IDS,
)

_IT_REFERS = "ref_repository_id IS NOT NULL"

# `details` is the subject of the row, and `ref_…` the place that refers to the issue.
comment = Table(
    "comment",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("issue_id", BigId, ForeignKey("issue.id", ondelete="CASCADE"), nullable=False),
    Column("repository_id", BigId, nullable=False),
    Column("author_id", BigId, nullable=False),
    Column("kind", Integer, nullable=False),
    Column("body", Text, nullable=False, default=""),
    Column("details", Text),
    Column("ref_repository_id", BigId),
    Column("ref_issue_id", BigId),
    Column("ref_comment_id", BigId),
    Column("ref_sha", String(64)),
    Column("original_author", String(255), nullable=False, default="", server_default=""),
    Column("original_author_id", BigId, nullable=False, default=0, server_default="0"),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    Index("ix_comment_of_issue", "issue_id", "id"),
    Index("ix_comment_of_repository", "repository_id", "id"),
    partial_index("ix_comment_from_repository", _IT_REFERS, "ref_repository_id"),
    partial_index("ix_comment_from_comment", _IT_REFERS, "ref_comment_id"),
    **LASTING_IDS,
)
