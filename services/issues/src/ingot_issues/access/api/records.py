"""Lookup of the rows of issues and pull requests that a path names."""

from ingot_chassis.errors import NotFound
from ingot_issues.access.api.request import IssuesRequest
from ingot_issues.records.store import issues as issue_rows
from ingot_issues.records.store import timeline
from ingot_issues.records.store.issues import IssueKeyRow, IssueRow
from ingot_issues.records.store.timeline import CommentKeyRow, CommentKind


async def issue_id_of(request: IssuesRequest, number: int) -> int:
    """Return the id of the numbered issue or pull request. Raises NotFound."""
    return (await issue_key_of(request, number)).id


async def issue_key_of(request: IssuesRequest, number: int) -> IssueKeyRow:
    """Return the key of the numbered issue or pull request. Raises NotFound."""
    async with request.db.read() as db:
        key = await issue_rows.get_key(db, request.repository_id, number)
    if key is None:
        raise NotFound
    await request.enter(is_pull=key.is_pull)
    return key


async def issue_row_of(request: IssuesRequest, number: int) -> IssueRow:
    """Return the row of the numbered issue or pull request. Raises NotFound."""
    async with request.db.read() as db:
        row = await issue_rows.get(db, request.repository_id, number)
    if row is None:
        raise NotFound
    await request.enter(is_pull=row.is_pull)
    return row


async def comment_key_of(request: IssuesRequest, comment_id: int) -> CommentKeyRow:
    """Return the issue and the author of a comment. Raises NotFound, also for other rows of a timeline."""
    async with request.db.read() as db:
        row = await timeline.get_key(db, request.repository_id, comment_id)
    if row is None or row.kind != CommentKind.COMMENT:
        raise NotFound
    await request.enter(is_pull=row.is_pull)
    return row
