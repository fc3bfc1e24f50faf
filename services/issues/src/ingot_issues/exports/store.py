"""SQL for exports: objects of a repository in pages, each after the last id or number of the page before."""

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, Select, and_, or_, select

from ingot_chassis.db.arrays import any_of
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import TypedRow, fetch_all
from ingot_issues.attachments.store import attachment
from ingot_issues.dependencies.store import dependency
from ingot_issues.imports.store.placeholders import PlaceholderRow, Role, placeholder
from ingot_issues.issues.store.assignees import assignee
from ingot_issues.labels.store.repository import LabelRow
from ingot_issues.labels.store.tables import issue_label, label
from ingot_issues.milestones.store import milestone
from ingot_issues.reactions.store import reaction
from ingot_issues.records.store.states import State
from ingot_issues.records.store.tables import comment, issue, pull
from ingot_issues.records.store.timeline import CommentKind
from ingot_issues.reviewers.store.states import ReviewState
from ingot_issues.reviewers.store.tables import review, review_comment
from ingot_issues.times.store.tracked import tracked_time


class AuthoredRow(TypedRow):
    """The author of a row, and the author at the source of an import."""

    author_id: int
    original_author: str
    original_author_id: int


class MilestoneRow(TypedRow):
    """A milestone. Old ones have no times."""

    id: int
    title: str
    description: str
    state: State
    due_on: datetime | None
    closed_at: datetime | None
    created_at: datetime | None
    updated_at: datetime | None


class IssueRow(AuthoredRow):
    """The columns of an issue."""

    id: int
    number: int
    title: str
    body: str
    state: State
    milestone_id: int | None
    locked: bool
    pin_order: int
    due_date: datetime | None
    ref: str
    created_at: datetime
    updated_at: datetime
    closed_at: datetime | None


class PullRow(IssueRow):
    """The columns of a pull request."""

    repository_id: int
    base_branch: str
    base_sha: str
    head_repository_id: int
    head_branch: str
    head_sha: str
    merge_base: str
    merged: bool
    merged_at: datetime | None
    merged_by: int | None
    original_merger: str
    merge_sha: str | None
    allow_maintainer_edit: bool
    additions: int | None
    deletions: int | None
    changed_files: int | None


class CommentRow(AuthoredRow):
    """A comment on the issue ``number``."""

    id: int
    number: int
    body: str
    created_at: datetime
    updated_at: datetime


class TimeRow(TypedRow):
    """Time on the issue ``number``."""

    id: int
    issue_id: int
    number: int
    account_id: int
    seconds: int
    created_at: datetime


class DependencyRow(TypedRow):
    """The issue ``number`` is blocked by ``blocker``."""

    number: int
    blocker: int


class LabelIdRow(TypedRow):
    """A label of an issue."""

    issue_id: int
    label_id: int


class AssigneeRow(TypedRow):
    """An assignee of an issue."""

    issue_id: int
    account_id: int


class ReactionRow(TypedRow):
    """A reaction to an issue, or to a comment on it."""

    id: int
    issue_id: int
    comment_id: int | None
    account_id: int
    content: str
    created_at: datetime


class FileRow(TypedRow):
    """A file of an issue, or of a comment on it. ``size`` is in bytes."""

    issue_id: int
    comment_id: int | None
    uuid: str
    name: str
    size: int
    sha256: str
    created_at: datetime


class ReviewRow(AuthoredRow):
    """A submitted review, or a request for one."""

    id: int
    issue_id: int
    state: ReviewState
    body: str
    commit_sha: str
    dismissed: bool
    submitted_at: datetime
    updated_at: datetime


class LineCommentRow(AuthoredRow):
    """A comment on a line."""

    id: int
    review_id: int
    path: str
    old_position: int
    new_position: int
    body: str
    commit_sha: str
    diff_hunk: str
    resolver_id: int | None
    created_at: datetime
    updated_at: datetime


_ISSUE = [
    issue.c[name]
    for name in (
        "id", "number", "title", "body", "state", "milestone_id", "locked", "pin_order", "due_date", "ref",
        "created_at", "updated_at", "closed_at", "author_id", "original_author", "original_author_id",
    )
]  # fmt: skip
_PULL = [
    pull.c[name]
    for name in (
        "base_branch", "base_sha", "head_repository_id", "head_branch", "head_sha", "merge_base", "merged",
        "merged_at", "merged_by", "original_merger", "merge_sha", "allow_maintainer_edit", "additions",
        "deletions", "changed_files",
    )
]  # fmt: skip
_COMMENTS = select(
    comment.c.id,
    issue.c.number,
    comment.c.body,
    comment.c.author_id,
    comment.c.original_author,
    comment.c.original_author_id,
    comment.c.created_at,
    comment.c.updated_at,
).join(issue, issue.c.id == comment.c.issue_id)
_IS_TEXT = comment.c.kind == CommentKind.COMMENT
_PLACEHOLDERS = select(*[placeholder.c[name] for name in PlaceholderRow.__annotations__]).where(
    any_of(placeholder.c.issue_id, "ids")
)


async def list_labels(
    db: Executor, repository_id: int, owner_id: int, after: int, most: int
) -> Sequence[LabelRow]:
    """Return labels of the repository, and labels of its organization that are on its issues, by id.

    If ``owner_id`` is 0, labels of all organizations are considered.
    """
    is_shared = label.c.organization_id == owner_id if owner_id else label.c.organization_id.is_not(None)
    is_used = (
        select(issue_label.c.label_id)
        .join(issue, issue.c.id == issue_label.c.issue_id)
        .where(issue.c.repository_id == repository_id, issue_label.c.label_id == label.c.id)
        .exists()
    )
    is_own = label.c.repository_id == repository_id
    statement = select(label).where(or_(is_own, and_(is_shared, is_used)), label.c.id > after)
    return await fetch_all(db, statement.order_by(label.c.id).limit(most), LabelRow)


async def list_milestones(db: Executor, repository_id: int, after: int, most: int) -> Sequence[MilestoneRow]:
    columns = [milestone.c[name] for name in MilestoneRow.__annotations__]
    statement = select(*columns).where(milestone.c.repository_id == repository_id, milestone.c.id > after)
    return await fetch_all(db, statement.order_by(milestone.c.id).limit(most), MilestoneRow)


async def list_issues(db: Executor, repository_id: int, after: int, most: int) -> Sequence[IssueRow]:
    """Return the issues after the number ``after``."""
    statement = select(*_ISSUE).where(*_numbered(repository_id, after, is_pull=False))
    return await fetch_all(db, statement.order_by(issue.c.number).limit(most), IssueRow)


async def list_pulls(db: Executor, repository_id: int, after: int, most: int) -> Sequence[PullRow]:
    """Return the pull requests after the number ``after``."""
    statement = select(*_ISSUE, issue.c.repository_id, *_PULL).join(pull, pull.c.issue_id == issue.c.id)
    statement = statement.where(*_numbered(repository_id, after, is_pull=True))
    return await fetch_all(db, statement.order_by(issue.c.number).limit(most), PullRow)


def _numbered(repository_id: int, after: int, *, is_pull: bool) -> tuple[ColumnElement[bool], ...]:
    return issue.c.repository_id == repository_id, issue.c.is_pull.is_(is_pull), issue.c.number > after


async def list_comments(db: Executor, repository_id: int, after: int, most: int) -> Sequence[CommentRow]:
    """Return comments on issues, without comments on pull requests."""
    statement = _COMMENTS.where(
        comment.c.repository_id == repository_id, _IS_TEXT, issue.c.is_pull.is_(False), comment.c.id > after
    )
    return await fetch_all(db, statement.order_by(comment.c.id).limit(most), CommentRow)


async def comments_of(db: Executor, issue_ids: Collection[int]) -> Sequence[CommentRow]:
    statement = _COMMENTS.where(any_of(comment.c.issue_id, "ids"), _IS_TEXT)
    return await fetch_all(db, statement.order_by(comment.c.id), CommentRow, ids=list(issue_ids))


async def list_times(db: Executor, repository_id: int, after: int, most: int) -> Sequence[TimeRow]:
    statement = (
        select(
            tracked_time.c.id,
            tracked_time.c.issue_id,
            issue.c.number,
            tracked_time.c.account_id,
            tracked_time.c.seconds,
            tracked_time.c.created_at,
        )
        .join(issue, issue.c.id == tracked_time.c.issue_id)
        .where(tracked_time.c.repository_id == repository_id, tracked_time.c.id > after)
    )
    return await fetch_all(db, statement.order_by(tracked_time.c.id).limit(most), TimeRow)


async def list_dependencies(
    db: Executor, repository_id: int, after: int, after_blocker: int, most: int
) -> Sequence[DependencyRow]:
    """Return dependencies between issues of the repository, after a pair of numbers."""
    blocked, blocker = issue.alias(), issue.alias()
    is_later = or_(
        blocked.c.number > after,
        and_(blocked.c.number == after, blocker.c.number > after_blocker),
    )
    statement: Select[tuple[int, int]] = (
        select(blocked.c.number, blocker.c.number.label("blocker"))
        .select_from(dependency)
        .join(blocked, blocked.c.id == dependency.c.issue_id)
        .join(blocker, blocker.c.id == dependency.c.blocker_id)
        .where(blocked.c.repository_id == repository_id, blocker.c.repository_id == repository_id, is_later)
        .order_by(blocked.c.number, blocker.c.number)
    )
    return await fetch_all(db, statement.limit(most), DependencyRow)


async def labels_of(db: Executor, issue_ids: Collection[int]) -> Sequence[LabelIdRow]:
    statement = select(issue_label).where(any_of(issue_label.c.issue_id, "ids"))
    statement = statement.order_by(issue_label.c.issue_id, issue_label.c.label_id)
    return await fetch_all(db, statement, LabelIdRow, ids=list(issue_ids))


async def assignees_of(db: Executor, issue_ids: Collection[int]) -> Sequence[AssigneeRow]:
    statement = select(assignee.c.issue_id, assignee.c.account_id).where(any_of(assignee.c.issue_id, "ids"))
    statement = statement.order_by(assignee.c.issue_id, assignee.c.position)
    return await fetch_all(db, statement, AssigneeRow, ids=list(issue_ids))


async def reactions_to_issues(db: Executor, issue_ids: Collection[int]) -> Sequence[ReactionRow]:
    statement = _reactions().where(any_of(reaction.c.issue_id, "ids"), reaction.c.comment_id.is_(None))
    return await fetch_all(db, statement, ReactionRow, ids=list(issue_ids))


async def reactions_to_comments(db: Executor, comment_ids: Collection[int]) -> Sequence[ReactionRow]:
    statement = _reactions().where(any_of(reaction.c.comment_id, "ids"))
    return await fetch_all(db, statement, ReactionRow, ids=list(comment_ids))


def _reactions() -> Select[tuple[object, ...]]:
    columns = [reaction.c[name] for name in ReactionRow.__annotations__]
    return select(*columns).order_by(reaction.c.id)


async def files_of_issues(db: Executor, issue_ids: Collection[int]) -> Sequence[FileRow]:
    """Return the files of issues, without the files of comments."""
    statement = _files().where(any_of(attachment.c.issue_id, "ids"), attachment.c.comment_id.is_(None))
    return await fetch_all(db, statement, FileRow, ids=list(issue_ids))


async def files_of_comments(db: Executor, comment_ids: Collection[int]) -> Sequence[FileRow]:
    statement = _files().where(any_of(attachment.c.comment_id, "ids"))
    return await fetch_all(db, statement, FileRow, ids=list(comment_ids))


def _files() -> Select[tuple[object, ...]]:
    return select(*[attachment.c[name] for name in FileRow.__annotations__]).order_by(attachment.c.id)


async def placeholders_of(db: Executor, issue_ids: Collection[int]) -> Sequence[PlaceholderRow]:
    """Return the placeholders on issues: actions of people without an account here."""
    return await fetch_all(db, _PLACEHOLDERS.order_by(placeholder.c.id), PlaceholderRow, ids=list(issue_ids))


async def placeholders_of_rows(
    db: Executor, role: Role, issue_ids: Collection[int], row_ids: Collection[int]
) -> Sequence[PlaceholderRow]:
    """Return the placeholders of rows on issues, for example of reactions: one page of many."""
    statement = _PLACEHOLDERS.where(placeholder.c.role == role, any_of(placeholder.c.row_id, "rows"))
    return await fetch_all(db, statement, PlaceholderRow, ids=list(issue_ids), rows=list(row_ids))


async def reviews_of(db: Executor, issue_ids: Collection[int]) -> Sequence[ReviewRow]:
    """Return the submitted reviews of pull requests, and the requests to people."""
    columns = [review.c[name] for name in (*ReviewRow.__annotations__, *AuthoredRow.__annotations__)]
    statement = select(*columns).where(
        any_of(review.c.issue_id, "ids"), review.c.state != ReviewState.PENDING, review.c.team_id.is_(None)
    )
    return await fetch_all(db, statement.order_by(review.c.id), ReviewRow, ids=list(issue_ids))


async def line_comments_of(db: Executor, review_ids: Collection[int]) -> Sequence[LineCommentRow]:
    names = (*LineCommentRow.__annotations__, *AuthoredRow.__annotations__)
    statement = select(*[review_comment.c[name] for name in names])
    statement = statement.where(any_of(review_comment.c.review_id, "ids")).order_by(review_comment.c.id)
    return await fetch_all(db, statement, LineCommentRow, ids=list(review_ids))
