"""The due date of an issue."""

from datetime import datetime

import msgspec
from litestar import post

from ingot_issues.access.api.policies import in_repository
from ingot_issues.access.api.request import IssuesRequest
from ingot_issues.issues.api.presentation import issue_of
from ingot_issues.issues.rules import editing as issues
from ingot_issues.issues.rules.editing import IssueEdit
from ingot_issues.records.rules.presenter import whole_seconds


class EditDeadline(msgspec.Struct):
    """A new due date. Without ``due_date`` the due date is removed."""

    due_date: datetime | None = None


class IssueDeadline(msgspec.Struct):
    due_date: datetime | None


@post(
    "/issues/{index:int}/deadline",
    policy=in_repository("write", "write:issue", "numbered"),
    operation_id="issueEditIssueDeadline",
    tags=["issue"],
    status_code=201,
)
async def set_deadline(request: IssuesRequest, index: int, data: EditDeadline) -> IssueDeadline:
    """Set or remove the due date of an issue."""
    issue, context = await issue_of(request, index), await request.context()
    edit = IssueEdit(due_date=data.due_date, remove_due_date=data.due_date is None)
    async with request.db.transaction() as tx:
        edited = await issues.edit_issue(tx, context, issue, edit)
    return IssueDeadline(due_date=whole_seconds(edited.due_date))


routes = [set_deadline]
