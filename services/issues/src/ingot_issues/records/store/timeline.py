"""SQL for the timelines of issues. Comments are rows of a timeline, too, with their own ``kind``."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import IntEnum
from functools import lru_cache
from typing import cast

import msgspec
from sqlalchemy import ColumnElement, Integer, String, bindparam, delete, literal_column, select

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery, PreparedWrite
from ingot_chassis.db.rows import TypedRow, fetch_all, fetch_first
from ingot_chassis.db.tables import BigId
from ingot_issues.records.store.tables import comment, issue


class CommentKind(IntEnum):
    """The kind of a row of a timeline.

    The numbers are the codes of Gitea. Ingot does not have the other codes of Gitea.
    """

    COMMENT = 0
    REOPENED = 1
    CLOSED = 2
    ISSUE_REFERENCE = 3
    COMMIT_REFERENCE = 4
    COMMENT_REFERENCE = 5
    PULL_REFERENCE = 6
    LABEL = 7
    MILESTONE = 8
    ASSIGNEES = 9
    TITLE = 10
    BRANCH_DELETED = 11
    TRACKING_STARTED = 12
    TRACKING_STOPPED = 13
    TIME_ADDED = 14
    TRACKING_CANCELLED = 15
    DUE_DATE_SET = 16
    DUE_DATE_CHANGED = 17
    DUE_DATE_REMOVED = 18
    DEPENDENCY_ADDED = 19
    DEPENDENCY_REMOVED = 20
    REVIEW = 22
    LOCKED = 23
    UNLOCKED = 24
    BASE_CHANGED = 25
    TIME_DELETED = 26
    REVIEW_REQUESTED = 27
    MERGED = 28
    COMMITS_ADDED = 29
    REVIEW_DISMISSED = 32
    REF = 33
    MERGE_SCHEDULED = 34
    MERGE_CANCELLED = 35
    PINNED = 36
    UNPINNED = 37


class Details(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Details of a row of a timeline: ids, and the former and the new value."""

    label: int = 0
    removed: bool = False
    milestone: int = 0
    old_milestone: int = 0
    assignee: int = 0
    team: int = 0
    old_title: str = ""
    new_title: str = ""
    old_ref: str = ""
    new_ref: str = ""
    action: str = "none"
    time: int = 0
    review: int = 0


NO_DETAILS = Details()


NO_REFERENCE: Mapping[str, object] = {}


class CommentIdRow(TypedRow):
    """The id of a row of a timeline."""

    id: int


_REFERENCE_COLUMNS = ("ref_repository_id", "ref_issue_id", "ref_comment_id", "ref_sha")


_PLAIN_VALUES = {
    "kind": CommentKind.COMMENT,
    "details": None,
    "original_author": "",
    "original_author_id": 0,
    **dict.fromkeys(_REFERENCE_COLUMNS),
}


_ADD = PreparedWrite(
    comment.insert()
    .values({column.name: bindparam(column.name) for column in comment.c if column.name != "id"})
    .returning(comment.c.id)
)


async def add(
    db: Executor,
    *,
    repository_id: int,
    issue_id: int,
    author_id: int,
    kind: CommentKind,
    body: str = "",
    details: Details = NO_DETAILS,
    reference: Mapping[str, object] = NO_REFERENCE,
    at: datetime | None = None,
) -> int:
    """Insert a row into a timeline, and return its id. ``reference`` has the columns ``ref_…``."""
    moment = at or now()
    values = {
        "repository_id": repository_id,
        "issue_id": issue_id,
        "author_id": author_id,
        "body": body,
        "kind": kind,
        "details": None if details == NO_DETAILS else msgspec.json.encode(details).decode(),
        "created_at": moment,
        "updated_at": moment,
    }
    row = await _ADD.first(db, CommentIdRow, **{**_PLAIN_VALUES, **values, **reference})
    return cast("CommentIdRow", row).id


@lru_cache(maxsize=16)
def _reference(columns: tuple[tuple[str, bool], ...]) -> PreparedQuery[CommentIdRow]:
    """Return the query for a row with these columns. Each column has True if its value is null.

    PostgreSQL has no index for "equal or both null", so each combination has a statement.
    """
    where = [
        comment.c[name].is_(None)
        if is_null
        else comment.c[name] == bindparam(name, type_=comment.c[name].type)
        for name, is_null in columns
    ]
    of = (
        comment.c.issue_id == bindparam("issue_id", type_=BigId),
        comment.c.kind == bindparam("kind", type_=Integer),
    )
    return PreparedQuery(select(comment.c.id).where(*of, *where).limit(literal_column("1")), CommentIdRow)


async def has_reference(
    db: Executor, issue_id: int, kind: CommentKind, reference: Mapping[str, object]
) -> bool:
    """Return whether the timeline of an issue has a row of that kind with these columns ``ref_…``."""
    query = _reference(tuple((name, value is None) for name, value in reference.items()))
    values = {name: value for name, value in reference.items() if value is not None}
    return await query.first(db, issue_id=issue_id, kind=kind, **values) is not None


_WAS_HEAD = PreparedQuery(
    select(comment.c.id)
    .where(
        comment.c.issue_id == bindparam("issue_id", type_=BigId),
        comment.c.kind == literal_column(str(int(CommentKind.COMMITS_ADDED))),
        comment.c.details.contains(bindparam("sha", type_=String)),
    )
    .limit(literal_column("1")),
    CommentIdRow,
)


async def was_head(db: Executor, issue_id: int, sha: str) -> bool:
    """Return whether a commit was the head of a pull request before or after a recorded push."""
    return await _WAS_HEAD.first(db, issue_id=issue_id, sha=sha) is not None


class PushRow(TypedRow):
    """A recorded push to a pull request. Its details have the heads before and after it."""

    details: str
    created_at: datetime


async def list_latest_pushes(db: Executor, issue_id: int, limit: int) -> Sequence[PushRow]:
    """Return the latest recorded pushes to a pull request, oldest first."""
    of = (comment.c.issue_id == issue_id, comment.c.kind == CommentKind.COMMITS_ADDED)
    statement = select(comment.c.details, comment.c.created_at).where(*of, comment.c.details.is_not(None))
    return (await fetch_all(db, statement.order_by(comment.c.id.desc()).limit(limit), PushRow))[::-1]


class CommentKeyRow(TypedRow):
    """A row of a timeline: its issue, author and kind."""

    id: int
    issue_id: int
    author_id: int
    kind: CommentKind
    is_pull: bool


async def get_key(db: Executor, repository_id: int, comment_id: int) -> CommentKeyRow | None:
    statement = (
        select(comment.c.id, comment.c.issue_id, comment.c.author_id, comment.c.kind, issue.c.is_pull)
        .join(issue, issue.c.id == comment.c.issue_id)
        .where(comment.c.repository_id == repository_id, comment.c.id == comment_id)
    )
    return await fetch_first(db, statement, CommentKeyRow)


async def remove_references(db: Executor, comment_id: int) -> None:
    """Delete the rows of timelines that refer to a comment."""
    referring = comment.c.ref_comment_id == comment_id
    await _remove_in_order(db, referring & comment.c.ref_repository_id.is_not(None))


async def remove_of_issue(db: Executor, issue_id: int) -> None:
    """Delete the timeline of an issue, and the rows of other timelines that refer to it."""
    refers = comment.c.ref_repository_id.is_not(None)
    await _remove_in_order(
        db, (comment.c.issue_id == issue_id) | ((comment.c.ref_issue_id == issue_id) & refers)
    )


async def remove_all(db: Executor, repository_id: int) -> None:
    """Delete the timelines of a repository, and the rows of other timelines that refer to it."""
    referring = comment.c.ref_repository_id == repository_id
    await _remove_in_order(db, (comment.c.repository_id == repository_id) | referring)


async def _remove_in_order(db: Executor, which: ColumnElement[bool]) -> None:
    """Delete rows, also of repositories whose counters are not locked.

    The rows are first locked in the order of their ids, which prevents deadlocks.
    """
    await db.execute(select(comment.c.id).where(which).order_by(comment.c.id).with_for_update())
    await db.execute(delete(comment).where(which))
