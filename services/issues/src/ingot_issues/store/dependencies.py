"""SQL for dependencies: an issue is blocked by others until they are closed."""

from collections.abc import Collection

from sqlalchemy import BindParameter, Select, bindparam, delete, func, select

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery
from ingot_chassis.db.rows import Slice, TypedRow, fetch_page
from ingot_chassis.db.tables import BigId
from ingot_chassis.db.transaction import insert
from ingot_issues.store.issues import DETAILS, DetailsRow, IssueDetails, details_of
from ingot_issues.store.repository_ids import RepositoryIdRow
from ingot_issues.store.states import State
from ingot_issues.store.tables import dependency, issue


class BlockedRow(TypedRow):
    """An issue that another one blocks."""

    issue_id: int


class NumberRow(TypedRow):
    number: int


async def add(db: Executor, issue_id: int, blocker_id: int) -> bool:
    """False when it is there already."""
    values = {"issue_id": issue_id, "blocker_id": blocker_id}
    statement = insert(db, dependency).values(values).on_conflict_do_nothing()
    return (await db.execute(statement.returning(dependency.c.issue_id))).scalar() is not None


async def remove(db: Executor, issue_id: int, blocker_id: int) -> bool:
    """False when there is none."""
    statement = delete(dependency).where(
        dependency.c.issue_id == issue_id, dependency.c.blocker_id == blocker_id
    )
    return (await db.execute(statement.returning(dependency.c.issue_id))).scalar() is not None


async def exists(db: Executor, issue_id: int, blocker_id: int) -> bool:
    statement = select(dependency.c.issue_id).where(
        dependency.c.issue_id == issue_id, dependency.c.blocker_id == blocker_id
    )
    return (await db.execute(statement)).scalar() is not None


def _related(issue_id: int | BindParameter[int], *, blocked: bool) -> Select[int]:
    """The ids of the issues that an issue blocks, or that block it."""
    if blocked:
        return select(dependency.c.issue_id).where(dependency.c.blocker_id == issue_id)
    return select(dependency.c.blocker_id).where(dependency.c.issue_id == issue_id)


_ISSUE = bindparam("issue", type_=BigId)
_BLOCKED = PreparedQuery(_related(_ISSUE, blocked=True), BlockedRow)


async def list_blocked_ids(db: Executor, blocker_id: int) -> list[int]:
    """The issues that an issue blocks."""
    return [row.issue_id for row in await _BLOCKED.all(db, issue=blocker_id)]


_OPEN_BLOCKERS = PreparedQuery(
    select(func.count().label("number"))
    .select_from(dependency.join(issue, issue.c.id == dependency.c.blocker_id))
    .where(dependency.c.issue_id == _ISSUE, issue.c.state == bindparam("state")),
    NumberRow,
)


async def count_open_blockers(db: Executor, issue_id: int) -> int:
    """How many open issues an issue is blocked by."""
    row = await _OPEN_BLOCKERS.first(db, issue=issue_id, state=State.OPEN.value)
    return row.number if row is not None else 0


_REPOSITORIES = {
    blocked: PreparedQuery(
        select(issue.c.repository_id).where(issue.c.id.in_(_related(_ISSUE, blocked=blocked))).distinct(),
        RepositoryIdRow,
    )
    for blocked in (False, True)
}


async def list_repositories(db: Executor, issue_id: int, *, blocked: bool) -> set[int]:
    """The repositories of the issues that an issue blocks, or that block it."""
    return {row.repository_id for row in await _REPOSITORIES[blocked].all(db, issue=issue_id)}


async def list_page(
    db: Executor, issue_id: int, page: Slice, *, blocked: bool, within: Collection[int]
) -> tuple[list[IssueDetails], int]:
    """A page of the issues that an issue blocks, or that block it, and how many there are.

    Only those of the repositories ``within`` count.
    """
    related = issue.c.id.in_(_related(issue_id, blocked=blocked))
    ids = select(issue.c.id).where(related, issue.c.repository_id.in_(within))
    rows, total = await fetch_page(db, DETAILS.params(viewer=0), page, DetailsRow, issue.c.id, ids=ids)
    return [details_of(row) for row in rows], total
