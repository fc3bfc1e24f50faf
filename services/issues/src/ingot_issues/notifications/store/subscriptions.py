"""SQL for subscribers of an issue: participants and explicit subscribers, minus explicit unsubscribers."""

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import (
    Boolean,
    Column,
    ColumnElement,
    ForeignKey,
    Integer,
    Table,
    bindparam,
    literal_column,
    select,
    union,
    union_all,
)

from ingot_chassis.clock import now
from ingot_chassis.db.arrays import any_of
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery
from ingot_chassis.db.rows import Slice, TypedRow, fetch_first, fetch_page
from ingot_chassis.db.tables import BigId, UtcDateTime
from ingot_chassis.db.transaction import insert
from ingot_issues.accounts.store import PERSON_COLUMNS, PersonRow, account
from ingot_issues.issues.store.assignees import assignee
from ingot_issues.records.store.tables import comment, issue
from ingot_issues.records.store.timeline import CommentKind
from ingot_issues.reviewers.store.tables import review
from ingot_issues.schema import metadata

issue_subscription = Table(
    "issue_subscription",
    metadata,
    Column("issue_id", BigId, ForeignKey("issue.id", ondelete="CASCADE"), primary_key=True),
    Column("account_id", BigId, primary_key=True),
    Column("subscribed", Boolean, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
)


class SubscriptionRow(TypedRow):
    """An explicit subscription to an issue, or an explicit unsubscription."""

    subscribed: bool
    created_at: datetime


class AccountIdRow(TypedRow):
    """The account of a subscriber."""

    account_id: int


class ChoiceRow(AccountIdRow):
    """The account of a subscriber, or of a person who unsubscribed."""

    is_subscribed: int


_ISSUE = bindparam("issue_id", type_=BigId)
_PARTICIPANTS = union(
    select(issue.c.author_id.label("account_id")).where(issue.c.id == _ISSUE),
    select(assignee.c.account_id).where(assignee.c.issue_id == _ISSUE),
    select(comment.c.author_id).where(
        comment.c.issue_id == _ISSUE, comment.c.kind == literal_column(str(CommentKind.COMMENT.value))
    ),
    select(review.c.author_id).where(review.c.issue_id == _ISSUE, review.c.author_id != literal_column("0")),
    select(issue_subscription.c.account_id).where(
        issue_subscription.c.issue_id == _ISSUE, issue_subscription.c.subscribed
    ),
).subquery()
"""Ids of the author, the assignees, commenters, reviewers, and explicit subscribers."""

_UNSUBSCRIBED_IDS = select(issue_subscription.c.account_id).where(
    issue_subscription.c.issue_id == _ISSUE, issue_subscription.c.subscribed.is_(False)
)
_SUBSCRIBED = select(_PARTICIPANTS.c.account_id).where(_PARTICIPANTS.c.account_id.not_in(_UNSUBSCRIBED_IDS))
_SUBSCRIBERS = PreparedQuery(_SUBSCRIBED, AccountIdRow)
_UNSUBSCRIBED_AMONG = _UNSUBSCRIBED_IDS.where(any_of(issue_subscription.c.account_id, "ids"))
_UNSUBSCRIBED = PreparedQuery(_UNSUBSCRIBED_AMONG, AccountIdRow)
_YES: ColumnElement[int] = literal_column("1", Integer)
_NO: ColumnElement[int] = literal_column("0", Integer)
_ALL_CHOICES = union_all(
    _SUBSCRIBED.add_columns(_YES.label("is_subscribed")),
    _UNSUBSCRIBED_AMONG.add_columns(_NO.label("is_subscribed")),
).subquery("choices")
_CHOICES = PreparedQuery(
    select(_ALL_CHOICES.c.account_id, _ALL_CHOICES.c.is_subscribed.label("is_subscribed")), ChoiceRow
)


async def get(db: Executor, issue_id: int, account_id: int) -> SubscriptionRow | None:
    statement = select(issue_subscription).where(
        issue_subscription.c.issue_id == issue_id, issue_subscription.c.account_id == account_id
    )
    return await fetch_first(db, statement, SubscriptionRow)


async def save(db: Executor, issue_id: int, account_id: int, *, subscribed: bool) -> None:
    """Save an explicit subscription to an issue, or an explicit unsubscription."""
    values = {"subscribed": subscribed, "created_at": now()}
    statement = insert(db, issue_subscription).values(issue_id=issue_id, account_id=account_id, **values)
    await db.execute(statement.on_conflict_do_update(index_elements=["issue_id", "account_id"], set_=values))


async def list_subscriber_ids(db: Executor, issue_id: int) -> set[int]:
    """Return the ids of all subscribers of an issue."""
    return {row.account_id for row in await _SUBSCRIBERS.all(db, issue_id=issue_id)}


async def list_page(db: Executor, issue_id: int, page: Slice) -> tuple[Sequence[PersonRow], int]:
    """Return a page of the subscribers by id, and their number. Deleted accounts are omitted."""
    statement = select(*PERSON_COLUMNS).where(
        account.c.id.in_(select(_PARTICIPANTS.c.account_id)), account.c.id.not_in(_UNSUBSCRIBED_IDS)
    )
    return await fetch_page(db, statement.params(issue_id=issue_id), page, PersonRow, account.c.id)


async def without_unsubscribed(db: Executor, issue_id: int, account_ids: Collection[int]) -> set[int]:
    """Return the members of ``account_ids`` that have not unsubscribed from the issue."""
    if not account_ids:
        return set()
    unwilling = await _UNSUBSCRIBED.all(db, issue_id=issue_id, ids=list(account_ids))
    return set(account_ids) - {row.account_id for row in unwilling}


async def list_subscriptions_of(
    db: Executor, issue_id: int, account_ids: Collection[int]
) -> tuple[set[int], set[int]]:
    """Return the subscribers of an issue, and the members of ``account_ids`` that have unsubscribed."""
    rows = await _CHOICES.all(db, issue_id=issue_id, ids=list(account_ids))
    return (
        {row.account_id for row in rows if row.is_subscribed},
        {row.account_id for row in rows if not row.is_subscribed},
    )
