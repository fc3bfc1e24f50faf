"""Time that people spent on issues."""

from collections.abc import Sequence
from datetime import datetime

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Invalid
from ingot_contracts.issues.events import TimeChanged
from ingot_contracts.issues.issues import Issue, TrackedTime
from ingot_issues.issues.store.details import IssueDetails
from ingot_issues.records.rules.announcements import Action, announce_in_repository
from ingot_issues.records.rules.context import RepositoryContext
from ingot_issues.records.store.timeline import CommentKind, Details
from ingot_issues.times.store import tracked as store
from ingot_issues.times.store.tracked import TimeRow

LONGEST = 100 * 365 * 24 * 3600


async def add_time(
    tx: Tx,
    context: RepositoryContext,
    issue: IssueDetails,
    seconds: int,
    kind: CommentKind = CommentKind.TIME_ADDED,
    *,
    account_id: int = 0,
    at: datetime | None = None,
) -> TimeRow:
    """Add time of the actor or of ``account_id``, with a row of this ``kind`` in the timeline.

    ``at`` is the time at which it was spent; None is now. Raises Invalid.
    """
    if not 0 < seconds <= LONGEST:
        raise Invalid.field("time", "range", "is a number of seconds above 0")
    await context.lock(tx, issue.id)
    row = await store.add(
        tx,
        issue_id=issue.id,
        repository_id=context.repository.id,
        account_id=account_id or context.actor_id,
        seconds=seconds,
        at=at,
    )
    details = Details(time=row.id)
    await context.add_to_timeline(tx, issue.id, kind, str(seconds), details)
    await _announce(tx, context, row, "created")
    return row


async def delete_times(
    tx: Tx, context: RepositoryContext, issue: IssueDetails, rows: Sequence[TimeRow]
) -> None:
    """Delete times of an issue, and add a row for each to its timeline."""
    await context.lock(tx, issue.id)
    removed_ids = await store.remove(tx, [row.id for row in rows])
    for row in rows:
        if row.id in removed_ids:
            await context.add_to_timeline(tx, issue.id, CommentKind.TIME_DELETED, str(row.seconds))
            await _announce(tx, context, row, "deleted")


async def _announce(tx: Tx, context: RepositoryContext, row: TimeRow, action: Action) -> None:
    time = time_view(row)
    await announce_in_repository(
        tx,
        context,
        lambda repository, sender: TimeChanged(
            action=action, time=time, repository=repository, sender=sender
        ),
    )


def time_view(time: TimeRow, *, user_name: str = "", issue: Issue | None = None) -> TrackedTime:
    return TrackedTime(
        id=time.id,
        created=time.created_at.replace(microsecond=0),
        time=time.seconds,
        user_id=time.account_id,
        issue_id=time.issue_id,
        user_name=user_name,
        issue=issue,
    )
