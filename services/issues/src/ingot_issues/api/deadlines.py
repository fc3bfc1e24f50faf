"""The due date of an issue."""

from datetime import datetime

import msgspec
from litestar import post

from ingot_issues.api.issues import issue_of
from ingot_issues.api.policies import in_repository
from ingot_issues.api.request import IssuesRequest
from ingot_issues.core import issues
from ingot_issues.core.issues import IssueEdit
from ingot_issues.core.presenter import whole_seconds


class EditDeadline(msgspec.Struct):
    """Without ``due_date`` the issue has none any more."""

    due_date: datetime | None = None


class IssueDeadline(msgspec.Struct):
    due_date: datetime | None


@post(
    "/issues/{index:int}/deadline",
    policy=in_repository("write", "write:issue", "issues"),
    operation_id="issueEditIssueDeadline",
    tags=["issue"],
    status_code=201,
)
async def set_deadline(request: IssuesRequest, index: int, data: EditDeadline) -> IssueDeadline:
    """Say until when an issue is to be closed, or that there is no such date."""
    issue, context = await issue_of(request, index), await request.context()
    edit = IssueEdit(due_date=data.due_date, remove_due_date=data.due_date is None)
    async with request.db.transaction() as tx:
        edited = await issues.edit_issue(tx, context, issue, edit)
    return IssueDeadline(due_date=whole_seconds(edited.due_date))


routes = [set_deadline]
