"""SQL for mentions of people in issues."""

from collections.abc import Collection

from sqlalchemy import Column, ForeignKey, Table, select

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.tables import BigId
from ingot_chassis.db.transaction import insert
from ingot_issues.schema import metadata

# People who are mentioned in an issue or its comments, and may read it.
mention = Table(
    "mention",
    metadata,
    Column("issue_id", BigId, ForeignKey("issue.id", ondelete="CASCADE"), primary_key=True),
    Column("account_id", BigId, primary_key=True, index=True),
)


async def save(db: Executor, issue_id: int, account_ids: Collection[int]) -> None:
    """Record that these people are mentioned in an issue."""
    if not account_ids:
        return
    rows = [{"issue_id": issue_id, "account_id": account_id} for account_id in sorted(account_ids)]
    await db.execute(insert(db, mention).values(rows).on_conflict_do_nothing())


async def list_ids(db: Executor, issue_id: int) -> set[int]:
    """Return the ids of the accounts that are mentioned in an issue."""
    statement = select(mention.c.account_id).where(mention.c.issue_id == issue_id)
    return set((await db.execute(statement)).scalars())
