"""SQL for dependencies: pairs of an issue and an issue that blocks it."""

from sqlalchemy import BindParameter, Column, ForeignKey, Select, Table, bindparam, delete, func, select

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery
from ingot_chassis.db.rows import TypedRow
from ingot_chassis.db.tables import BigId
from ingot_chassis.db.transaction import insert
from ingot_issues.records.store.states import State
from ingot_issues.records.store.tables import issue
from ingot_issues.repositories.store.ids import RepositoryIdRow
from ingot_issues.schema import metadata

dependency = Table(
    "dependency",
    metadata,
    Column("issue_id", BigId, ForeignKey("issue.id", ondelete="CASCADE"), primary_key=True),
    Column("blocker_id", BigId, ForeignKey("issue.id", ondelete="CASCADE"), primary_key=True, index=True),
)


class BlockedRow(TypedRow):
    """An issue that another issue blocks."""

    issue_id: int


class NumberRow(TypedRow):
    number: int


async def add(db: Executor, issue_id: int, blocker_id: int) -> bool:
    """Add a dependency. Return False if it already exists."""
    values = {"issue_id": issue_id, "blocker_id": blocker_id}
    statement = insert(db, dependency).values(values).on_conflict_do_nothing()
    return (await db.execute(statement.returning(dependency.c.issue_id))).scalar() is not None


async def remove(db: Executor, issue_id: int, blocker_id: int) -> bool:
    """Remove a dependency. Return False if it does not exist."""
    statement = delete(dependency).where(
        dependency.c.issue_id == issue_id, dependency.c.blocker_id == blocker_id
    )
    return (await db.execute(statement.returning(dependency.c.issue_id))).scalar() is not None


async def exists(db: Executor, issue_id: int, blocker_id: int) -> bool:
    statement = select(dependency.c.issue_id).where(
        dependency.c.issue_id == issue_id, dependency.c.blocker_id == blocker_id
    )
    return (await db.execute(statement)).scalar() is not None


def related(issue_id: int | BindParameter[int], *, blocked: bool) -> Select[int]:
    """Return a SELECT of issue ids.

    ``blocked``: issues that the issue blocks; otherwise issues that block it.
    """
    if blocked:
        return select(dependency.c.issue_id).where(dependency.c.blocker_id == issue_id)
    return select(dependency.c.blocker_id).where(dependency.c.issue_id == issue_id)


_ISSUE = bindparam("issue", type_=BigId)
_BLOCKED = PreparedQuery(related(_ISSUE, blocked=True), BlockedRow)


async def list_blocked_ids(db: Executor, blocker_id: int) -> list[int]:
    """Return the ids of issues that an issue blocks."""
    return [row.issue_id for row in await _BLOCKED.all(db, issue=blocker_id)]


_OPEN_BLOCKERS = PreparedQuery(
    select(func.count().label("number"))
    .select_from(dependency.join(issue, issue.c.id == dependency.c.blocker_id))
    .where(dependency.c.issue_id == _ISSUE, issue.c.state == bindparam("state")),
    NumberRow,
)


async def count_open_blockers(db: Executor, issue_id: int) -> int:
    """Return the number of open issues that block an issue."""
    row = await _OPEN_BLOCKERS.first(db, issue=issue_id, state=State.OPEN.value)
    return row.number if row is not None else 0


_REPOSITORIES = {
    blocked: PreparedQuery(
        select(issue.c.repository_id).where(issue.c.id.in_(related(_ISSUE, blocked=blocked))).distinct(),
        RepositoryIdRow,
    )
    for blocked in (False, True)
}


async def list_repositories(db: Executor, issue_id: int, *, blocked: bool) -> set[int]:
    """Return the ids of repositories of related issues.

    ``blocked``: issues that the issue blocks; otherwise issues that block it.
    """
    return {row.repository_id for row in await _REPOSITORIES[blocked].all(db, issue=issue_id)}
