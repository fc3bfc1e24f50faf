"""SQL for comments, and for what happened to an issue: both are rows of one table, told apart by their kind."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Row, bindparam, delete, func, or_, select, update

from ingot_chassis.change import Change
from ingot_chassis.database import Executor
from ingot_chassis.paging import Page
from ingot_chassis.tables import BigId, now
from ingot_issues.store.tables import comment, issue

CommentRow = Any
"""A row of ``_comments``, or a `Written`."""

PLAIN, REOPENED, CLOSED = 0, 1, 2
ISSUE_REF, COMMIT_REF, COMMENT_REF, PULL_REF = 3, 4, 5, 6
LABEL, MILESTONE, ASSIGNEES, TITLE, BRANCH_DELETED = 7, 8, 9, 10, 11
TIME_ADDED = 14
DUE_SET, DUE_CHANGED, DUE_UNSET = 16, 17, 18
LOCKED, UNLOCKED, BASE_CHANGED, MERGED, PUSHED = 23, 24, 25, 28, 29


class Details(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What something happened with: ids, and what was there before and after."""

    label: int = 0
    removed: bool = False
    milestone: int = 0
    old_milestone: int = 0
    assignee: int = 0
    old_title: str = ""
    new_title: str = ""
    old_ref: str = ""
    new_ref: str = ""
    action: str = "none"
    time: int = 0


NOTHING = Details()


def details_of(row: CommentRow) -> Details:
    return msgspec.json.decode(row.details, type=Details) if row.details else NOTHING


async def add(
    db: Executor,
    *,
    repository_id: int,
    issue_id: int,
    author_id: int,
    body: str = "",
    kind: int = PLAIN,
    details: Details = NOTHING,
    **because: Any,
) -> int:
    """``because`` are the columns ``ref_…``."""
    values = {
        "repository_id": repository_id,
        "issue_id": issue_id,
        "author_id": author_id,
        "body": body,
        "kind": kind,
        "details": None if details == NOTHING else msgspec.json.encode(details).decode(),
        "created_at": now(),
        "updated_at": now(),
    }
    added: Any = await _ADD.first(db, **_PLAINLY | values | because)
    return int(added.id)


_BECAUSE = ("ref_repository_id", "ref_issue_id", "ref_comment_id", "ref_sha")
_PLAINLY = {"kind": PLAIN, "details": None, **dict.fromkeys(_BECAUSE)}
_ADD = Change(
    comment.insert()
    .values({column.name: bindparam(column.name) for column in comment.c if column.name != "id"})
    .returning(comment.c.id)
)


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """A comment as somebody has just written it, with the number of its issue."""

    id: int
    issue_id: int
    number: int
    is_pull: bool
    author_id: int
    body: str
    created_at: datetime
    updated_at: datetime


async def write(db: Executor, on: Row[Any], author_id: int, body: str) -> Written:
    """Insert what a person says about an issue."""
    moment = now()
    values: dict[str, Any] = {
        "issue_id": on.id,
        "author_id": author_id,
        "body": body,
        "created_at": moment,
        "updated_at": moment,
    }
    added: Any = await _ADD.first(db, **_PLAINLY, **values, repository_id=on.repository_id)
    return Written(id=added.id, number=on.number, is_pull=on.is_pull, **values)


async def is_noted(db: Executor, issue_id: int, kind: int, **because: Any) -> bool:
    """Whether there is a row of that kind on an issue with these columns ``ref_…``."""
    where = [comment.c[name] == value for name, value in because.items()]
    found = select(comment.c.id).where(comment.c.issue_id == issue_id, comment.c.kind == kind, *where)
    return (await db.execute(found.limit(1))).first() is not None


async def get(db: Executor, repository_id: int, comment_id: int) -> CommentRow | None:
    statement = _comments().where(comment.c.repository_id == repository_id, comment.c.id == comment_id)
    return (await db.execute(statement)).first()


async def list_by_id(db: Executor, ids: Collection[int]) -> list[CommentRow]:
    return list((await db.execute(_comments().where(comment.c.id.in_(ids)))).all()) if ids else []


async def list_of(
    db: Executor,
    repository_id: int,
    page: Page,
    *,
    issue_id: int | None = None,
    pulls: bool = True,
    since: datetime | None = None,
    before: datetime | None = None,
) -> tuple[list[CommentRow], int]:
    """A page of plain comments of an issue or of all of a repository, oldest first; and how many there are.

    ``pulls`` False leaves out those of pull requests.
    """
    where = [comment.c.repository_id == repository_id, comment.c.kind == PLAIN]
    if issue_id is not None:
        where.append(comment.c.issue_id == issue_id)
    if not pulls:
        where.append(comment.c.issue_id.not_in(_pulls_of(repository_id)))
    return await _page(db, [*where, *_between(since, before)], page)


async def timeline(
    db: Executor,
    issue_id: int,
    page: Page,
    *,
    visible: Collection[int],
    since: datetime | None = None,
    before: datetime | None = None,
) -> tuple[list[CommentRow], int]:
    """A page of all that was said and done, oldest first, and how much there is.

    What comes from a repository counts only when that is among ``visible``.
    """
    seen = or_(comment.c.ref_repository_id.is_(None), comment.c.ref_repository_id.in_(visible))
    return await _page(db, [comment.c.issue_id == issue_id, seen, *_between(since, before)], page)


async def referring_repositories(db: Executor, issue_id: int) -> list[int]:
    """The repositories from which something refers to an issue."""
    found = select(comment.c.ref_repository_id).where(
        comment.c.issue_id == issue_id, comment.c.ref_repository_id.is_not(None)
    )
    return list((await db.execute(found.distinct())).scalars())


async def change(db: Executor, seen: CommentRow, body: str) -> Written | None:
    """Replace what a comment says; None when it is gone."""
    values = {"body": body, "updated_at": now()}
    if (await db.execute(_CHANGE, {"comment_id": seen.id, **values})).rowcount == 0:
        return None
    kept: dict[str, Any] = {name: getattr(seen, name) for name in Written.__struct_fields__}
    return Written(**kept | values)


_CHANGE = update(comment).where(comment.c.id == bindparam("comment_id", type_=BigId))


async def remove(db: Executor, comment_id: int) -> bool:
    """With what it referred to; False when it is gone."""
    if (await db.execute(delete(comment).where(comment.c.id == comment_id))).rowcount == 0:
        return False
    referring = comment.c.ref_comment_id == comment_id
    await _remove_in_order(db, referring & comment.c.ref_repository_id.is_not(None))
    return True


async def remove_all(db: Executor, repository_id: int) -> None:
    """Those of a repository, and elsewhere what refers from it."""
    referring = comment.c.ref_repository_id == repository_id
    await _remove_in_order(db, (comment.c.repository_id == repository_id) | referring)


async def _remove_in_order(db: Executor, which: ColumnElement[bool]) -> None:
    """Delete rows, also of repositories whose counters are not locked: by id, so that two do not wait in a circle."""
    await db.execute(select(comment.c.id).where(which).order_by(comment.c.id).with_for_update())
    await db.execute(delete(comment).where(which))


async def _page(
    db: Executor, where: Sequence[ColumnElement[bool]], page: Page
) -> tuple[list[CommentRow], int]:
    listed = _comments().where(*where).order_by(comment.c.id).limit(page.limit).offset(page.offset)
    rows = await db.execute(listed)
    total = await db.execute(select(func.count()).select_from(comment).where(*where))
    return list(rows.all()), int(total.scalar_one())


def _between(since: datetime | None, before: datetime | None) -> list[ColumnElement[bool]]:
    where: list[ColumnElement[bool]] = []
    if since:
        where.append(comment.c.updated_at >= since)
    if before:
        where.append(comment.c.updated_at <= before)
    return where


def _pulls_of(repository_id: int) -> Any:
    return select(issue.c.id).where(issue.c.repository_id == repository_id, issue.c.is_pull)


def _comments() -> Any:
    """Comments, each with the number of its issue and whether that is a pull request."""
    return select(comment, issue.c.number, issue.c.is_pull).join(issue, issue.c.id == comment.c.issue_id)
