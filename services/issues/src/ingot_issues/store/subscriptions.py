"""SQL for who wants to hear of an issue: those who take part in it, and those who said so, without those who said no."""

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, Integer, bindparam, literal_column, select, union, union_all

from ingot_chassis.clock import now
from ingot_chassis.db.arrays import any_of
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery
from ingot_chassis.db.rows import Slice, TypedRow, fetch_first, fetch_page
from ingot_chassis.db.tables import BigId
from ingot_chassis.db.transaction import insert
from ingot_issues.store.accounts import PERSON_COLUMNS, PersonRow
from ingot_issues.store.comments import CommentKind
from ingot_issues.store.tables import account, assignee, comment, issue, issue_subscription, review


class SubscriptionRow(TypedRow):
    """What somebody said: whether they want to hear of an issue."""

    subscribed: bool
    created_at: datetime


class AccountIdRow(TypedRow):
    """Somebody who hears of an issue."""

    account_id: int


class OpinionRow(AccountIdRow):
    """Somebody who hears of an issue or, not ``hears``, said that they do not want to."""

    hears: int


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
"""The author, the assignees, who has commented or reviewed, and who said that they want to hear of the issue."""

_REFUSALS = select(issue_subscription.c.account_id).where(
    issue_subscription.c.issue_id == _ISSUE, issue_subscription.c.subscribed.is_(False)
)
_WILLING = select(_PARTICIPANTS.c.account_id).where(_PARTICIPANTS.c.account_id.not_in(_REFUSALS))
_SUBSCRIBERS = PreparedQuery(_WILLING, AccountIdRow)
_REFUSALS_AMONG = _REFUSALS.where(any_of(issue_subscription.c.account_id, "ids"))
_UNWILLING = PreparedQuery(_REFUSALS_AMONG, AccountIdRow)
_YES: ColumnElement[int] = literal_column("1", Integer)
_NO: ColumnElement[int] = literal_column("0", Integer)
_ALL_OPINIONS = union_all(
    _WILLING.add_columns(_YES.label("hears")), _REFUSALS_AMONG.add_columns(_NO.label("hears"))
).subquery("opinions")
_OPINIONS = PreparedQuery(
    select(_ALL_OPINIONS.c.account_id, _ALL_OPINIONS.c.hears.label("hears")), OpinionRow
)


async def get(db: Executor, issue_id: int, account_id: int) -> SubscriptionRow | None:
    statement = select(issue_subscription).where(
        issue_subscription.c.issue_id == issue_id, issue_subscription.c.account_id == account_id
    )
    return await fetch_first(db, statement, SubscriptionRow)


async def save(db: Executor, issue_id: int, account_id: int, *, subscribed: bool) -> None:
    """Write down that somebody wants to hear of an issue, or does not."""
    values = {"subscribed": subscribed, "created_at": now()}
    statement = insert(db, issue_subscription).values(issue_id=issue_id, account_id=account_id, **values)
    await db.execute(statement.on_conflict_do_update(index_elements=["issue_id", "account_id"], set_=values))


async def list_subscriber_ids(db: Executor, issue_id: int) -> set[int]:
    """Everybody who hears of an issue."""
    return {row.account_id for row in await _SUBSCRIBERS.all(db, issue_id=issue_id)}


async def list_page(db: Executor, issue_id: int, page: Slice) -> tuple[Sequence[PersonRow], int]:
    """A page of those who hear of an issue by id, and how many there are. A deleted account is not among them."""
    statement = select(*PERSON_COLUMNS).where(
        account.c.id.in_(select(_PARTICIPANTS.c.account_id)), account.c.id.not_in(_REFUSALS)
    )
    return await fetch_page(db, statement.params(issue_id=issue_id), page, PersonRow, account.c.id)


async def list_willing_ids(db: Executor, issue_id: int, account_ids: Collection[int]) -> set[int]:
    """These people without those who said that they do not want to hear of the issue."""
    if not account_ids:
        return set()
    unwilling = await _UNWILLING.all(db, issue_id=issue_id, ids=list(account_ids))
    return set(account_ids) - {row.account_id for row in unwilling}


async def list_opinions(
    db: Executor, issue_id: int, account_ids: Collection[int]
) -> tuple[set[int], set[int]]:
    """Everybody who hears of an issue, and who of these people said that they do not want to."""
    rows = await _OPINIONS.all(db, issue_id=issue_id, ids=list(account_ids))
    return ({row.account_id for row in rows if row.hears}, {row.account_id for row in rows if not row.hears})
