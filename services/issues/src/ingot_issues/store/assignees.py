"""SQL for the people to whom issues are assigned."""

from collections.abc import Sequence

from sqlalchemy import delete, select

from ingot_chassis.db.driver import Executor
from ingot_issues.store.tables import assignee


async def list_ids(db: Executor, issue_id: int) -> list[int]:
    """The ids of the assignees of an issue, in their order."""
    statement = select(assignee.c.account_id).where(assignee.c.issue_id == issue_id)
    return list((await db.execute(statement.order_by(assignee.c.position))).scalars())


async def replace(db: Executor, issue_id: int, account_ids: Sequence[int]) -> None:
    """Assign an issue to exactly these people."""
    await db.execute(delete(assignee).where(assignee.c.issue_id == issue_id))
    if account_ids:
        rows = [
            {"issue_id": issue_id, "account_id": account_id, "position": position}
            for position, account_id in enumerate(dict.fromkeys(account_ids))
        ]
        await db.execute(assignee.insert(), rows)
