"""What pushes mean for open pull requests: whether they still fit, and which of them a push has merged."""

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from ingot_chassis.database import Tx
from ingot_chassis.jobs import Jobs
from ingot_contracts.pulls import MOST_HEADS, Comparison
from ingot_contracts.repos import NO_COMMIT, PushReceived
from ingot_issues.core.site import Site
from ingot_issues.store import comments, issues, repositories
from ingot_issues.store import pulls as store
from ingot_issues.store.comments import Details
from ingot_issues.store.issues import IssueRow

CHECK = "pulls.check"


class CheckPulls(msgspec.Struct, frozen=True, kw_only=True):
    """The job: compare pull requests of one base branch again, since ``pushed`` is the tip of that or of the head.

    ``pusher_id`` pushed it.
    """

    repository_id: int
    base_branch: str
    issue_ids: list[int]
    pushed: str
    pusher_id: int
    confined: bool = False
    side: Literal["base", "head"]


class Outdated(Exception):
    """Another comparison was noted meanwhile; compare again."""


async def follow_push(tx: Tx, jobs: Jobs, push: PushReceived) -> None:
    """A branch moved: the open pull requests that it is base or head of are to be checked.

    Nothing is merged into a branch that is gone; a head that is gone can be merged, its commits are kept.
    """
    branch = push.ref.removeprefix("refs/heads/")
    found = await store.open_on(tx, push.repository.id, branch)

    def is_base_of(row: Any) -> bool:
        return bool(row.repository_id == push.repository.id and row.base_branch == branch)

    for repository_id in sorted({row.repository_id for row in found}):
        await repositories.lock(tx, repository_id)
    if push.after == NO_COMMIT:
        await store.forget_mergeable(tx, [row.id for row in found if is_base_of(row)])
        return
    # What fits at this very commit was compared since the push. What does not may be about to be compared.
    moved = [
        row
        for row in found
        if not row.mergeable or (row.base_sha if is_base_of(row) else row.head_sha) != push.after
    ]
    await store.forget_mergeable(tx, [row.id for row in moved if row.mergeable])
    groups: dict[tuple[int, str, Literal["base", "head"]], list[int]] = defaultdict(list)
    for row in moved:
        side: Literal["base", "head"] = "base" if is_base_of(row) else "head"
        groups[row.repository_id, row.base_branch, side].append(row.issue_id)
    for (repository_id, base_branch, side), issue_ids in groups.items():
        for start in range(0, len(issue_ids), MOST_HEADS):
            check = CheckPulls(
                repository_id=repository_id,
                base_branch=base_branch,
                issue_ids=issue_ids[start : start + MOST_HEADS],
                pushed=push.after,
                pusher_id=push.pusher.id,
                confined=push.confined,
                side=side,
            )
            await add_check(tx, jobs, check)


async def add_check(tx: Tx, jobs: Jobs, check: CheckPulls) -> None:
    """Have it done, once if it is asked for again before that."""
    await jobs.add(tx, CHECK, hashlib.sha256(msgspec.json.encode(check)).hexdigest(), check)


async def note_comparisons(tx: Tx, site: Site, compared: Sequence[tuple[IssueRow, Comparison]]) -> None:
    """Keep what comparisons found, and tell of heads that have moved. Raises Outdated."""
    if not compared:
        return
    await site.enter(tx)
    tips = await store.tips(tx, [seen.pull_id for seen, _ in compared])
    if any(tips.get(seen.pull_id) != (seen.base_sha, seen.head_sha) for seen, _ in compared):
        raise Outdated
    await store.note_comparisons(tx, [(seen.pull_id, found) for seen, found in compared])
    for seen, found in compared:
        if found.head_sha != seen.head_sha:
            await issues.change(tx, seen.id)
            pushed = Details(old_ref=seen.head_sha, new_ref=found.head_sha)
            await site.note(tx, seen.id, comments.PUSHED, details=pushed)
            await site.announce(tx, seen.id, "synchronized")


def is_joined(seen: IssueRow, compared: Comparison) -> bool:
    """Whether the base, as it moved, has brought all of a head that was ahead of it.

    The head may have moved too, but not back to what the base had before.
    """
    was_ahead = seen.head_sha != seen.merge_base
    return (
        was_ahead
        and compared.commits == 0
        and compared.base_sha != seen.base_sha
        and compared.head_sha not in (seen.base_sha, seen.merge_base)
    )
