"""Tables of requests for reviews, of the reviews themselves, and of the copies of teams."""

from sqlalchemy import Boolean, Column, ForeignKey, Index, Integer, String, Table, Text

from ingot_chassis.db.tables import LASTING_IDS, BigId, UtcDateTime
from ingot_issues.schema import metadata

# Copies of requested teams, as of their last request.
team = Table(
    "team",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=False),
    Column("organization_id", BigId, nullable=False, index=True),
    Column("view", Text, nullable=False),
)

# A row is a review or, in the state REQUEST_REVIEW, a request for one from a person or a team. For a team,
# `author_id` is 0.
review = Table(
    "review",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("issue_id", BigId, ForeignKey("issue.id", ondelete="CASCADE"), nullable=False),
    Column("author_id", BigId, nullable=False),
    Column("team_id", BigId, index=True),
    Column("state", String(16), nullable=False),
    Column("body", Text, nullable=False, default=""),
    # The reviewed changes: from `merge_base` to `commit_sha`, for `base_branch`.
    Column("commit_sha", String(64), nullable=False),
    Column("base_branch", String(255), nullable=False, default="", server_default=""),
    Column("merge_base", String(64), nullable=False, default="", server_default=""),
    Column("official", Boolean, nullable=False, default=False),
    # The author at the source of an import.
    Column("original_author", String(255), nullable=False, default="", server_default=""),
    Column("original_author_id", BigId, nullable=False, default=0, server_default="0"),
    Column("dismissed", Boolean, nullable=False, default=False),
    Column("submitted_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    Index("ix_review_of_issue", "issue_id", "id"),
    Index("ix_review_of_author", "author_id", "issue_id"),
    **LASTING_IDS,
)

review_comment = Table(
    "review_comment",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("review_id", BigId, ForeignKey("review.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("author_id", BigId, nullable=False),
    Column("path", Text, nullable=False),
    Column("old_position", Integer, nullable=False),
    Column("new_position", Integer, nullable=False),
    Column("body", Text, nullable=False),
    Column("commit_sha", String(64), nullable=False),
    Column("diff_hunk", Text, nullable=False),
    Column("resolver_id", BigId),
    Column("original_author", String(255), nullable=False, default="", server_default=""),
    Column("original_author_id", BigId, nullable=False, default=0, server_default="0"),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    **LASTING_IDS,
)
