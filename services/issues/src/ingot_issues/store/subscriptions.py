"""SQL for who wants to hear of an issue: those who take part in it, and those who said so, without those who said no."""

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import CompoundSelect, select, union

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import Slice, TypedRow, fetch_first, fetch_page
from ingot_chassis.db.tables import now
from ingot_chassis.db.transaction import insert
from ingot_issues.store.accounts import PERSON_COLUMNS, PersonRow
from ingot_issues.store.comments import CommentKind
from ingot_issues.store.tables import account, assignee, comment, issue, issue_subscription, review


class SubscriptionRow(TypedRow):
    """What somebody said: whether they want to hear of an issue."""

    subscribed: bool
    created_at: datetime


def _participants(issue_id: int) -> CompoundSelect[int]:
    """The author, the assignees, and who has commented or reviewed."""
    return union(
        select(issue.c.author_id.label("account_id")).where(issue.c.id == issue_id),
        select(assignee.c.account_id).where(assignee.c.issue_id == issue_id),
        select(comment.c.author_id).where(
            comment.c.issue_id == issue_id, comment.c.kind == CommentKind.COMMENT
        ),
        select(review.c.author_id).where(review.c.issue_id == issue_id, review.c.author_id != 0),
        select(issue_subscription.c.account_id).where(
            issue_subscription.c.issue_id == issue_id, issue_subscription.c.subscribed
        ),
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
    refusals = select(issue_subscription.c.account_id).where(
        issue_subscription.c.issue_id == issue_id, issue_subscription.c.subscribed.is_(False)
    )
    people = _participants(issue_id).subquery()
    statement = select(people.c.account_id).where(people.c.account_id.not_in(refusals))
    return set((await db.execute(statement)).scalars())


async def list_page(db: Executor, issue_id: int, page: Slice) -> tuple[Sequence[PersonRow], int]:
    """A page of those who hear of an issue by id, and how many there are. A deleted account is not among them."""
    refusals = select(issue_subscription.c.account_id).where(
        issue_subscription.c.issue_id == issue_id, issue_subscription.c.subscribed.is_(False)
    )
    people = _participants(issue_id).subquery()
    statement = select(*PERSON_COLUMNS).where(
        account.c.id.in_(select(people.c.account_id)), account.c.id.not_in(refusals)
    )
    return await fetch_page(db, statement.order_by(account.c.id), page, PersonRow)


async def list_willing_ids(db: Executor, issue_id: int, account_ids: Collection[int]) -> set[int]:
    """These people without those who said that they do not want to hear of the issue."""
    if not account_ids:
        return set()
    statement = select(issue_subscription.c.account_id).where(
        issue_subscription.c.issue_id == issue_id,
        issue_subscription.c.account_id.in_(account_ids),
        issue_subscription.c.subscribed.is_(False),
    )
    return set(account_ids) - set((await db.execute(statement)).scalars())
