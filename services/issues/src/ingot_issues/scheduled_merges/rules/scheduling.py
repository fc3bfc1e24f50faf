"""Scheduled merges: a pull request is merged as soon as reviews, checks and dependencies allow it.

Events that may have allowed the merge add a job. The job merges as the person who scheduled it. A merge that
takes too long for a request is scheduled, too. Such a merge was not blocked, so it does not wait: if it is
blocked when the job runs, it is cancelled.
"""

import uuid
from collections.abc import Iterable

import msgspec

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Conflict, NotFound
from ingot_chassis.jobs.jobs import Jobs
from ingot_contracts.issues.events import MergeRequested
from ingot_issues.records.rules.context import RepositoryContext
from ingot_issues.records.rules.targets import present_target
from ingot_issues.records.store import issues as issue_rows
from ingot_issues.records.store.issues import AnyPull
from ingot_issues.records.store.timeline import CommentKind
from ingot_issues.scheduled_merges import store
from ingot_issues.scheduled_merges.rules.options import MergeOptions
from ingot_issues.scheduled_merges.store import ScheduledMergeRow

OTHER_TARGET = "the head or the base branch is not the one that was agreed to"
OTHER_RIGHTS = "the account that scheduled it may not merge here any more"
BLOCKED = "a rule, an open issue or a setting of the repository blocks it"
IMPOSSIBLE = "the pull request cannot be merged as it is"
TOO_LONG = "it needs more computing time than a merge may take"
"""Reasons in the timeline. They are general, because not all readers may see the exact reason."""
TRY_MERGE = "pull.try-scheduled-merge"
"""The kind of jobs that try a merge."""


class TryMerge(msgspec.Struct, frozen=True, kw_only=True):
    """A job that merges a pull request if it is allowed now."""

    issue_id: int


async def schedule(
    tx: Tx, context: RepositoryContext, pull: AnyPull, options: MergeOptions, *, waits: bool
) -> None:
    """Schedule a merge of the head and the base branch of ``pull``.

    ``waits``: the merge waits until nothing blocks it. Raises Conflict if the pull request has changed, or a
    merge is already scheduled.
    """
    await context.lock(tx, pull.id)
    row = await issue_rows.get_pull_by_id(tx, pull.id)
    if row is None or present_target(row) != present_target(pull):
        raise Conflict("the pull request has changed; look at it again")
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
        base_branch=pull.base_branch,
        agreed_sha=pull.head_sha,
        waits=waits,
    )
    if not added:
        raise Conflict("a merge is scheduled already; cancel that to schedule another one")
    await context.add_to_timeline(tx, pull.id, CommentKind.MERGE_SCHEDULED)
    await issue_rows.change(tx, pull.id)
    await wake(tx, context.jobs, [pull.id])  # it may be mergeable already


async def cancel(tx: Tx, context: RepositoryContext, issue_id: int, reason: str = "") -> None:
    """Cancel a scheduled merge, and add the reason to the timeline. Raises NotFound if none is scheduled."""
    await context.lock(tx)
    if not await store.remove(tx, issue_id):
        raise NotFound("no merge is scheduled")
    await context.add_to_timeline(tx, issue_id, CommentKind.MERGE_CANCELLED, reason)
    await issue_rows.change(tx, issue_id)


async def cancel_all(tx: Tx, context: RepositoryContext, issue_ids: Iterable[int]) -> None:
    """Cancel scheduled merges, because no person with write access has agreed to the current head."""
    for issue_id in await store.list_among(tx, list(issue_ids)):
        await cancel(tx, context, issue_id, OTHER_TARGET)


async def wake(tx: Tx, jobs: Jobs, issue_ids: Iterable[int]) -> None:
    """Try the scheduled merges among these pull requests.

    Each call adds a job, because a running job may have started too early.
    """
    ids = list(issue_ids)
    for issue_id in await store.list_among(tx, ids) if ids else ():
        await jobs.add(tx, TRY_MERGE, f"{issue_id}:{uuid.uuid4()}", TryMerge(issue_id=issue_id))
        tx.emit(MergeRequested(issue_id=issue_id), key=issue_id)


async def agree(tx: Tx, context: RepositoryContext, issue_ids: Iterable[int], head_sha: str) -> None:
    """Allow scheduled merges of ``head_sha``, which a person with write access has pushed."""
    ids = list(issue_ids)
    await store.agree(tx, ids, head_sha)
    await wake(tx, context.jobs, ids)


def options_of(row: ScheduledMergeRow) -> MergeOptions:
    return MergeOptions(
        style=row.style,
        head_sha=row.agreed_sha,
        base_branch=row.base_branch,
        title=row.title,
        message=row.message,
        deletes_branch=row.deletes_branch,
    )
