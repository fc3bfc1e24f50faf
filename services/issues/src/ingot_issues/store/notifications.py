"""SQL for notifications: one thread for each person and issue, which new activity makes unread again."""

from collections.abc import Collection, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import ColumnElement, Integer, Select, Update, bindparam, case, func, select, update

from ingot_chassis.db.arrays import any_of
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery
from ingot_chassis.db.rows import Slice, TotalRow, TypedRow
from ingot_chassis.db.tables import BigId, UtcDateTime
from ingot_chassis.db.transaction import insert
from ingot_issues.store.repository_ids import RepositoryIdRow
from ingot_issues.store.states import NotificationStatus, State
from ingot_issues.store.tables import comment, issue, notification, pull, repository


class ThreadRow(TypedRow):
    """A notification with its issue; ``merged`` is null where that is no pull request, ``comment_id`` where it is deleted."""

    id: int
    repository_id: int
    status: NotificationStatus
    comment_id: int | None
    updated_at: datetime
    number: int
    title: str
    state: State
    is_pull: bool
    merged: bool | None


class PagedThreadRow(ThreadRow, TotalRow):
    """A thread of a page of threads."""


class _Shape(NamedTuple):
    """What differs between the statements for two filters."""

    is_pull: bool | None
    since: bool
    before: bool
    one: bool


class _Statements(NamedTuple):
    """The statements for filters of one shape."""

    page: PreparedQuery[PagedThreadRow]
    number: PreparedQuery[TotalRow]
    named: PreparedQuery[ThreadRow]
    mark: Update


class ThreadFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which threads of a person a list shows, or a change concerns. None does not filter."""

    account_id: int
    repository_ids: Collection[int]
    statuses: Sequence[NotificationStatus]
    is_pull: bool | None = None
    since: datetime | None = None
    before: datetime | None = None
    thread_id: int | None = None

    @property
    def shape(self) -> _Shape:
        return _Shape(
            self.is_pull, self.since is not None, self.before is not None, self.thread_id is not None
        )

    @property
    def values(self) -> dict[str, object]:
        """The parameters of the statements."""
        optional = {"since": self.since, "before": self.before, "thread": self.thread_id}
        return {
            "account": self.account_id,
            "repository_ids": list(self.repository_ids),
            "statuses": list(self.statuses),
            **{name: value for name, value in optional.items() if value is not None},
        }


async def save(
    db: Executor,
    account_ids: Collection[int],
    repository_id: int,
    issue_id: int,
    comment_id: int,
    at: datetime,
) -> None:
    """Tell these people that something happened to an issue. A pinned thread stays pinned."""
    if not account_ids:
        return
    rows = [
        {
            "account_id": account_id,
            "repository_id": repository_id,
            "issue_id": issue_id,
            "comment_id": comment_id or None,
            "status": NotificationStatus.UNREAD,
            "updated_at": at,
        }
        for account_id in sorted(account_ids)
    ]
    statement = insert(db, notification).values(rows)
    is_pinned = notification.c.status == NotificationStatus.PINNED
    stays = case((is_pinned, NotificationStatus.PINNED.value), else_=NotificationStatus.UNREAD.value)
    await db.execute(
        statement.on_conflict_do_update(
            index_elements=["account_id", "issue_id"],
            set_={"status": stays, "comment_id": comment_id or None, "updated_at": at},
        )
    )


_OWN_REPOSITORIES = PreparedQuery(
    select(notification.c.repository_id)
    .where(notification.c.account_id == bindparam("account", type_=BigId))
    .distinct(),
    RepositoryIdRow,
)


async def list_repositories(db: Executor, account_id: int) -> list[int]:
    """The repositories of somebody's threads."""
    return [row.repository_id for row in await _OWN_REPOSITORIES.all(db, account=account_id)]


_LATEST_FIRST = (notification.c.updated_at.desc(), notification.c.id.desc())


def _matching(*columns: ColumnElement[Any], shape: _Shape) -> Select[Any]:
    """Threads of units that are switched on.

    Issues are looked up thread by thread: joined to them, PostgreSQL may walk all issues.
    """
    is_enabled = case((issue.c.is_pull, repository.c.has_pulls), else_=repository.c.has_issues)
    of_issue = [issue.c.id == notification.c.issue_id]
    if shape.is_pull is not None:
        of_issue.append(issue.c.is_pull.is_(shape.is_pull))
    enabled = select(is_enabled).join_from(issue, repository, repository.c.id == issue.c.repository_id)
    where: list[ColumnElement[bool]] = [
        notification.c.account_id == bindparam("account", type_=BigId),
        any_of(notification.c.repository_id, "repository_ids"),
        any_of(notification.c.status, "statuses"),
        enabled.where(*of_issue).correlate(notification).scalar_subquery(),
    ]
    if shape.since:
        where.append(notification.c.updated_at >= bindparam("since", type_=UtcDateTime))
    if shape.before:
        where.append(notification.c.updated_at <= bindparam("before", type_=UtcDateTime))
    if shape.one:
        where.append(notification.c.id == bindparam("thread", type_=BigId))
    return select(*columns).select_from(notification).where(*where)


_THREADS = (
    select(
        notification.c.id,
        notification.c.repository_id,
        notification.c.status,
        comment.c.id.label("comment_id"),
        notification.c.updated_at,
        issue.c.number,
        issue.c.title,
        issue.c.state,
        issue.c.is_pull,
        pull.c.merged,
    )
    .join(issue, issue.c.id == notification.c.issue_id)
    .outerjoin(pull, pull.c.issue_id == issue.c.id)
    .outerjoin(comment, comment.c.id == notification.c.comment_id)
    .order_by(*_LATEST_FIRST)
)


@lru_cache
def _statements(shape: _Shape) -> _Statements:
    """Built once for each combination, since building costs more than running."""
    ids = _matching(notification.c.id, shape=shape)
    number = _matching(func.count().label("total"), shape=shape)
    page = ids.order_by(*_LATEST_FIRST)
    page = page.limit(bindparam("limit", type_=Integer)).offset(bindparam("offset", type_=BigId))
    listed = _THREADS.add_columns(number.scalar_subquery().label("total"))
    named = _THREADS.where(notification.c.id.in_(ids), any_of(notification.c.id, "ids"))
    return _Statements(
        page=PreparedQuery(listed.where(notification.c.id.in_(page)), PagedThreadRow),
        number=PreparedQuery(number, TotalRow),
        named=PreparedQuery(named, ThreadRow),
        mark=update(notification)
        .where(notification.c.id.in_(ids), notification.c.status != bindparam("other"))
        .values(status=bindparam("other"))
        .returning(notification.c.id),
    )


async def list_page(db: Executor, filters: ThreadFilter, page: Slice) -> tuple[Sequence[ThreadRow], int]:
    """A page of threads, the latest first, and how many there are."""
    statement = _statements(filters.shape).page
    rows = await statement.all(db, **filters.values, limit=page.limit, offset=page.offset)
    return rows, rows[0].total if rows else await count(db, filters)


async def count(db: Executor, filters: ThreadFilter) -> int:
    """How many threads there are."""
    row = await _statements(filters.shape).number.first(db, **filters.values)
    return row.total if row is not None else 0


async def list_by_ids(db: Executor, filters: ThreadFilter, ids: Collection[int]) -> Sequence[ThreadRow]:
    """These threads as they are now, the latest first."""
    anything = msgspec.structs.replace(filters, statuses=list(NotificationStatus), since=None, before=None)
    return await _statements(anything.shape).named.all(db, **anything.values, ids=list(ids))


async def mark(db: Executor, filters: ThreadFilter, status: NotificationStatus) -> list[int]:
    """Give threads another status; the ids of those that had another one."""
    values = {**filters.values, "other": status.value}
    return list((await db.execute(_statements(filters.shape).mark, values)).scalars())
