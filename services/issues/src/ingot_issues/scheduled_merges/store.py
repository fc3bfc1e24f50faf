"""SQL for scheduled merges: at most one for each pull request."""

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import (
    Boolean,
    Column,
    ForeignKey,
    String,
    Table,
    Text,
    bindparam,
    delete,
    select,
    true,
    update,
)

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedWrite
from ingot_chassis.db.rows import TypedRow, fetch_all, fetch_first
from ingot_chassis.db.tables import BigId, UtcDateTime
from ingot_chassis.db.transaction import insert
from ingot_contracts.repos.merges import MergeStyle
from ingot_issues.records.store.states import State
from ingot_issues.records.store.tables import issue, pull
from ingot_issues.schema import metadata

# A merge that waits for reviews and checks, on behalf of the person who scheduled it.
scheduled_merge = Table(
    "scheduled_merge",
    metadata,
    Column("issue_id", BigId, ForeignKey("issue.id", ondelete="CASCADE"), primary_key=True),
    Column("account_id", BigId, nullable=False),
    Column("style", String(20), nullable=False),
    Column("head_sha", String(64), nullable=False),
    Column("title", String(255), nullable=False),
    Column("message", Text, nullable=False),
    Column("deletes_branch", Boolean, nullable=False),
    Column("restricted", Boolean, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    # The base branch of the schedule, and the head that people with write access agreed to.
    Column("base_branch", String(255), nullable=False, default="", server_default=""),
    Column("agreed_sha", String(64), nullable=False, default="", server_default=""),
    # False: nothing blocked the merge, which only takes too long for a request. So it ends when it is blocked.
    Column("waits", Boolean, nullable=False, default=True, server_default=true()),
)


class ScheduledMergeRow(TypedRow):
    """A scheduled merge: the person and the options. ``waits``: it waits until nothing blocks it.

    ``restricted``: the token that scheduled it is restricted to some repositories. Only the head
    ``agreed_sha`` is merged, and only into ``base_branch``.
    """

    issue_id: int
    account_id: int
    style: MergeStyle
    head_sha: str
    title: str
    message: str
    deletes_branch: bool
    restricted: bool
    created_at: datetime
    base_branch: str
    agreed_sha: str
    waits: bool


class AgreementRow(TypedRow):
    """The head of a scheduled merge that people with write access agreed to."""

    issue_id: int
    agreed_sha: str


async def add(db: Executor, **values: object) -> bool:
    """Schedule a merge. Return False if one is already scheduled."""
    statement = insert(db, scheduled_merge).values(created_at=now(), **values).on_conflict_do_nothing()
    return (await db.execute(statement)).rowcount == 1


async def get(db: Executor, issue_id: int) -> ScheduledMergeRow | None:
    statement = select(scheduled_merge).where(scheduled_merge.c.issue_id == issue_id)
    return await fetch_first(db, statement, ScheduledMergeRow)


_REMOVE = PreparedWrite(
    delete(scheduled_merge).where(scheduled_merge.c.issue_id == bindparam("issue", type_=BigId))
)


async def remove(db: Executor, issue_id: int) -> bool:
    """Remove a scheduled merge. Return False if none was scheduled."""
    return await _REMOVE.run(db, issue=issue_id) == 1


async def list_ids(db: Executor, after: int, limit: int) -> list[int]:
    """Return at most ``limit`` ids above ``after`` of pull requests that have a scheduled merge, in order."""
    ids = scheduled_merge.c.issue_id
    statement = select(ids).where(ids > after).order_by(ids).limit(limit)
    return list((await db.execute(statement)).scalars())


async def list_among(db: Executor, issue_ids: Collection[int]) -> list[int]:
    """Return the members of ``issue_ids`` that have a scheduled merge."""
    statement = select(scheduled_merge.c.issue_id).where(scheduled_merge.c.issue_id.in_(issue_ids))
    return list((await db.execute(statement.order_by(scheduled_merge.c.issue_id))).scalars())


async def agreed_heads(db: Executor, issue_ids: Collection[int]) -> dict[int, str]:
    """Return the agreed head commits of scheduled merges, by pull request."""
    columns = scheduled_merge.c.issue_id, scheduled_merge.c.agreed_sha
    statement = select(*columns).where(scheduled_merge.c.issue_id.in_(issue_ids))
    return {row.issue_id: row.agreed_sha for row in await fetch_all(db, statement, AgreementRow)}


async def agree(db: Executor, issue_ids: Collection[int], head_sha: str) -> None:
    """Set the agreed head of the scheduled merges of these pull requests."""
    statement = update(scheduled_merge).where(scheduled_merge.c.issue_id.in_(issue_ids))
    await db.execute(statement.values(agreed_sha=head_sha))


async def list_ids_at(db: Executor, repository_id: int, head_sha: str) -> list[int]:
    """Return the ids of open pull requests with that head and a scheduled merge."""
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
