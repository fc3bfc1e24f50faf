"""Merges that wait: a pull request is merged as soon as reviews, checks and what blocks it allow that.

What may have made it possible adds a job; the job tries as the person who scheduled the merge.
"""

import uuid
from collections.abc import Iterable

import msgspec

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Conflict, NotFound
from ingot_chassis.jobs.jobs import Jobs
from ingot_issues.core.merge_options import MergeOptions
from ingot_issues.core.repository_context import RepositoryContext
from ingot_issues.store import dependencies, issue_rows
from ingot_issues.store import scheduled_merges as store
from ingot_issues.store.comments import CommentKind
from ingot_issues.store.issue_rows import AnyPull
from ingot_issues.store.scheduled_merges import ScheduledMergeRow

TRY_MERGE = "pull.try-scheduled-merge"
"""The kind of the job."""


class TryMerge(msgspec.Struct, frozen=True, kw_only=True):
    """The job: merge a pull request if nothing refuses it any more."""

    issue_id: int


async def schedule(tx: Tx, context: RepositoryContext, pull: AnyPull, options: MergeOptions) -> None:
    """Raises Conflict when a merge of the pull request is scheduled already."""
    await context.lock(tx, pull.id)
    added = await store.add(
        tx,
        issue_id=pull.id,
        account_id=context.actor_id,
        style=options.style,
        head_sha=options.head_sha,
        title=options.title,
        message=options.message,
        deletes_branch=options.deletes_branch,
        restricted=context.restricted,
    )
    if not added:
        raise Conflict("a merge is scheduled already; cancel that to schedule another one")
    await context.add_to_timeline(tx, pull.id, CommentKind.MERGE_SCHEDULED)
    await issue_rows.change(tx, pull.id)
    await wake(tx, context.jobs, [pull.id])  # what it waits for may have come meanwhile


async def cancel(tx: Tx, context: RepositoryContext, issue_id: int) -> None:
    """Raises NotFound when no merge is scheduled."""
    await context.lock(tx)
    if not await store.remove(tx, issue_id):
        raise NotFound("no merge is scheduled")
    await context.add_to_timeline(tx, issue_id, CommentKind.MERGE_CANCELLED)
    await issue_rows.change(tx, issue_id)


async def cancel_after_push(tx: Tx, context: RepositoryContext, issue_ids: Iterable[int]) -> None:
    """Somebody who may not write to the repository has moved these heads: nobody agreed to merge what came."""
    for issue_id in await store.list_among(tx, list(issue_ids)):
        await cancel(tx, context, issue_id)


async def wake(tx: Tx, jobs: Jobs, issue_ids: Iterable[int]) -> None:
    """Try the scheduled merges among these pull requests. Each call adds a job: one that runs now may be too early."""
    ids = list(issue_ids)
    for issue_id in await store.list_among(tx, ids) if ids else ():
        await jobs.add(tx, TRY_MERGE, f"{issue_id}:{uuid.uuid4()}", TryMerge(issue_id=issue_id))


async def wake_blocked(tx: Tx, jobs: Jobs, blocker_id: int) -> None:
    """Try the scheduled merges that an issue blocked until it was closed."""
    await wake(tx, jobs, await dependencies.list_blocked_ids(tx, blocker_id))


def options_of(row: ScheduledMergeRow) -> MergeOptions:
    return MergeOptions(
        style=row.style,
        head_sha=row.head_sha,
        title=row.title,
        message=row.message,
        deletes_branch=row.deletes_branch,
    )
