"""SQL for pull requests: what sets them apart from issues."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import Row, bindparam, exists, or_, select, update

from ingot_chassis.database import Executor
from ingot_chassis.tables import BigId, now
from ingot_contracts.pulls import Comparison, Merged
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


async def tips(db: Executor, pull_ids: Sequence[int]) -> dict[int, tuple[str, str]]:
    """Base and head of these pull requests, as they were compared last."""
    found = await db.execute(
        select(pull.c.id, pull.c.base_sha, pull.c.head_sha).where(pull.c.id.in_(pull_ids))
    )
    return {row.id: (row.base_sha, row.head_sha) for row in found}


async def note_comparisons(db: Executor, compared: Sequence[tuple[int, Comparison]]) -> None:
    """Keep how pull requests, by id, compare now."""
    rows = [
        {
            "pull_id": pull_id,
            "base_sha": found.base_sha,
            "head_sha": found.head_sha,
            "merge_base": found.merge_base,
            "mergeable": found.mergeable,
        }
        for pull_id, found in compared
    ]
    await db.execute(update(pull).where(pull.c.id == bindparam("pull_id", type_=BigId)), rows)


async def claim_merge(
    db: Executor, pull_id: int, claim: str, lease: timedelta, *, takes_branch: bool
) -> bool:
    """Be the one that merges it; False when it has ended or another one is at it.

    ``takes_branch``: the head branch is to be deleted afterwards.
    """
    free = or_(pull.c.merge_claimed_until.is_(None), pull.c.merge_claimed_until < now())
    is_open = exists().where(issue.c.id == pull.c.issue_id, issue.c.state == "open")
    statement = update(pull).where(pull.c.id == pull_id, pull.c.merged.is_(False), free, is_open)
    values = {"merge_claim": claim, "merge_claimed_until": now() + lease, "takes_branch": takes_branch}
    return (await db.execute(statement.values(values))).rowcount == 1


async def release_merge(db: Executor, pull_id: int, claim: str) -> None:
    await db.execute(
        update(pull)
        .where(pull.c.id == pull_id, pull.c.merge_claim == claim)
        .values(merge_claim=None, merge_claimed_until=None)
    )


async def mark_merged(db: Executor, pull_id: int, merged: Merged, *, merged_by: int) -> bool | None:
    """Note the merge; whether the head branch is to be deleted, or None when it was noted before."""
    values: dict[str, Any] = {
        "merged": True,
        "merged_at": now(),
        "merged_by": merged_by,
        "merge_sha": merged.sha,
        "merge_claim": None,
        "merge_claimed_until": None,
    }
    known = {"base_sha": merged.base_sha, "merge_base": merged.merge_base}
    values |= {name: sha for name, sha in known.items() if sha}
    statement = update(pull).where(pull.c.id == pull_id, pull.c.merged.is_(False)).values(values)
    return (await db.execute(statement.returning(pull.c.takes_branch))).scalar()


async def leave_branch(db: Executor, pull_id: int) -> None:
    """The head branch is gone, or stays for good."""
    await db.execute(update(pull).where(pull.c.id == pull_id).values(takes_branch=False))
