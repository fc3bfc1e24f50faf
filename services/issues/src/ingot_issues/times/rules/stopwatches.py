"""Stopwatches on issues. Their time becomes tracked time."""

from ingot_chassis.clock import now
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Conflict
from ingot_issues.issues.store.details import IssueDetails
from ingot_issues.records.rules.context import RepositoryContext
from ingot_issues.records.store.timeline import CommentKind
from ingot_issues.repositories.store import copies as repositories
from ingot_issues.times.rules.tracked import LONGEST, add_time
from ingot_issues.times.store import stopwatches as store


async def start_stopwatch(tx: Tx, context: RepositoryContext, issue: IssueDetails) -> None:
    """Start the actor's stopwatch. Raises Conflict if it is running."""
    await context.lock(tx, issue.id)
    await repositories.add_missing(tx, context.repository)
    if not await store.add(tx, issue.id, context.actor_id):
        raise Conflict("your stopwatch on this issue runs already; stop or discard it first")
    await context.add_to_timeline(tx, issue.id, CommentKind.TRACKING_STARTED)


async def stop_stopwatch(tx: Tx, context: RepositoryContext, issue: IssueDetails) -> None:
    """Stop the actor's stopwatch and add its time to the tracked times.

    Raises Conflict if none is running.
    """
    await context.lock(tx)
    started_at = await store.remove(tx, issue.id, context.actor_id)
    if started_at is None:
        raise Conflict("no stopwatch of yours runs on this issue; start one first")
    seconds = max(1, min(LONGEST, int((now() - started_at).total_seconds())))
    await add_time(tx, context, issue, seconds, kind=CommentKind.TRACKING_STOPPED)


async def cancel_stopwatch(tx: Tx, context: RepositoryContext, issue: IssueDetails) -> None:
    """Discard the actor's stopwatch. Raises Conflict if none is running."""
    await context.lock(tx, issue.id)
    if await store.remove(tx, issue.id, context.actor_id) is None:
        raise Conflict("no stopwatch of yours runs on this issue; start one first")
    await context.add_to_timeline(tx, issue.id, CommentKind.TRACKING_CANCELLED)
