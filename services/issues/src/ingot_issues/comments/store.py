"""SQL for comments, and for pages of a timeline. Both are in one table."""

from collections.abc import Collection, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, TypeAlias

import msgspec
from sqlalchemy import (
    Column,
    ColumnElement,
    ForeignKey,
    Integer,
    String,
    Table,
    bindparam,
    delete,
    func,
    insert,
    literal_column,
    or_,
    select,
    update,
)

from ingot_chassis.clock import now
from ingot_chassis.db.arrays import any_of
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery
from ingot_chassis.db.prepared_pages import PreparedPage
from ingot_chassis.db.rows import Slice, TotalRow, TypedRow, fetch_first
from ingot_chassis.db.tables import BigId, UtcDateTime
from ingot_issues.attachments.store import FILES_OF_COMMENT
from ingot_issues.records.store import timeline
from ingot_issues.records.store.issues import AnyIssue
from ingot_issues.records.store.tables import comment, issue
from ingot_issues.records.store.timeline import NO_DETAILS, CommentIdRow, CommentKind, Details
from ingot_issues.repositories.store.ids import RepositoryIdRow
from ingot_issues.schema import metadata

reply = Table(
    "reply_by_mail",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("issue_id", ForeignKey("issue.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("comment_id", BigId, nullable=False),
)
"""Replies by mail that became comments. A row stays when its comment is deleted, so it does not come back."""


class CommentRow(TypedRow):
    """A row of a timeline, with the number of its issue. ``is_pull``: the issue is a pull request."""

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
    original_author: str
    original_author_id: int
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
    original_author: str = ""
    original_author_id: int = 0


AnyComment: TypeAlias = CommentRow | WrittenComment


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
"""Maximum number of timeline rows of an issue in one response."""
_IDS = PreparedQuery(
    select(comment.c.id)
    .where(_IS_ON_ISSUE, _IS_VISIBLE)
    .order_by(comment.c.id.desc())
    .limit(literal_column(str(MOST_IDS))),
    CommentIdRow,
)


def details_of(row: CommentRow) -> Details:
    return msgspec.json.decode(row.details, type=Details) if row.details else NO_DETAILS


async def get_reply(db: Executor, key: str) -> int:
    """Return the id of the comment of a reply by mail, or 0."""
    return (await db.execute(select(reply.c.comment_id).where(reply.c.key == key))).scalar() or 0


async def add_reply(db: Executor, key: str, issue_id: int, comment_id: int) -> None:
    """Record that a reply by mail is this comment."""
    await db.execute(insert(reply).values(key=key, issue_id=issue_id, comment_id=comment_id))


async def write(db: Executor, on: AnyIssue, author_id: int, body: str) -> WrittenComment:
    """Insert a user's comment on an issue."""
    moment = now()
    comment_id = await timeline.add(
        db,
        repository_id=on.repository_id,
        issue_id=on.id,
        author_id=author_id,
        kind=CommentKind.COMMENT,
        body=body,
        at=moment,
    )
    return WrittenComment(
        id=comment_id,
        issue_id=on.id,
        number=on.number,
        is_pull=on.is_pull,
        author_id=author_id,
        body=body,
        created_at=moment,
        updated_at=moment,
    )


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
    issues: bool = True,
    pulls: bool = True,
    since: datetime | None = None,
    before: datetime | None = None,
) -> tuple[Sequence[CommentRow], int]:
    """Return a page of comments of an issue or of a repository, oldest first, and their number.

    Comments on issues are omitted unless ``issues``, and comments on pull requests unless ``pulls``.
    """
    bounds = {
        name: value for name, value in (("issue_id", issue_id), ("since", since), ("before", before)) if value
    }
    values = {"repository_id": repository_id, "kind": CommentKind.COMMENT, **bounds}
    return await _comments(tuple(bounds), issues=issues, pulls=pulls).read(db, page, **values)


_BOUNDS: dict[str, ColumnElement[bool]] = {
    "issue_id": _IS_ON_ISSUE,
    "since": comment.c.updated_at >= bindparam("since", type_=UtcDateTime),
    "before": comment.c.updated_at <= bindparam("before", type_=UtcDateTime),
    "up_to": comment.c.id <= bindparam("up_to", type_=BigId),
}


@lru_cache
def _comments(bounds: tuple[str, ...], *, issues: bool, pulls: bool) -> PreparedPage[TimelineRow]:
    """Return the query for pages of comments of a repository, with these conditions of ``_BOUNDS``."""
    of_repository = bindparam("repository_id", type_=BigId)
    where = [comment.c.repository_id == of_repository, comment.c.kind == bindparam("kind", type_=Integer)]
    where += [_BOUNDS[name] for name in bounds]
    if not issues or not pulls:
        pull_ids = select(issue.c.id).where(issue.c.repository_id == of_repository, issue.c.is_pull)
        if not pulls:
            where.append(comment.c.issue_id.not_in(pull_ids))
        if not issues:
            where.append(comment.c.issue_id.in_(pull_ids))
    count = select(func.count().label("total")).select_from(comment).where(*where)
    return PreparedPage(_COMMENTS.where(*where), TimelineRow, comment.c.id, count=count)


@lru_cache
def _timeline(bounds: tuple[str, ...]) -> PreparedPage[TimelineRow]:
    """Return the query for pages of a timeline, with these conditions of ``_BOUNDS``."""
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
    """Return a page of the timeline of an issue, the oldest rows first, and the number of rows.

    References from repositories that are not in ``visible`` are omitted. ``up_to`` is the last id; 0 is no
    limit.
    """
    bounds = {
        name: value for name, value in (("since", since), ("before", before), ("up_to", up_to)) if value
    }
    values = {"issue_id": issue_id, "visible": list(visible), **bounds}
    return await _timeline(tuple(bounds)).read(db, page, **values)


async def list_timeline_ids(db: Executor, issue_id: int, *, visible: Collection[int]) -> list[int]:
    """Return the ids of the latest MOST_IDS timeline rows of an issue, oldest first.

    References from repositories that are not in ``visible`` are omitted.
    """
    rows = await _IDS.all(db, issue_id=issue_id, visible=list(visible))
    return [row.id for row in reversed(rows)]


async def list_referring_repositories(db: Executor, issue_id: int) -> set[int]:
    """Return the ids of the repositories that refer to an issue."""
    return {row.repository_id for row in await _REFERRING_REPOSITORIES.all(db, issue_id=issue_id)}


_CHANGE = update(comment).where(comment.c.id == bindparam("comment_id", type_=BigId))


async def change(db: Executor, row: CommentRow, body: str) -> WrittenComment | None:
    """Replace the text of a comment. Return None if the comment was deleted."""
    values = {"body": body, "updated_at": now()}
    if (await db.execute(_CHANGE, {"comment_id": row.id, **values})).rowcount == 0:
        return None
    former: dict[str, Any] = {name: getattr(row, name) for name in WrittenComment.__struct_fields__}
    return WrittenComment(**former | values)


async def remove(db: Executor, comment_id: int) -> bool:
    """Delete a comment and its references in timelines. Return False if it was already deleted."""
    if (await db.execute(delete(comment).where(comment.c.id == comment_id))).rowcount == 0:
        return False
    await timeline.remove_references(db, comment_id)
    return True
