"""SQL for notifications: one thread for each person and issue, which new activity makes unread again."""

from collections.abc import Collection, Sequence
from datetime import datetime

import msgspec
from sqlalchemy import ColumnElement, Select, case, select, update

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import Slice, TypedRow, fetch_all, fetch_count, fetch_page
from ingot_chassis.db.transaction import insert
from ingot_issues.store.states import NotificationStatus, State
from ingot_issues.store.tables import issue, notification, pull, repository


class ThreadRow(TypedRow):
    """A notification with its issue; ``merged`` is null where that is no pull request."""

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


class ThreadFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which threads of a person a list shows, or a change concerns. None does not filter."""

    account_id: int
    repository_ids: Collection[int]
    statuses: Sequence[NotificationStatus]
    is_pull: bool | None = None
    since: datetime | None = None
    before: datetime | None = None
    thread_id: int | None = None


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


async def list_repositories(db: Executor, account_id: int) -> list[int]:
    """The repositories of somebody's threads."""
    statement = select(notification.c.repository_id).where(notification.c.account_id == account_id)
    return list((await db.execute(statement.distinct())).scalars())


def _conditions(filters: ThreadFilter) -> list[ColumnElement[bool]]:
    """Threads of a unit that is switched off are not shown."""
    is_enabled = case((issue.c.is_pull, repository.c.has_pulls), else_=repository.c.has_issues)
    where = [
        notification.c.account_id == filters.account_id,
        notification.c.repository_id.in_(filters.repository_ids),
        notification.c.status.in_(filters.statuses),
        is_enabled,
    ]
    if filters.is_pull is not None:
        where.append(issue.c.is_pull.is_(filters.is_pull))
    if filters.since is not None:
        where.append(notification.c.updated_at >= filters.since)
    if filters.before is not None:
        where.append(notification.c.updated_at <= filters.before)
    if filters.thread_id is not None:
        where.append(notification.c.id == filters.thread_id)
    return where


def _threads(filters: ThreadFilter) -> Select[tuple[object, ...]]:
    return (
        select(
            notification.c.id,
            notification.c.repository_id,
            notification.c.status,
            notification.c.comment_id,
            notification.c.updated_at,
            issue.c.number,
            issue.c.title,
            issue.c.state,
            issue.c.is_pull,
            pull.c.merged,
        )
        .join(issue, issue.c.id == notification.c.issue_id)
        .join(repository, repository.c.id == notification.c.repository_id)
        .outerjoin(pull, pull.c.issue_id == issue.c.id)
        .where(*_conditions(filters))
    )


async def list_page(db: Executor, filters: ThreadFilter, page: Slice) -> tuple[Sequence[ThreadRow], int]:
    """A page of threads, the latest first, and how many there are."""
    latest = _threads(filters).order_by(notification.c.updated_at.desc(), notification.c.id.desc())
    return await fetch_page(db, latest, page, ThreadRow)


async def count(db: Executor, filters: ThreadFilter) -> int:
    """How many threads there are."""
    return await fetch_count(db, _threads(filters))


async def list_by_ids(db: Executor, filters: ThreadFilter, ids: Collection[int]) -> Sequence[ThreadRow]:
    """These threads as they are now, the latest first."""
    anything = msgspec.structs.replace(filters, statuses=list(NotificationStatus), since=None, before=None)
    statement = _threads(anything).where(notification.c.id.in_(ids))
    return await fetch_all(
        db, statement.order_by(notification.c.updated_at.desc(), notification.c.id.desc()), ThreadRow
    )


async def mark(db: Executor, filters: ThreadFilter, status: NotificationStatus) -> list[int]:
    """Give threads another status; the ids of those that had another one."""
    ids = _threads(filters).with_only_columns(notification.c.id)
    statement = (
        update(notification)
        .where(notification.c.id.in_(ids), notification.c.status != status)
        .values(status=status)
    )
    return list((await db.execute(statement.returning(notification.c.id))).scalars())
