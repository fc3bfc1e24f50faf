"""SQL for pull requests: what sets them apart from issues."""

from datetime import timedelta
from typing import Any

from sqlalchemy import Row, or_, select, update

from ingot_chassis.database import Executor
from ingot_chassis.tables import now
from ingot_issues.store.tables import issue, pull


async def add(db: Executor, **values: Any) -> int:
    return int((await db.execute(pull.insert().values(values).returning(pull.c.id))).scalar_one())


async def open_twin(
    db: Executor, repository_id: int, *, base_branch: str, head_repository_id: int, head_branch: str
) -> int | None:
    """The number of the open pull request between these branches."""
    statement = (
        select(issue.c.number)
        .join(pull, pull.c.issue_id == issue.c.id)
        .where(
            issue.c.repository_id == repository_id,
            issue.c.state == "open",
            pull.c.base_branch == base_branch,
            pull.c.head_repository_id == head_repository_id,
            pull.c.head_branch == head_branch,
        )
    )
    return (await db.execute(statement.limit(1))).scalar()


async def open_on(db: Executor, repository_id: int, branch: str) -> list[Row[Any]]:
    """Open pull requests that the branch is base or head of."""
    statement = (
        select(pull, issue.c.repository_id)
        .join(issue, issue.c.id == pull.c.issue_id)
        .where(
            issue.c.state == "open",
            or_(
                (issue.c.repository_id == repository_id) & (pull.c.base_branch == branch),
                (pull.c.head_repository_id == repository_id) & (pull.c.head_branch == branch),
            ),
        )
        .order_by(pull.c.id)
    )
    return list((await db.execute(statement)).all())


async def move_base(db: Executor, pull_id: int, **values: Any) -> bool:
    """Note another base branch and how it compares; False while somebody merges it."""
    free = or_(pull.c.merge_claimed_until.is_(None), pull.c.merge_claimed_until < now())
    statement = update(pull).where(pull.c.id == pull_id, pull.c.merged.is_(False), free)
    return (await db.execute(statement.values(values))).rowcount == 1


async def is_proposed_elsewhere(db: Executor, pull_id: int, head_repository_id: int, branch: str) -> bool:
    """Whether another open pull request has this head."""
    statement = (
        select(pull.c.id)
        .join(issue, issue.c.id == pull.c.issue_id)
        .where(
            pull.c.head_repository_id == head_repository_id,
            pull.c.head_branch == branch,
            pull.c.id != pull_id,
            issue.c.state == "open",
        )
    )
    return (await db.execute(statement.limit(1))).first() is not None


async def forget_mergeable(db: Executor, pull_ids: list[int]) -> None:
    """Until they are checked again."""
    if not pull_ids:
        return
    await db.execute(update(pull).where(pull.c.id.in_(pull_ids)).values(mergeable=False))


async def compared(db: Executor, row: Row[Any], **values: Any) -> bool:
    """Note a comparison; False when another one was noted since ``row`` was read."""
    statement = update(pull).where(
        pull.c.id == row.pull_id, pull.c.head_sha == row.head_sha, pull.c.base_sha == row.base_sha
    )
    return (await db.execute(statement.values(values))).rowcount == 1


async def claim_merge(db: Executor, pull_id: int, claim: str, lease: timedelta) -> bool:
    """Be the one that merges it; False when it is merged or another one is at it."""
    free = or_(pull.c.merge_claimed_until.is_(None), pull.c.merge_claimed_until < now())
    statement = update(pull).where(pull.c.id == pull_id, pull.c.merged.is_(False), free)
    claimed = await db.execute(statement.values(merge_claim=claim, merge_claimed_until=now() + lease))
    return claimed.rowcount == 1


async def release_merge(db: Executor, pull_id: int, claim: str) -> None:
    await db.execute(
        update(pull)
        .where(pull.c.id == pull_id, pull.c.merge_claim == claim)
        .values(merge_claim=None, merge_claimed_until=None)
    )


async def mark_merged(db: Executor, pull_id: int, *, sha: str, merged_by: int) -> bool:
    """Note the merge; False when it was noted before."""
    marked = await db.execute(
        update(pull)
        .where(pull.c.id == pull_id, pull.c.merged.is_(False))
        .values(
            merged=True,
            merged_at=now(),
            merged_by=merged_by,
            merge_sha=sha,
            merge_claim=None,
            merge_claimed_until=None,
        )
    )
    return marked.rowcount == 1
