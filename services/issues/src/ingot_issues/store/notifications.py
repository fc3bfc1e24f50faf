"""SQL for notifications: one thread for each person and issue, which new activity makes unread again."""

from collections.abc import Collection, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import ColumnElement, Select, TextClause, Update, bindparam, case, or_, select, text, update

from ingot_chassis.db.arrays import any_of
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery
from ingot_chassis.db.prepared_pages import PreparedPage
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
    without_read: bool


class _Statements(NamedTuple):
    """The statements for filters of one shape."""

    page: PreparedPage[PagedThreadRow]
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
            is_pull=self.is_pull,
            since=self.since is not None,
            before=self.before is not None,
            one=self.thread_id is not None,
            without_read=NotificationStatus.READ not in self.statuses,
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


# Written out, not bound: a database uses a partial index only for a condition that it can read.
_IS_NOT_READ = text("notification.status <> 'read'")
_OWN = select(notification.c.repository_id).where(
    notification.c.account_id == bindparam("account", type_=BigId)
)
_REPOSITORIES = PreparedQuery(_OWN.distinct(), RepositoryIdRow)
_REPOSITORIES_WITHOUT_READ = PreparedQuery(_OWN.where(_IS_NOT_READ).distinct(), RepositoryIdRow)


async def list_repositories(
    db: Executor, account_id: int, statuses: Collection[NotificationStatus]
) -> list[int]:
    """The repositories of somebody's threads: all that have one of ``statuses``, and maybe others."""
    has_read = NotificationStatus.READ in statuses
    query = _REPOSITORIES if has_read else _REPOSITORIES_WITHOUT_READ
    return [row.repository_id for row in await query.all(db, account=account_id)]


_LATEST_FIRST = (notification.c.updated_at.desc(), notification.c.id.desc())


def _matching(*columns: ColumnElement[Any], shape: _Shape) -> Select[Any]:
    """Threads of units that are switched on.

    Most repositories have all units, so the issues of their threads need no look. The others are looked up thread by thread:
    joined to them, PostgreSQL may walk all issues.
    """
    is_enabled = case((issue.c.is_pull, repository.c.has_pulls), else_=repository.c.has_issues)
    of_issue = [issue.c.id == notification.c.issue_id]
    if shape.is_pull is not None:
        of_issue.append(issue.c.is_pull.is_(shape.is_pull))
    enabled = select(is_enabled).join_from(issue, repository, repository.c.id == issue.c.repository_id)
    is_of_enabled: ColumnElement[bool] = enabled.where(*of_issue).correlate(notification).scalar_subquery()
    if shape.is_pull is None:
        has_all = select(repository.c.id).where(
            any_of(repository.c.id, "repository_ids"), repository.c.has_issues, repository.c.has_pulls
        )
        is_of_enabled = or_(notification.c.repository_id.in_(has_all), is_of_enabled)
    where: list[ColumnElement[bool] | TextClause] = [
        notification.c.account_id == bindparam("account", type_=BigId),
        any_of(notification.c.repository_id, "repository_ids"),
        any_of(notification.c.status, "statuses"),
        is_of_enabled,
    ]
    if shape.without_read:
        where.append(_IS_NOT_READ)
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
)


@lru_cache
def _statements(shape: _Shape) -> _Statements:
    """Built once for each combination, since building costs more than running."""
    ids = _matching(notification.c.id, shape=shape)
    named = _THREADS.where(notification.c.id.in_(ids), any_of(notification.c.id, "ids"))
    return _Statements(
        page=PreparedPage(_THREADS, PagedThreadRow, *_LATEST_FIRST, ids=ids),
        named=PreparedQuery(named.order_by(*_LATEST_FIRST), ThreadRow),
        mark=update(notification)
        .where(notification.c.id.in_(ids), notification.c.status != bindparam("other"))
        .values(status=bindparam("other"))
        .returning(notification.c.id),
    )


async def list_page(db: Executor, filters: ThreadFilter, page: Slice) -> tuple[Sequence[ThreadRow], int]:
    """A page of threads, the latest first, and how many there are."""
    return await _statements(filters.shape).page.read(db, page, **filters.values)


async def count(db: Executor, filters: ThreadFilter) -> int:
    """How many threads there are."""
    return await _statements(filters.shape).page.count(db, **filters.values)


async def list_by_ids(db: Executor, filters: ThreadFilter, ids: Collection[int]) -> Sequence[ThreadRow]:
    """These threads as they are now, the latest first."""
    anything = msgspec.structs.replace(filters, statuses=list(NotificationStatus), since=None, before=None)
    return await _statements(anything.shape).named.all(db, **anything.values, ids=list(ids))


async def mark(db: Executor, filters: ThreadFilter, status: NotificationStatus) -> list[int]:
    """Give threads another status; the ids of those that had another one."""
    values = {**filters.values, "other": status.value}
    return list((await db.execute(_statements(filters.shape).mark, values)).scalars())
