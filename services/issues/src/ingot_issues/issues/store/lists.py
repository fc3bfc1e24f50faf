"""SQL for lists of issues and pull requests."""

from collections.abc import Collection, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Select, Table, bindparam, func, literal_column, select, true

from ingot_chassis.db.arrays import any_of
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery
from ingot_chassis.db.prepared_pages import PreparedPage
from ingot_chassis.db.rows import Slice, TotalRow, count_of, fetch_all
from ingot_chassis.db.tables import BigId
from ingot_issues.accounts.store import account
from ingot_issues.issues.store.assignees import assignee
from ingot_issues.issues.store.details import DETAILS, DetailsRow, IssueDetails, details_of
from ingot_issues.labels.store.tables import issue_label, label
from ingot_issues.mentions.store import mention
from ingot_issues.milestones import store as milestones
from ingot_issues.records.store.states import StateFilter
from ingot_issues.records.store.tables import issue, pull
from ingot_issues.records.store.texts import contains_text, relevance, uses_index
from ingot_issues.repositories.store.tables import counter

SORTS: dict[str, tuple[ColumnElement[Any], ...]] = {
    "newest": (issue.c.number.desc(),),
    "oldest": (issue.c.number.asc(),),
    "recentupdate": (issue.c.updated_at.desc(), issue.c.id.desc()),
    "leastupdate": (issue.c.updated_at.asc(), issue.c.id.asc()),
    "mostcomment": (issue.c.comments.desc(), issue.c.id.desc()),
    "leastcomment": (issue.c.comments.asc(), issue.c.id.desc()),
    "recentclose": (issue.c.closed_at.desc().nulls_last(), issue.c.id.desc()),
}
RELEVANCE = "relevance"


def _has_no_row_in(table: Table) -> ColumnElement[bool]:
    """Return the condition for issues without a row in a table whose key begins with the issue.

    The condition is a subquery per issue. Otherwise PostgreSQL would scan the whole table.
    """
    hanging = select(table.c.issue_id).where(table.c.issue_id == issue.c.id).limit(literal_column("1"))
    return hanging.scalar_subquery().is_(None)


ABSENCES: dict[str, ColumnElement[bool]] = {
    "labels": _has_no_row_in(issue_label),
    "milestone": issue.c.milestone_id.is_(None),
    "assignee": _has_no_row_in(assignee),
}
"""Conditions for issues without labels, milestone or assignees, by API name."""


class IssueFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions of a list of issues. An empty field does not filter.

    An issue must have all labels of ``label_names``, and any label of ``label_ids``. ``without`` has names of
    ABSENCES. ``sort`` is one of ``SORTS``, or RELEVANCE, which needs a text.
    """

    is_pull: bool | None = None
    state: StateFilter = StateFilter.OPEN
    label_names: Sequence[str] = ()
    label_ids: Sequence[int] = ()
    milestone_ids: Sequence[int] = ()
    milestone_titles: Sequence[str] = ()
    without: Sequence[str] = ()
    text: str = ""
    since: datetime | None = None
    before: datetime | None = None
    created_by: str = ""
    assigned_by: str = ""
    mentioned_by: str = ""
    base_branch: str = ""
    sort: str = "newest"

    @property
    def is_by_relevance(self) -> bool:
        return bool(self.text) and self.sort == RELEVANCE


class _ListedDetailsRow(DetailsRow, TotalRow):
    """The details of an issue in a list, with the total number."""


class _IdAndTotalRow(TotalRow):
    """The id of an issue in a list, with the total number."""

    id: int


_NUMBER_OF_ALL = counter.c.last_number - counter.c.deleted_issues
_COUNTED_TOTAL: dict[tuple[bool | None, StateFilter], Select[int]] = {
    which: select(number.label("total")).where(
        counter.c.repository_id == bindparam("repository_id", type_=BigId)
    )
    for which, number in {
        (None, StateFilter.OPEN): counter.c.open_issues + counter.c.open_pulls,
        (None, StateFilter.CLOSED): _NUMBER_OF_ALL - counter.c.open_issues - counter.c.open_pulls,
        (None, StateFilter.ALL): _NUMBER_OF_ALL,
        (False, StateFilter.OPEN): counter.c.open_issues,
        (True, StateFilter.OPEN): counter.c.open_pulls,
    }.items()
}
"""Totals from the repository's counter: every number is an issue, unless it is deleted."""


_DETAILS_BY_IDS = PreparedQuery(DETAILS.where(any_of(issue.c.id, "ids")), DetailsRow)


@lru_cache
def _ids(is_pull: bool | None, state: StateFilter) -> Select[int]:
    where: list[ColumnElement[bool]] = [issue.c.repository_id == bindparam("repository_id", type_=BigId)]
    if is_pull is not None:
        where.append(issue.c.is_pull.is_(is_pull))
    if state != StateFilter.ALL:
        where.append(issue.c.state == bindparam("state"))
    return select(issue.c.id).where(*where)


@lru_cache(maxsize=128)
def _list(is_pull: bool | None, state: StateFilter, sort: str) -> PreparedPage[_ListedDetailsRow]:
    """Return the query for pages of issues with no conditions except kind and state.

    Queries are cached, because building one costs more than running it.
    """
    counted = _COUNTED_TOTAL.get((is_pull, state))
    return PreparedPage(DETAILS, _ListedDetailsRow, *SORTS[sort], ids=_ids(is_pull, state), count=counted)


async def list_page(
    db: Executor, repository_id: int, filters: IssueFilter, page: Slice
) -> tuple[list[IssueDetails], int]:
    """Return a page of the issues of a repository, and the total number."""
    indexed = not filters.text or await uses_index(db, repository_id)
    where = conditions(repository_id, filters, indexed=indexed)
    sort = filters.sort if filters.sort in SORTS else "newest"
    parameters = {"repository_id": repository_id, "state": filters.state.value}
    if where:
        order = (relevance(filters.text), *SORTS["newest"]) if filters.is_by_relevance else SORTS[sort]
        ids = _ids(filters.is_pull, filters.state).where(*where).order_by(*order)
        return await _list_filtered(db, ids, page, parameters)
    listed = _list(filters.is_pull, filters.state, sort)
    rows, total = await listed.read(db, page, viewer=0, **parameters)
    return [details_of(row) for row in rows], total


async def _list_filtered(
    db: Executor, ids: Select[Any], page: Slice, parameters: dict[str, Any]
) -> tuple[list[IssueDetails], int]:
    """Return the page of a list with conditions, and the total number.

    One query returns both, unless the page is after the last row.
    """
    counted = ids.add_columns(func.count().over().label("total")).limit(page.limit).offset(page.offset)
    rows = await fetch_all(db, counted, _IdAndTotalRow, **parameters)
    issues = await list_details(db, [row.id for row in rows])
    if rows or not page.offset:
        return issues, rows[0].total if rows else 0
    return issues, int((await db.execute(count_of(ids), parameters)).scalar_one())


async def list_details(db: Executor, ids: Sequence[int]) -> list[IssueDetails]:
    """Return the details of these issues in this order. Deleted issues are omitted."""
    if not ids:
        return []
    rows = await _DETAILS_BY_IDS.all(db, ids=list(ids), viewer=0)
    by_id = {details.id: details for details in map(details_of, rows)}
    return [by_id[issue_id] for issue_id in ids if issue_id in by_id]


def conditions(
    repository_id: int | None,
    filters: IssueFilter,
    repository_ids: Collection[int] = (),
    *,
    indexed: bool = True,
) -> list[ColumnElement[bool]]:
    """Return the conditions of a filter, except state and kind.

    With ``repository_id`` None, issues of all ``repository_ids`` match.
    """
    if repository_id is not None:
        repository_ids = [repository_id]
    where: list[ColumnElement[bool]] = []
    if filters.text:
        where.append(contains_text(filters.text, repository_ids, indexed=indexed))
    if filters.since:
        where.append(issue.c.updated_at >= filters.since)
    if filters.before:
        where.append(issue.c.updated_at <= filters.before)
    if filters.base_branch:
        where.append(issue.c.id.in_(select(pull.c.issue_id).where(pull.c.base_branch == filters.base_branch)))
    if filters.created_by:
        where.append(issue.c.author_id.in_(_accounts(filters.created_by)))
    if filters.assigned_by:
        assigned = assignee.c.account_id.in_(_accounts(filters.assigned_by))
        where.append(issue.c.id.in_(select(assignee.c.issue_id).where(assigned)))
    if filters.mentioned_by:
        mentioned = mention.c.account_id.in_(_accounts(filters.mentioned_by))
        where.append(issue.c.id.in_(select(mention.c.issue_id).where(mentioned)))
    if filters.milestone_ids or filters.milestone_titles:
        where.append(
            milestones.contains_issue(repository_id, filters.milestone_ids, filters.milestone_titles)
        )
    where += [ABSENCES[name] for name in filters.without]
    return [*where, *_has_labels(repository_id, filters)]


def _accounts(login: str) -> Select[int]:
    return select(account.c.id).where(account.c.lower_login == login.lower())


def _has_labels(repository_id: int | None, filters: IssueFilter) -> list[ColumnElement[bool]]:
    """Return the condition for issues with every label of ``label_names`` and any label of ``label_ids``."""
    if not filters.label_names and not filters.label_ids:
        return []
    own = label.c.repository_id == repository_id
    usable = true() if repository_id is None else own | label.c.organization_id.is_not(None)

    def has_one(of_labels: ColumnElement[bool]) -> ColumnElement[bool]:
        labels = select(label.c.id).where(usable, of_labels)
        return issue.c.id.in_(select(issue_label.c.issue_id).where(issue_label.c.label_id.in_(labels)))

    where: list[ColumnElement[bool]] = []
    if filters.label_names:
        name, names = func.lower(label.c.name), {name.lower() for name in filters.label_names}
        has_name = name.in_(sorted(names))
        where.append(has_one(has_name))
        if len(names) > 1:
            # Correlated: PostgreSQL may repeat an uncorrelated count for each issue.
            count = select(func.count(name.distinct())).join_from(issue_label, label)
            of_issue = issue_label.c.issue_id == issue.c.id
            where.append(count.where(of_issue, usable, has_name).scalar_subquery() == len(names))
    if filters.label_ids:
        where.append(has_one(label.c.id.in_(filters.label_ids)))
    return where
