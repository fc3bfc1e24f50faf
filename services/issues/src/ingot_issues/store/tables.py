"""Tables of issues.

``account`` and ``repository`` are copies of what identity and repos own; events renew them. A pull request is an issue
with a row in ``pull``; both take their numbers from the same row of ``counter``. A row of ``comment`` is a comment or
another row of a timeline: ``kind`` tells them apart (``comments.CommentKind``).

Transactions lock in this order, so that no two wait for each other:

1. A copy (``account``, ``repository``, ``team``) is saved in a transaction of its own. A transaction that does more may insert a
   copy that is missing, and does not touch one that exists.
2. A request or a job locks the counter of its repository before any other row of the repository, and of one
   repository only. A single statement needs no such lock.
3. The consumer of events of repos may hold the locks of several counters. It locks all of them before any other row.
   There is one such consumer at a time.
4. A deleted comment also deletes its rows in timelines of other repositories, whose counters are not locked, and so
   does a deleted repository. These rows are locked in the order of their ids.
5. Who asks teams for reviews keeps their copies, behind the counter. Who deletes teams deletes their copies before their
   requests.
"""

from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
    text,
    true,
)

from ingot_chassis.db.tables import NAMING, BigId, UtcDateTime, chassis_tables

metadata = MetaData(naming_convention=NAMING)
chassis_tables(metadata)

account = Table(
    "account",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=False),
    Column("kind", String(12), nullable=False),
    Column("login", String(40), nullable=False),
    Column("lower_login", String(40), nullable=False, index=True),
    Column("full_name", String(100), nullable=False, default=""),
    Column("email", String(254), nullable=False, default=""),
    Column("avatar_url", Text, nullable=False, default=""),
)

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
    Index("ix_counter_untold", "repository_id", postgresql_where=text("untold"), sqlite_where=text("untold")),
)

milestone = Table(
    "milestone",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("repository_id", BigId, nullable=False, index=True),
    Column("title", String(255), nullable=False),
    Column("description", Text, nullable=False, default=""),
    Column("state", String(6), nullable=False),
    Column("due_on", UtcDateTime),
    Column("closed_at", UtcDateTime),
    Column("open_issues", Integer, nullable=False, default=0, server_default="0"),
    Column("closed_issues", Integer, nullable=False, default=0, server_default="0"),
    Column("created_at", UtcDateTime),
    Column("updated_at", UtcDateTime),
    sqlite_autoincrement=True,
)

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
    Column("milestone_id", ForeignKey("milestone.id", ondelete="SET NULL"), index=True),
    Column("comments", Integer, nullable=False, default=0),
    Column("locked", Boolean, nullable=False, default=False, server_default=false()),
    Column("pin_order", Integer, nullable=False, default=0, server_default="0"),
    Column("due_date", UtcDateTime),
    Column("ref", String(255), nullable=False, default="", server_default=""),
    Column("content_version", Integer, nullable=False, default=0, server_default="0"),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    Column("closed_at", UtcDateTime),
    UniqueConstraint("repository_id", "number"),
    Index("ix_issue_in_state", "repository_id", "state", "number"),
    Index("ix_issue_of_kind", "repository_id", "is_pull", "number"),
    Index("ix_issue_of_author", "author_id", "repository_id"),
    sqlite_autoincrement=True,
)

pull = Table(
    "pull",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("issue_id", ForeignKey("issue.id", ondelete="CASCADE"), nullable=False, unique=True),
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
    Column("merge_sha", String(64)),
    Column("merge_claim", String(36)),
    Column("merge_claimed_until", UtcDateTime),
    Column("takes_branch", Boolean, nullable=False, default=False, server_default=false()),
    Column("head_hidden", Boolean, nullable=False, default=False, server_default=false()),
    # To which commit a push moved the head branch after the last comparison, or empty.
    Column("head_tip", String(64), nullable=False, default="", server_default=""),
    Index("ix_pull_head", "head_repository_id", "head_branch"),
    Index("ix_pull_merge", "merge_sha"),
    sqlite_autoincrement=True,
)

# A merge that waits until reviews and checks allow it, for the person who asked for it.
scheduled_merge = Table(
    "scheduled_merge",
    metadata,
    Column("issue_id", ForeignKey("issue.id", ondelete="CASCADE"), primary_key=True),
    Column("account_id", BigId, nullable=False),
    Column("style", String(20), nullable=False),
    Column("head_sha", String(64), nullable=False),
    Column("title", String(255), nullable=False),
    Column("message", Text, nullable=False),
    Column("deletes_branch", Boolean, nullable=False),
    Column("restricted", Boolean, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
)

assignee = Table(
    "assignee",
    metadata,
    Column("issue_id", ForeignKey("issue.id", ondelete="CASCADE"), primary_key=True),
    Column("account_id", BigId, primary_key=True, index=True),
    Column("position", Integer, nullable=False),
)

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
    sqlite_autoincrement=True,
)

issue_label = Table(
    "issue_label",
    metadata,
    Column("issue_id", ForeignKey("issue.id", ondelete="CASCADE"), primary_key=True),
    Column("label_id", ForeignKey("label.id", ondelete="CASCADE"), primary_key=True, index=True),
)

# Copies of teams that are asked for reviews, as they were when they were last asked.
team = Table(
    "team",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=False),
    Column("organization_id", BigId, nullable=False, index=True),
    Column("view", Text, nullable=False),
)

# A row is a review or, in the state REQUEST_REVIEW, says that somebody is to review: a person, or a team, where
# `author_id` is 0.
review = Table(
    "review",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("issue_id", ForeignKey("issue.id", ondelete="CASCADE"), nullable=False),
    Column("author_id", BigId, nullable=False),
    Column("team_id", BigId, index=True),
    Column("state", String(16), nullable=False),
    Column("body", Text, nullable=False, default=""),
    Column("commit_sha", String(64), nullable=False),
    Column("official", Boolean, nullable=False, default=False),
    Column("dismissed", Boolean, nullable=False, default=False),
    Column("submitted_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    Index("ix_review_of_issue", "issue_id", "id"),
    Index("ix_review_of_author", "author_id", "issue_id"),
    sqlite_autoincrement=True,
)

review_comment = Table(
    "review_comment",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("review_id", ForeignKey("review.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("author_id", BigId, nullable=False),
    Column("path", Text, nullable=False),
    Column("old_position", Integer, nullable=False),
    Column("new_position", Integer, nullable=False),
    Column("body", Text, nullable=False),
    Column("commit_sha", String(64), nullable=False),
    Column("diff_hunk", Text, nullable=False),
    Column("resolver_id", BigId),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    sqlite_autoincrement=True,
)

reaction = Table(
    "reaction",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("issue_id", ForeignKey("issue.id", ondelete="CASCADE"), nullable=False),
    Column("comment_id", ForeignKey("comment.id", ondelete="CASCADE"), index=True),
    Column("account_id", BigId, nullable=False),
    Column("content", String(20), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Index("ix_reaction_listed", "issue_id", "comment_id", "id"),
    sqlite_autoincrement=True,
)

attachment = Table(
    "attachment",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("issue_id", ForeignKey("issue.id", ondelete="CASCADE"), nullable=False),
    Column("comment_id", ForeignKey("comment.id", ondelete="CASCADE"), index=True),
    Column("uuid", String(36), nullable=False, unique=True),
    Column("name", String(255), nullable=False),
    Column("size", BigId, nullable=False),
    Column("sha256", String(64), nullable=False),
    Column("media_type", String(40), nullable=False),
    Column("download_count", BigId, nullable=False, server_default="0"),
    Column("uploader_id", BigId, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Index("ix_attachment_listed", "issue_id", "comment_id", "id"),
    sqlite_autoincrement=True,
)

stopwatch = Table(
    "stopwatch",
    metadata,
    Column("account_id", BigId, primary_key=True),
    Column("issue_id", ForeignKey("issue.id", ondelete="CASCADE"), primary_key=True, index=True),
    Column("created_at", UtcDateTime, nullable=False),
)

dependency = Table(
    "dependency",
    metadata,
    Column("issue_id", ForeignKey("issue.id", ondelete="CASCADE"), primary_key=True),
    Column("blocker_id", ForeignKey("issue.id", ondelete="CASCADE"), primary_key=True, index=True),
)

issue_subscription = Table(
    "issue_subscription",
    metadata,
    Column("issue_id", ForeignKey("issue.id", ondelete="CASCADE"), primary_key=True),
    Column("account_id", BigId, primary_key=True),
    Column("subscribed", Boolean, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
)

# Files of a pull request that somebody has looked at, and in which state: digests of the path and of its changes.
file_view = Table(
    "file_view",
    metadata,
    Column("issue_id", ForeignKey("issue.id", ondelete="CASCADE"), primary_key=True),
    Column("account_id", BigId, primary_key=True, index=True),
    Column("path_sha256", LargeBinary(32), primary_key=True),
    Column("changes_sha256", LargeBinary(32), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
)

# Who is mentioned in an issue or its comments and may read it.
mention = Table(
    "mention",
    metadata,
    Column("issue_id", ForeignKey("issue.id", ondelete="CASCADE"), primary_key=True),
    Column("account_id", BigId, primary_key=True, index=True),
)

notification = Table(
    "notification",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("account_id", BigId, nullable=False),
    Column("repository_id", BigId, nullable=False),
    Column("issue_id", ForeignKey("issue.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("comment_id", BigId),
    Column("status", String(6), nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    UniqueConstraint("account_id", "issue_id"),
    Index("ix_notification_listed", "account_id", "updated_at"),
    # Without the threads that are read, whose number grows for ever; with all that a list is cut and counted by.
    Index(
        "ix_notification_not_read",
        "account_id",
        "updated_at",
        "id",
        "repository_id",
        "status",
        "issue_id",
        postgresql_where=text("status <> 'read'"),
        sqlite_where=text("status <> 'read'"),
    ),
    sqlite_autoincrement=True,
)

_WHERE_IT_REFERS: dict[str, Any] = {
    "postgresql_where": text("ref_repository_id IS NOT NULL"),
    "sqlite_where": text("ref_repository_id IS NOT NULL"),
}

# `details` is what the row is about, and `ref_…` what refers to the issue.
comment = Table(
    "comment",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("issue_id", ForeignKey("issue.id", ondelete="CASCADE"), nullable=False),
    Column("repository_id", BigId, nullable=False),
    Column("author_id", BigId, nullable=False),
    Column("kind", Integer, nullable=False),
    Column("body", Text, nullable=False, default=""),
    Column("details", Text),
    Column("ref_repository_id", BigId),
    Column("ref_issue_id", BigId),
    Column("ref_comment_id", BigId),
    Column("ref_sha", String(64)),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    Index("ix_comment_of_issue", "issue_id", "id"),
    Index("ix_comment_of_repository", "repository_id", "id"),
    Index("ix_comment_from_repository", "ref_repository_id", **_WHERE_IT_REFERS),
    Index("ix_comment_from_comment", "ref_comment_id", **_WHERE_IT_REFERS),
    sqlite_autoincrement=True,
)

tracked_time = Table(
    "tracked_time",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("issue_id", ForeignKey("issue.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("repository_id", BigId, nullable=False, index=True),
    Column("account_id", BigId, nullable=False, index=True),
    Column("seconds", BigId, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Index("ix_tracked_time_of_repository", "repository_id", "id"),
    Index("ix_tracked_time_of_account", "account_id", "id"),
    sqlite_autoincrement=True,
)
