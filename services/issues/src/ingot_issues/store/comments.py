"""SQL for comments and for the other rows of a timeline: both are in one table, and their kinds tell them apart."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from enum import IntEnum
from functools import lru_cache
from typing import Any, TypeAlias, cast

import msgspec
from sqlalchemy import ColumnElement, Integer, bindparam, delete, func, literal_column, or_, select, update

from ingot_chassis.clock import now
from ingot_chassis.db.arrays import any_of
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery, PreparedWrite
from ingot_chassis.db.prepared_pages import PreparedPage
from ingot_chassis.db.rows import Slice, TotalRow, TypedRow, fetch_first
from ingot_chassis.db.tables import BigId, UtcDateTime
from ingot_issues.store.attachments import FILES_OF_COMMENT
from ingot_issues.store.issue_rows import AnyIssue
from ingot_issues.store.repository_ids import RepositoryIdRow
from ingot_issues.store.tables import comment, issue


class CommentKind(IntEnum):
    """What a row of a timeline is. The numbers are the codes of Gitea, whose other codes Ingot does not have."""

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
    """What a row of a timeline is about: ids, and the former and the new value."""

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


class CommentRow(TypedRow):
    """A row of a timeline, with the number of its issue and whether that is a pull request."""

    id: int
    issue_id: int
    repository_id: int
    author_id: int
    kind: CommentKind
    body: str
    details: str | None
    ref_repository_id: int | None
    ref_issue_id: int | None
    ref_comment_id: int | None
    ref_sha: str | None
    created_at: datetime
    updated_at: datetime
    number: int
    is_pull: bool
    files_json: str


class TimelineRow(CommentRow, TotalRow):
    """A row of a page of a timeline."""


class WrittenComment(msgspec.Struct, frozen=True, kw_only=True):
    """A comment that this transaction has written, with the number of its issue."""

    id: int
    issue_id: int
    number: int
    is_pull: bool
    author_id: int
    body: str
    created_at: datetime
    updated_at: datetime
    files_json: str = "[]"


AnyComment: TypeAlias = CommentRow | WrittenComment


class CommentIdRow(TypedRow):
    """The id of a row."""

    id: int


_COMMENTS = select(comment, issue.c.number, issue.c.is_pull, FILES_OF_COMMENT.label("files_json")).join(
    issue, issue.c.id == comment.c.issue_id
)
_BY_IDS = PreparedQuery(_COMMENTS.where(any_of(comment.c.id, "ids")), CommentRow)
_IS_ON_ISSUE = comment.c.issue_id == bindparam("issue_id", type_=BigId)
_REFERRING_REPOSITORIES = PreparedQuery(
    select(comment.c.ref_repository_id.label("repository_id"))
    .where(_IS_ON_ISSUE, comment.c.ref_repository_id.is_not(None))
    .distinct(),
    RepositoryIdRow,
)
_IS_VISIBLE = or_(comment.c.ref_repository_id.is_(None), any_of(comment.c.ref_repository_id, "visible"))
MOST_IDS = 2_000
"""Of the timeline of one issue, in one answer."""
_IDS = PreparedQuery(
    select(comment.c.id)
    .where(_IS_ON_ISSUE, _IS_VISIBLE)
    .order_by(comment.c.id.desc())
    .limit(literal_column(str(MOST_IDS))),
    CommentIdRow,
)
_REFERENCE_COLUMNS = ("ref_repository_id", "ref_issue_id", "ref_comment_id", "ref_sha")
_PLAIN_VALUES = {"kind": CommentKind.COMMENT, "details": None, **dict.fromkeys(_REFERENCE_COLUMNS)}
_ADD = PreparedWrite(
    comment.insert()
    .values({column.name: bindparam(column.name) for column in comment.c if column.name != "id"})
    .returning(comment.c.id)
)


def details_of(row: CommentRow) -> Details:
    return msgspec.json.decode(row.details, type=Details) if row.details else NO_DETAILS


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
) -> None:
    """Insert a row into the timeline of an issue. ``reference`` are the columns ``ref_…``."""
    values = {
        "repository_id": repository_id,
        "issue_id": issue_id,
        "author_id": author_id,
        "body": body,
        "kind": kind,
        "details": None if details == NO_DETAILS else msgspec.json.encode(details).decode(),
        "created_at": now(),
        "updated_at": now(),
    }
    await _ADD.first(db, CommentIdRow, **{**_PLAIN_VALUES, **values, **reference})


async def write(db: Executor, on: AnyIssue, author_id: int, body: str) -> WrittenComment:
    """Insert a comment of a person on an issue."""
    moment = now()
    values: dict[str, Any] = {
        "issue_id": on.id,
        "author_id": author_id,
        "body": body,
        "created_at": moment,
        "updated_at": moment,
    }
    row = await _ADD.first(db, CommentIdRow, **_PLAIN_VALUES, **values, repository_id=on.repository_id)
    added = cast("CommentIdRow", row)
    return WrittenComment(id=added.id, number=on.number, is_pull=on.is_pull, **values)


@lru_cache(maxsize=16)
def _reference(columns: tuple[tuple[str, bool], ...]) -> PreparedQuery[CommentIdRow]:
    """A row with these columns, of which some are null. PostgreSQL has no index for what may be either."""
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
    """Whether the timeline of an issue has a row of that kind with these columns ``ref_…``."""
    query = _reference(tuple((name, value is None) for name, value in reference.items()))
    values = {name: value for name, value in reference.items() if value is not None}
    return await query.first(db, issue_id=issue_id, kind=kind, **values) is not None


async def get(db: Executor, repository_id: int, comment_id: int) -> CommentRow | None:
    statement = _COMMENTS.where(comment.c.repository_id == repository_id, comment.c.id == comment_id)
    return await fetch_first(db, statement, CommentRow)


async def list_by_id(db: Executor, ids: Collection[int]) -> Sequence[CommentRow]:
    return await _BY_IDS.all(db, ids=list(ids)) if ids else []


async def list_page(
    db: Executor,
    repository_id: int,
    page: Slice,
    *,
    issue_id: int | None = None,
    pulls: bool = True,
    since: datetime | None = None,
    before: datetime | None = None,
) -> tuple[Sequence[CommentRow], int]:
    """A page of the comments of an issue or of all of a repository, the oldest first; and how many there are.

    ``pulls`` False leaves out those of pull requests.
    """
    bounds = {
        name: value for name, value in (("issue_id", issue_id), ("since", since), ("before", before)) if value
    }
    values = {"repository_id": repository_id, "kind": CommentKind.COMMENT, **bounds}
    return await _comments(tuple(bounds), pulls=pulls).read(db, page, **values)


_BOUNDS: dict[str, ColumnElement[bool]] = {
    "issue_id": _IS_ON_ISSUE,
    "since": comment.c.updated_at >= bindparam("since", type_=UtcDateTime),
    "before": comment.c.updated_at <= bindparam("before", type_=UtcDateTime),
    "up_to": comment.c.id <= bindparam("up_to", type_=BigId),
}


@lru_cache
def _comments(bounds: tuple[str, ...], *, pulls: bool) -> PreparedPage[TimelineRow]:
    """The comments of a repository within these bounds."""
    of_repository = bindparam("repository_id", type_=BigId)
    where = [comment.c.repository_id == of_repository, comment.c.kind == bindparam("kind", type_=Integer)]
    where += [_BOUNDS[name] for name in bounds]
    if not pulls:
        pull_ids = select(issue.c.id).where(issue.c.repository_id == of_repository, issue.c.is_pull)
        where.append(comment.c.issue_id.not_in(pull_ids))
    count = select(func.count().label("total")).select_from(comment).where(*where)
    return PreparedPage(_COMMENTS.where(*where), TimelineRow, comment.c.id, count=count)


@lru_cache
def _timeline(bounds: tuple[str, ...]) -> PreparedPage[TimelineRow]:
    """The timeline within these bounds."""
    statement = _COMMENTS.where(_IS_ON_ISSUE, _IS_VISIBLE, *(_BOUNDS[name] for name in bounds))
    return PreparedPage(statement, TimelineRow, comment.c.id)


async def list_timeline_page(
    db: Executor,
    issue_id: int,
    page: Slice,
    *,
    visible: Collection[int],
    since: datetime | None = None,
    before: datetime | None = None,
    up_to: int = 0,
) -> tuple[Sequence[CommentRow], int]:
    """A page of the timeline of an issue, the oldest rows first; and how many there are.

    A reference from another repository counts only when that repository is among ``visible``. ``up_to`` 0: to the end.
    """
    bounds = {
        name: value for name, value in (("since", since), ("before", before), ("up_to", up_to)) if value
    }
    values = {"issue_id": issue_id, "visible": list(visible), **bounds}
    return await _timeline(tuple(bounds)).read(db, page, **values)


async def list_timeline_ids(db: Executor, issue_id: int, *, visible: Collection[int]) -> list[int]:
    """The ids of all rows of the timeline of an issue, the oldest first; of very many the latest MOST_IDS.

    ``visible`` as in ``list_timeline_page``.
    """
    rows = await _IDS.all(db, issue_id=issue_id, visible=list(visible))
    return [row.id for row in reversed(rows)]


async def list_referring_repositories(db: Executor, issue_id: int) -> set[int]:
    """The repositories that have references to an issue."""
    return {row.repository_id for row in await _REFERRING_REPOSITORIES.all(db, issue_id=issue_id)}


_CHANGE = update(comment).where(comment.c.id == bindparam("comment_id", type_=BigId))


async def change(db: Executor, row: CommentRow, body: str) -> WrittenComment | None:
    """Replace the text of a comment; None when the comment is deleted."""
    values = {"body": body, "updated_at": now()}
    if (await db.execute(_CHANGE, {"comment_id": row.id, **values})).rowcount == 0:
        return None
    former: dict[str, Any] = {name: getattr(row, name) for name in WrittenComment.__struct_fields__}
    return WrittenComment(**former | values)


async def remove(db: Executor, comment_id: int) -> bool:
    """Delete a comment and its references in timelines; False when it is deleted already."""
    if (await db.execute(delete(comment).where(comment.c.id == comment_id))).rowcount == 0:
        return False
    referring = comment.c.ref_comment_id == comment_id
    await _remove_in_order(db, referring & comment.c.ref_repository_id.is_not(None))
    return True


async def remove_of_issue(db: Executor, issue_id: int) -> None:
    """Delete the comments of an issue, and its references in timelines."""
    refers = comment.c.ref_repository_id.is_not(None)
    await _remove_in_order(
        db, (comment.c.issue_id == issue_id) | ((comment.c.ref_issue_id == issue_id) & refers)
    )


async def remove_all(db: Executor, repository_id: int) -> None:
    """Delete the comments of a repository, and its references in timelines of other repositories."""
    referring = comment.c.ref_repository_id == repository_id
    await _remove_in_order(db, (comment.c.repository_id == repository_id) | referring)


async def _remove_in_order(db: Executor, which: ColumnElement[bool]) -> None:
    """Delete rows, also of repositories whose counters are not locked.

    The rows are locked by id first, so that two transactions do not wait for each other.
    """
    await db.execute(select(comment.c.id).where(which).order_by(comment.c.id).with_for_update())
    await db.execute(delete(comment).where(which))
