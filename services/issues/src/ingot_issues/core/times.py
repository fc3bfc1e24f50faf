"""Time that people spent on issues."""

from ingot_chassis.database import Tx
from ingot_chassis.errors import Invalid
from ingot_contracts.issues import TimeChanged, TrackedTime
from ingot_issues.core.site import Site
from ingot_issues.store import comments
from ingot_issues.store import times as store
from ingot_issues.store.comments import Details
from ingot_issues.store.issues import IssueRow
from ingot_issues.store.repositories import plain

LONGEST = 100 * 365 * 24 * 3600


async def add_time(tx: Tx, site: Site, issue: IssueRow, seconds: int) -> TrackedTime:
    """Note the time, and the fact among the comments. Raises Invalid."""
    if not 0 < seconds <= LONGEST:
        raise Invalid.field("time", "range", "is a number of seconds above 0")
    await site.enter(tx)
    row = await store.add(
        tx,
        issue_id=issue.id,
        repository_id=site.repository.id,
        account_id=site.actor_id,
        seconds=seconds,
    )
    await site.note(tx, issue.id, comments.TIME_ADDED, str(seconds), Details(time=row.id))
    time = site.viewing.time(row)
    repository, sender = plain(site.repository), await site.sender(tx)
    told = TimeChanged(action="created", time=time, repository=repository, sender=sender)
    tx.emit(told, key=repository.id)
    return time
