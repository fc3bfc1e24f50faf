"""SQL for lists of issues and pull requests in many repositories."""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import (
    ColumnElement,
    CompoundSelect,
    Integer,
    and_,
    bindparam,
    case,
    exists,
    func,
    literal_column,
    or_,
    select,
    union,
)

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery
from ingot_chassis.db.rows import Slice, TypedRow, backward, fetch_all, fetch_count, walk_to
from ingot_issues.issues.store.assignees import assignee
from ingot_issues.issues.store.details import IssueDetails
from ingot_issues.issues.store.lists import IssueFilter, conditions, list_details
from ingot_issues.mentions.store import mention
from ingot_issues.records.store.states import StateFilter
from ingot_issues.records.store.tables import issue
from ingot_issues.records.store.texts import relevance
from ingot_issues.repositories.store.ids import is_among, of_units
from ingot_issues.repositories.store.tables import counter, repository
from ingot_issues.reviewers.store.states import ReviewState
from ingot_issues.reviewers.store.tables import review


class PersonalFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Relations of an account to issues. An issue matches if any selected relation holds.

    Without a selected relation, every issue matches. ``team_ids`` are teams of the account.
    """

    account_id: int = 0
    team_ids: Sequence[int] = ()
    created: bool = False
    assigned: bool = False
    mentioned: bool = False
    review_requested: bool = False
    reviewed: bool = False


class SearchedRepository(TypedRow):
    """A repository with issues, and their number.

    ``owner_id``, ``has_issues`` and ``has_pulls`` are None if there is no copy.
    """

    id: int
    owner_id: int | None
    has_issues: bool | None
    has_pulls: bool | None
    issues: int
    open_issues: int
    open_pulls: int


class SearchedRepositories(NamedTuple):
    """Repositories, and the ids of repositories whose issues or pull requests are switched off or hidden."""

    rows: Sequence[SearchedRepository]
    without_issues: Collection[int]
    without_pulls: Collection[int]


class IssueIdRow(TypedRow):
    """The id of an issue in a search."""

    id: int


class CountedIssueRow(IssueIdRow):
    """The id of an issue in a search, with the number of all matches."""

    total: int


_SEARCHED = (
    select(
        counter.c.repository_id.label("id"),
        repository.c.owner_id,
        repository.c.has_issues,
        repository.c.has_pulls,
        (counter.c.last_number - counter.c.deleted_issues).label("issues"),
        counter.c.open_issues,
        counter.c.open_pulls,
    )
    .outerjoin(repository, repository.c.id == counter.c.repository_id)
    .where(counter.c.last_number > literal_column("0"), counter.c.gone.is_(False))
    .order_by(counter.c.repository_id.desc())
    .limit(bindparam("limit", type_=Integer))
)
_LATEST = PreparedQuery(_SEARCHED, SearchedRepository)


async def list_repositories(
    db: Executor, limit: int, personal: PersonalFilter
) -> Sequence[SearchedRepository]:
    """Return at most ``limit`` repositories with issues that may match ``personal``, the latest first."""
    own = _repositories_of(personal)
    if own is None:
        return await _LATEST.all(db, limit=limit)
    statement = _SEARCHED.where(counter.c.repository_id.in_(own))
    return await fetch_all(db, statement, SearchedRepository, limit=limit)


def _repositories_of(personal: PersonalFilter) -> CompoundSelect[int] | None:
    """Return a SELECT of the ids of repositories that may match ``personal``; None if it selects no relation.

    The SELECT uses one index per relation.
    """
    repositories = select(issue.c.repository_id)
    of_account = [repositories.where(issue.c.author_id == personal.account_id)] if personal.created else []
    if personal.assigned:
        of_account.append(repositories.join(assignee).where(assignee.c.account_id == personal.account_id))
    if personal.mentioned:
        of_account.append(repositories.join(mention).where(mention.c.account_id == personal.account_id))
    if personal.review_requested or personal.reviewed:
        reviews = repositories.join(review)
        of_account.append(reviews.where(review.c.author_id == personal.account_id))
        of_account.append(reviews.where(review.c.team_id.in_(personal.team_ids)))
    return union(*of_account) if of_account else None


async def list_page(
    db: Executor,
    repositories: SearchedRepositories,
    filters: IssueFilter,
    personal: PersonalFilter,
    page: Slice,
    *,
    first_repository_id: int = 0,
) -> tuple[list[IssueDetails], int]:
    """Return a page of issues of these repositories, and their number. The latest come first.

    Issues of the repository ``first_repository_id``, and then issues by relevance, come before the others.
    """
    if not repositories.rows:
        return [], 0
    ids = [one.id for one in repositories.rows]
    more = [*conditions(None, filters, ids), *_personal_conditions(personal)]
    matching = select(issue.c.id).where(
        *of_units(
            issue.c.repository_id, issue.c.is_pull, repositories.without_issues, repositories.without_pulls
        ),
        *more,
    )
    if not filters.text:  # otherwise the matches are already limited to these repositories
        matching = matching.where(is_among(issue.c.repository_id, ids))
    if filters.is_pull is not None:
        matching = matching.where(issue.c.is_pull.is_(filters.is_pull))
    if filters.state != StateFilter.ALL:
        matching = matching.where(issue.c.state == filters.state)
    order: list[ColumnElement[Any]] = [issue.c.id.desc()]
    if filters.is_by_relevance:
        order.insert(0, relevance(filters.text))
    if first_repository_id:
        order.insert(0, case((issue.c.repository_id == first_repository_id, 0), else_=1))
    if filters.text:
        statement = matching.order_by(*order).limit(page.limit).offset(page.offset)
        # A text search is bounded, and it costs more than counting its matches.
        counted = await fetch_all(
            db, statement.add_columns(func.count().over().label("total")), CountedIssueRow
        )
        total = counted[0].total if counted else await fetch_count(db, matching)
        return await list_details(db, [row.id for row in counted]), total
    number = None if more else _counted(repositories, filters)
    total = number if number is not None else await fetch_count(db, matching)
    walk = walk_to(page, total)
    statement = matching.order_by(*(backward(*order) if walk.backwards else order))
    rows = await fetch_all(db, statement.limit(walk.limit).offset(walk.offset), IssueIdRow)
    ids = [row.id for row in rows]
    return await list_details(db, ids[::-1] if walk.backwards else ids), total


def _counted(repositories: SearchedRepositories, filters: IssueFilter) -> int | None:
    """Return the number of issues by the counters of the repositories; None if the rows must be counted."""
    rows, without_issues, without_pulls = repositories
    if filters.state == StateFilter.OPEN:
        issues = sum(one.open_issues for one in rows if one.id not in without_issues and not filters.is_pull)
        pulls = sum(
            one.open_pulls for one in rows if one.id not in without_pulls and filters.is_pull is not False
        )
        return issues + pulls
    if filters.is_pull is not None or without_issues or without_pulls:
        return None
    total = sum(one.issues for one in rows)
    if filters.state == StateFilter.ALL:
        return total
    return total - sum(one.open_issues + one.open_pulls for one in rows)


def _personal_conditions(personal: PersonalFilter) -> list[ColumnElement[bool]]:
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
        # Requests to teams have no author, like anonymous callers have no account.
        is_for_one = and_(review.c.team_id.is_(None), review.c.author_id == personal.account_id)
        is_own = or_(is_for_one, review.c.team_id.in_(personal.team_ids))
        is_request = and_(review.c.issue_id == issue.c.id, review.c.state == ReviewState.REQUEST_REVIEW)
        relations.append(exists().where(is_request, is_own))
    if personal.reviewed:
        written = (ReviewState.APPROVED, ReviewState.COMMENT, ReviewState.REQUEST_CHANGES)
        relations.append(exists().where(own_review, review.c.state.in_(written)))
    return [or_(*relations)] if relations else []
