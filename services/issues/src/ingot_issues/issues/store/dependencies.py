"""SQL for lists of issues that block an issue, or that an issue blocks."""

from collections.abc import Collection

from sqlalchemy import case, select

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import Slice, fetch_page
from ingot_issues.dependencies.store import related
from ingot_issues.issues.store.details import DETAILS, DetailsRow, IssueDetails, details_of
from ingot_issues.records.store.tables import issue


async def list_page(
    db: Executor,
    issue_id: int,
    page: Slice,
    *,
    blocked: bool,
    issues_within: Collection[int],
    pulls_within: Collection[int],
) -> tuple[list[IssueDetails], int]:
    """Return a page of related issues, and their number.

    ``blocked``: issues that the issue blocks; otherwise issues that block it. Only issues of the repositories
    ``issues_within`` and pull requests of ``pulls_within`` are included.
    """
    is_related = issue.c.id.in_(related(issue_id, blocked=blocked))
    ids = select(issue.c.id).where(
        is_related,
        case(
            (issue.c.is_pull, issue.c.repository_id.in_(pulls_within)),
            else_=issue.c.repository_id.in_(issues_within),
        ),
    )
    rows, total = await fetch_page(db, DETAILS.params(viewer=0), page, DetailsRow, issue.c.id, ids=ids)
    return [details_of(row) for row in rows], total
