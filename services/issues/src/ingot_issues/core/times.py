"""Time that people spent on issues."""

from typing import Any

from ingot_chassis.database import Tx
from ingot_chassis.errors import Invalid
from ingot_issues.core.site import Site
from ingot_issues.store import comments
from ingot_issues.store import times as store
from ingot_issues.store.issues import IssueRow

LONGEST = 100 * 365 * 24 * 3600


async def add_time(tx: Tx, site: Site, issue: IssueRow, seconds: int) -> Any:
    """Note the time, and the fact among the comments; the row. Raises Invalid."""
    if not 0 < seconds <= LONGEST:
        raise Invalid.field("time", "range", "is a number of seconds above 0")
    await site.enter(tx)
    await comments.add(
        tx,
        repository_id=site.repository.id,
        issue_id=issue.id,
        author_id=site.actor_id,
        body=str(seconds),
        kind=comments.TIME_ADDED,
    )
    return await store.add(
        tx,
        issue_id=issue.id,
        repository_id=site.repository.id,
        account_id=site.actor_id,
        seconds=seconds,
    )
