"""Tables of issues.

``account`` and ``repository`` are copies of what identity and repos own, kept by their events. A pull request
is an issue with a row in ``pull``; both count with the same ``counter``.

Who writes locks in this order, so that nobody waits in a circle:

1. Copies (``account``, ``repository``) are saved in transactions of their own. Where one may be missing in the middle
   of another transaction, it is inserted, and one that is there is not touched.
2. A request or a job locks the counter of its repository before anything of it, and of one repository only, unless
   it has but one statement.
3. The consumer of repos, of which there is one at a time, may hold counters of several; it locks those of an event
   before rows of these repositories.
4. A comment that goes takes its rows in timelines of other repositories along, whose counters are not locked: these
   rows, and those of a repository that goes, are locked by id.
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
)

from ingot_chassis.tables import NAMING, BigId, UtcDateTime, chassis_tables

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
    Index("ix_repository_fork", "parent_id", "owner_id"),
)

counter = Table(
    "counter",
    metadata,
    Column("repository_id", BigId, primary_key=True, autoincrement=False),
    Column("last_number", BigId, nullable=False, default=0),
    Column("open_issues", BigId, nullable=False, default=0),
    Column("open_pulls", BigId, nullable=False, default=0),
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
    Column("due_date", UtcDateTime),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    Column("closed_at", UtcDateTime),
    UniqueConstraint("repository_id", "number"),
    Index("ix_issue_in_state", "repository_id", "state", "number"),
    Index("ix_issue_of_kind", "repository_id", "is_pull", "number"),
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
    Column("mergeable", Boolean, nullable=False),
    Column("merged", Boolean, nullable=False, default=False),
    Column("merged_at", UtcDateTime),
    Column("merged_by", BigId),
    Column("merge_sha", String(64)),
    Column("merge_claim", String(36)),
    Column("merge_claimed_until", UtcDateTime),
    Column("takes_branch", Boolean, nullable=False, default=False, server_default=false()),
    Index("ix_pull_head", "head_repository_id", "head_branch"),
    sqlite_autoincrement=True,
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
    Column("name", String(255), nullable=False),
    Column("color", String(6), nullable=False),
    Index("ix_label_listed", "repository_id", "name"),
    sqlite_autoincrement=True,
)

issue_label = Table(
    "issue_label",
    metadata,
    Column("issue_id", ForeignKey("issue.id", ondelete="CASCADE"), primary_key=True),
    Column("label_id", ForeignKey("label.id", ondelete="CASCADE"), primary_key=True, index=True),
)

_WHERE_IT_REFERS: dict[str, Any] = {
    "postgresql_where": text("ref_repository_id IS NOT NULL"),
    "sqlite_where": text("ref_repository_id IS NOT NULL"),
}

# Beside what people write also what happened: `kind` says what, `details` with what, `ref_…` because of what.
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
    sqlite_autoincrement=True,
)
