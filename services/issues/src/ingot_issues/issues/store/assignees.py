"""SQL for assignees."""

from collections.abc import Sequence

from sqlalchemy import Column, ForeignKey, Integer, Table, delete, select

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.tables import BigId
from ingot_issues.schema import metadata

assignee = Table(
    "assignee",
    metadata,
    Column("issue_id", BigId, ForeignKey("issue.id", ondelete="CASCADE"), primary_key=True),
    Column("account_id", BigId, primary_key=True, index=True),
    Column("position", Integer, nullable=False),
)


async def list_ids(db: Executor, issue_id: int) -> list[int]:
    """Return the ids of the assignees of an issue, in their order."""
    statement = select(assignee.c.account_id).where(assignee.c.issue_id == issue_id)
    return list((await db.execute(statement.order_by(assignee.c.position))).scalars())


async def replace(db: Executor, issue_id: int, account_ids: Sequence[int]) -> None:
    """Replace the assignees of an issue."""
    await db.execute(delete(assignee).where(assignee.c.issue_id == issue_id))
    if account_ids:
        rows = [
            {"issue_id": issue_id, "account_id": account_id, "position": position}
            for position, account_id in enumerate(dict.fromkeys(account_ids))
        ]
        await db.execute(assignee.insert(), rows)
