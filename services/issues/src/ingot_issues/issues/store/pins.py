"""SQL for pinned issues. ``pin_order`` counts from 1, separately for pull requests; 0 is not pinned."""

from collections.abc import Sequence

from sqlalchemy import bindparam, literal_column, select, update

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery
from ingot_chassis.db.tables import BigId
from ingot_issues.issues.store.details import DETAILS, DetailsRow, IssueDetails, details_of
from ingot_issues.records.store.tables import issue


def _pinned(*, is_pull: bool) -> PreparedQuery[DetailsRow]:
    conditions = (
        issue.c.repository_id == bindparam("repository_id", type_=BigId),
        issue.c.is_pull.is_(is_pull),
        issue.c.pin_order > literal_column("0"),
    )
    return PreparedQuery(DETAILS.where(*conditions).order_by(issue.c.pin_order), DetailsRow)


_PINNED = {is_pull: _pinned(is_pull=is_pull) for is_pull in (False, True)}


async def list_ids(db: Executor, repository_id: int, *, is_pull: bool) -> list[int]:
    """Return the ids of the pinned issues, or pull requests, of a repository in the order of the pins."""
    statement = select(issue.c.id).where(
        issue.c.repository_id == repository_id, issue.c.is_pull.is_(is_pull), issue.c.pin_order > 0
    )
    return list((await db.execute(statement.order_by(issue.c.pin_order))).scalars())


async def list_details(db: Executor, repository_id: int, *, is_pull: bool) -> list[IssueDetails]:
    """Return the pinned issues, or pull requests, of a repository in the order of the pins."""
    rows = await _PINNED[is_pull].all(db, repository_id=repository_id, viewer=0)
    return [details_of(row) for row in rows]


async def replace(db: Executor, former_ids: Sequence[int], ids: Sequence[int]) -> None:
    """Replace the pinned issues ``former_ids`` by ``ids``, in this order."""
    removed_ids = sorted(set(former_ids) - set(ids))
    for pin_order, issue_ids in [(0, removed_ids), *((at, [one]) for at, one in enumerate(ids, 1))]:
        if issue_ids:
            await db.execute(update(issue).where(issue.c.id.in_(issue_ids)).values(pin_order=pin_order))
