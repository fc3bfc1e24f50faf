"""SQL for notifications: one thread per person and issue. A new event makes the thread unread again."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import msgspec
from sqlalchemy import (
    Column,
    ColumnElement,
    ForeignKey,
    Index,
    Select,
    String,
    Table,
    TextClause,
    UniqueConstraint,
    Update,
    bindparam,
    case,
    not_,
    or_,
    select,
    text,
    update,
)

from ingot_chassis.db.arrays import any_of
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery
from ingot_chassis.db.prepared_pages import PreparedPage
from ingot_chassis.db.rows import Slice, TotalRow, TypedRow
from ingot_chassis.db.tables import LASTING_IDS, BigId, UtcDateTime, partial_index
from ingot_chassis.db.transaction import insert
from ingot_contracts.issues.notices import NoticeReason
from ingot_issues.records.store.states import State
from ingot_issues.records.store.tables import comment, issue, pull
from ingot_issues.repositories.store.ids import RepositoryIdRow
from ingot_issues.repositories.store.tables import repository
from ingot_issues.schema import metadata


class NotificationStatus(StrEnum):
    """Values of the column ``status`` of a notification."""

    UNREAD = "unread"
    READ = "read"
    PINNED = "pinned"


notification = Table(
    "notification",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("account_id", BigId, nullable=False),
    Column("repository_id", BigId, nullable=False),
    Column("issue_id", BigId, ForeignKey("issue.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("comment_id", BigId),
    Column("status", String(6), nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    Column("reason", String(13), nullable=False, server_default=""),
    UniqueConstraint("account_id", "issue_id"),
    Index("ix_notification_listed", "account_id", "updated_at"),
    # Read threads are left out, since their number grows for ever. It has all columns that filter and count a
    # list.
    partial_index(
        "ix_notification_not_read",
        "status <> 'read'",
        *("account_id", "updated_at", "id", "repository_id", "status", "issue_id"),
    ),
    **LASTING_IDS,
)


class ThreadRow(TypedRow):
    """A notification with its issue. ``merged`` is null for an issue.

    ``reason`` is empty for a notification of an older release.
    """

    id: int
    repository_id: int
    status: NotificationStatus
    comment_id: int | None
    updated_at: datetime
    reason: NoticeReason | Literal[""]
    number: int
    title: str
    state: State
    is_pull: bool
    merged: bool | None


class PagedThreadRow(ThreadRow, TotalRow):
    """A thread in a page, with the total number."""


class _Shape(NamedTuple):
    """The fields of a filter that change the statement."""

    is_pull: bool | None
    since: bool
    before: bool
    by_id: bool
    without_read: bool
    by_unit: bool
    reasons: bool


class _Statements(NamedTuple):
    """The statements for filters of one shape."""

    page: PreparedPage[PagedThreadRow]
    named: PreparedQuery[ThreadRow]
    mark: Update


class ThreadFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions for threads of a person. None and empty sequences do not filter.

    Issues of the repositories ``without_issues`` never match, and pull requests of ``without_pulls`` never
    match.
    """

    account_id: int
    repository_ids: Collection[int]
    statuses: Sequence[NotificationStatus]
    without_issues: Collection[int] = ()
    without_pulls: Collection[int] = ()
    is_pull: bool | None = None
    since: datetime | None = None
    before: datetime | None = None
    thread_ids: Sequence[int] = ()
    reasons: Sequence[str] = ()

    @property
    def shape(self) -> _Shape:
        return _Shape(
            is_pull=self.is_pull,
            since=self.since is not None,
            before=self.before is not None,
            by_id=bool(self.thread_ids),
            without_read=NotificationStatus.READ not in self.statuses,
            by_unit=bool(self.without_issues or self.without_pulls),
            reasons=bool(self.reasons),
        )

    @property
    def values(self) -> dict[str, object]:
        """Return the parameters of the statements."""
        hidden = {"without_issues": list(self.without_issues), "without_pulls": list(self.without_pulls)}
        optional = {"since": self.since, "before": self.before}
        return {
            "account": self.account_id,
            "repository_ids": list(self.repository_ids),
            "statuses": list(self.statuses),
            **(hidden if self.shape.by_unit else {}),
            **({"reasons": list(self.reasons)} if self.reasons else {}),
            **({"threads": list(self.thread_ids)} if self.thread_ids else {}),
            **{name: value for name, value in optional.items() if value is not None},
        }


async def save(
    db: Executor,
    reasons: Mapping[int, NoticeReason],
    repository_id: int,
    issue_id: int,
    comment_id: int,
    at: datetime,
) -> None:
    """Save the notifications of an event of an issue. ``reasons`` has the reason for each account.

    The event makes threads unread again, except pinned threads. Its reason replaces earlier reasons.
    """
    if not reasons:
        return
    rows = [
        {
            "account_id": account_id,
            "repository_id": repository_id,
            "issue_id": issue_id,
            "comment_id": comment_id or None,
            "status": NotificationStatus.UNREAD,
            "updated_at": at,
            "reason": reason,
        }
        for account_id, reason in sorted(reasons.items())
    ]
    statement = insert(db, notification).values(rows)
    is_pinned = notification.c.status == NotificationStatus.PINNED
    stays = case((is_pinned, NotificationStatus.PINNED.value), else_=NotificationStatus.UNREAD.value)
    await db.execute(
        statement.on_conflict_do_update(
            index_elements=["account_id", "issue_id"],
            set_={
                "status": stays,
                "comment_id": comment_id or None,
                "updated_at": at,
                "reason": statement.excluded.reason,
            },
        )
    )


# Literals, not parameters: a partial index needs a condition that the database can read.
_IS_NOT_READ = text("notification.status <> 'read'")
_OWN = select(notification.c.repository_id).where(
    notification.c.account_id == bindparam("account", type_=BigId)
)
_REPOSITORIES = PreparedQuery(_OWN.distinct(), RepositoryIdRow)
_REPOSITORIES_WITHOUT_READ = PreparedQuery(_OWN.where(_IS_NOT_READ).distinct(), RepositoryIdRow)


async def list_repositories(
    db: Executor, account_id: int, statuses: Collection[NotificationStatus]
) -> list[int]:
    """Return the ids of repositories with threads of one of ``statuses``.

    Other repositories may be included.
    """
    has_read = NotificationStatus.READ in statuses
    query = _REPOSITORIES if has_read else _REPOSITORIES_WITHOUT_READ
    return [row.repository_id for row in await query.all(db, account=account_id)]


_LATEST_FIRST = (notification.c.updated_at.desc(), notification.c.id.desc())


def _matching(*columns: ColumnElement[Any], shape: _Shape) -> Select[Any]:
    """Return a SELECT of threads in enabled units.

    Most repositories have all units, so their threads need no check of the issue. Other threads are checked
    one by one: with a join, PostgreSQL may scan all issues.
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
    if shape.by_unit:
        is_hidden = case(
            (issue.c.is_pull, any_of(issue.c.repository_id, "without_pulls")),
            else_=any_of(issue.c.repository_id, "without_issues"),
        )
        hidden = select(issue.c.id).where(issue.c.id == notification.c.issue_id, is_hidden)
        where.append(not_(hidden.correlate(notification).exists()))
    if shape.without_read:
        where.append(_IS_NOT_READ)
    if shape.since:
        where.append(notification.c.updated_at >= bindparam("since", type_=UtcDateTime))
    if shape.before:
        where.append(notification.c.updated_at <= bindparam("before", type_=UtcDateTime))
    if shape.reasons:
        where.append(any_of(notification.c.reason, "reasons"))
    if shape.by_id:
        where.append(any_of(notification.c.id, "threads"))
    return select(*columns).select_from(notification).where(*where)


_THREADS = (
    select(
        notification.c.id,
        notification.c.repository_id,
        notification.c.status,
        comment.c.id.label("comment_id"),
        notification.c.updated_at,
        notification.c.reason,
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
    """Return the statements for filters of one shape.

    Statements are cached, because building them costs more than running them.
    """
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
    """Return a page of threads, the latest first, and their number."""
    return await _statements(filters.shape).page.read(db, page, **filters.values)


async def count(db: Executor, filters: ThreadFilter) -> int:
    """Return the number of threads that match."""
    return await _statements(filters.shape).page.count(db, **filters.values)


async def list_by_ids(db: Executor, filters: ThreadFilter, ids: Collection[int]) -> Sequence[ThreadRow]:
    """Return the current state of these threads, the latest first."""
    anything = msgspec.structs.replace(filters, statuses=list(NotificationStatus), since=None, before=None)
    return await _statements(anything.shape).named.all(db, **anything.values, ids=list(ids))


async def mark(db: Executor, filters: ThreadFilter, status: NotificationStatus) -> list[int]:
    """Change the status of threads. Return the ids of changed threads."""
    values = {**filters.values, "other": status.value}
    return list((await db.execute(_statements(filters.shape).mark, values)).scalars())
