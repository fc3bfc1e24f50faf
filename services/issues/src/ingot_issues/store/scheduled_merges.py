"""SQL for merges that wait until nothing refuses them any more: one for each pull request at most."""

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import bindparam, delete, select

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedWrite
from ingot_chassis.db.rows import TypedRow, fetch_first
from ingot_chassis.db.tables import BigId
from ingot_chassis.db.transaction import insert
from ingot_contracts.pulls import MergeStyle
from ingot_issues.store.states import State
from ingot_issues.store.tables import issue, pull, scheduled_merge


class ScheduledMergeRow(TypedRow):
    """Who scheduled a merge, and how it is to be done. ``restricted``: with a token that reaches few repositories."""

    issue_id: int
    account_id: int
    style: MergeStyle
    head_sha: str
    title: str
    message: str
    deletes_branch: bool
    restricted: bool
    created_at: datetime


async def add(db: Executor, **values: object) -> bool:
    """Schedule a merge; False when one is scheduled already."""
    statement = insert(db, scheduled_merge).values(created_at=now(), **values).on_conflict_do_nothing()
    return (await db.execute(statement)).rowcount == 1


async def get(db: Executor, issue_id: int) -> ScheduledMergeRow | None:
    statement = select(scheduled_merge).where(scheduled_merge.c.issue_id == issue_id)
    return await fetch_first(db, statement, ScheduledMergeRow)


_REMOVE = PreparedWrite(
    delete(scheduled_merge).where(scheduled_merge.c.issue_id == bindparam("issue", type_=BigId))
)


async def remove(db: Executor, issue_id: int) -> bool:
    """Nothing is scheduled any more; False when nothing was."""
    return await _REMOVE.run(db, issue=issue_id) == 1


async def list_ids(db: Executor, after: int, limit: int) -> list[int]:
    """The pull requests above ``after`` whose merge is scheduled, the lowest ids first."""
    ids = scheduled_merge.c.issue_id
    statement = select(ids).where(ids > after).order_by(ids).limit(limit)
    return list((await db.execute(statement)).scalars())


async def list_among(db: Executor, issue_ids: Collection[int]) -> list[int]:
    """Those of these pull requests whose merge is scheduled."""
    statement = select(scheduled_merge.c.issue_id).where(scheduled_merge.c.issue_id.in_(issue_ids))
    return list((await db.execute(statement.order_by(scheduled_merge.c.issue_id))).scalars())


async def list_ids_at(db: Executor, repository_id: int, head_sha: str) -> list[int]:
    """The open pull requests of a repository with that head whose merge is scheduled."""
    statement = (
        select(scheduled_merge.c.issue_id)
        .join(pull, pull.c.issue_id == scheduled_merge.c.issue_id)
        .join(issue, issue.c.id == scheduled_merge.c.issue_id)
        .where(
            issue.c.repository_id == repository_id,
            issue.c.state == State.OPEN,
            pull.c.head_sha == head_sha,
        )
    )
    return list((await db.execute(statement.order_by(scheduled_merge.c.issue_id))).scalars())
