"""SQL for lists of issues and pull requests of many repositories, whose copies are there."""

from collections.abc import Collection, Sequence
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, and_, case, exists, func, or_, select

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import Slice, fetch_all, fetch_count
from ingot_issues.store.issues import DETAILS, DetailsRow, IssueDetails, details_of
from ingot_issues.store.searches import IssueFilter, conditions
from ingot_issues.store.states import ReviewState, StateFilter
from ingot_issues.store.tables import assignee, counter, issue, mention, repository, review


class PersonalFilter(msgspec.Struct, frozen=True, kw_only=True):
    """What an account has to do with the issues of a list: any of those that are True, or anything when none is.

    ``owner_id`` is the owner of the repositories, 0 for any. ``team_ids`` are teams of the account.
    """

    account_id: int = 0
    team_ids: Sequence[int] = ()
    created: bool = False
    assigned: bool = False
    mentioned: bool = False
    review_requested: bool = False
    reviewed: bool = False
    owner_id: int = 0


async def list_repositories(db: Executor, limit: int) -> Sequence[int]:
    """The ids of repositories that have issues, the latest first."""
    statement = select(counter.c.repository_id).where(counter.c.last_number > 0, counter.c.gone.is_(False))
    latest = statement.order_by(counter.c.repository_id.desc()).limit(limit)
    return list((await db.execute(latest)).scalars())


async def list_page(
    db: Executor,
    repository_ids: Collection[int],
    filters: IssueFilter,
    personal: PersonalFilter,
    page: Slice,
    *,
    first_repository_id: int = 0,
) -> tuple[list[IssueDetails], int]:
    """A page of the issues of these repositories, the newest first, and how many there are.

    Issues of the repository ``first_repository_id`` come before the others. Issues are left out where that unit of the repository is switched off.
    """
    more = [*conditions(None, filters, repository_ids), *_personal_conditions(personal)]
    matching = select(issue.c.id).join(repository, repository.c.id == issue.c.repository_id)
    matching = matching.where(
        issue.c.repository_id.in_(repository_ids),
        case((issue.c.is_pull, repository.c.has_pulls), else_=repository.c.has_issues),
        *more,
    )
    if filters.is_pull is not None:
        matching = matching.where(issue.c.is_pull.is_(filters.is_pull))
    if filters.state != StateFilter.ALL:
        matching = matching.where(issue.c.state == filters.state)
    order: list[ColumnElement[Any]] = [issue.c.id.desc()]
    if first_repository_id:
        order.insert(0, case((issue.c.repository_id == first_repository_id, 0), else_=1))
    ids = matching.order_by(*order).limit(page.limit).offset(page.offset)
    statement = DETAILS.where(issue.c.id.in_(ids)).order_by(*order)
    rows = await fetch_all(db, statement, DetailsRow, viewer=0)
    issues = [details_of(row) for row in rows]
    if not more and filters.state == StateFilter.OPEN:
        return issues, await _count_open(db, repository_ids, filters.is_pull)
    return issues, await fetch_count(db, matching)


async def _count_open(db: Executor, repository_ids: Collection[int], is_pull: bool | None) -> int:
    """How many issues are open in these repositories, as their counters say."""
    open_issues = case((repository.c.has_issues, counter.c.open_issues), else_=0)
    open_pulls = case((repository.c.has_pulls, counter.c.open_pulls), else_=0)
    number = open_issues + open_pulls if is_pull is None else open_pulls if is_pull else open_issues
    statement = (
        select(func.coalesce(func.sum(number), 0))
        .join(repository, repository.c.id == counter.c.repository_id)
        .where(counter.c.repository_id.in_(repository_ids))
    )
    return int((await db.execute(statement)).scalar_one())


def _personal_conditions(personal: PersonalFilter) -> list[ColumnElement[bool]]:
    where: list[ColumnElement[bool]] = []
    if personal.owner_id:
        where.append(repository.c.owner_id == personal.owner_id)
    relations: list[ColumnElement[bool]] = []
    if personal.created:
        relations.append(issue.c.author_id == personal.account_id)
    if personal.assigned:
        is_mine = and_(assignee.c.issue_id == issue.c.id, assignee.c.account_id == personal.account_id)
        relations.append(exists().where(is_mine))
    own_review = and_(review.c.issue_id == issue.c.id, review.c.author_id == personal.account_id)
    if personal.mentioned:
        is_named = and_(mention.c.issue_id == issue.c.id, mention.c.account_id == personal.account_id)
        relations.append(exists().where(is_named))
    if personal.review_requested:
        # Requests to teams have no author, as nobody has no account.
        is_for_one = and_(review.c.team_id.is_(None), review.c.author_id == personal.account_id)
        is_own = or_(is_for_one, review.c.team_id.in_(personal.team_ids))
        is_request = and_(review.c.issue_id == issue.c.id, review.c.state == ReviewState.REQUEST_REVIEW)
        relations.append(exists().where(is_request, is_own))
    if personal.reviewed:
        written = (ReviewState.APPROVED, ReviewState.COMMENT, ReviewState.REQUEST_CHANGES)
        relations.append(exists().where(own_review, review.c.state.in_(written)))
    return [*where, or_(*relations)] if relations else where
