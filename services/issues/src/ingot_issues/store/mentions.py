"""SQL for who is mentioned in issues."""

from collections.abc import Collection

from sqlalchemy import select

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.transaction import insert
from ingot_issues.store.tables import mention


async def save(db: Executor, issue_id: int, account_ids: Collection[int]) -> None:
    """Write down that these people are mentioned in an issue."""
    if not account_ids:
        return
    rows = [{"issue_id": issue_id, "account_id": account_id} for account_id in sorted(account_ids)]
    await db.execute(insert(db, mention).values(rows).on_conflict_do_nothing())


async def list_ids(db: Executor, issue_id: int) -> set[int]:
    """Who is mentioned in an issue."""
    statement = select(mention.c.account_id).where(mention.c.issue_id == issue_id)
    return set((await db.execute(statement)).scalars())
