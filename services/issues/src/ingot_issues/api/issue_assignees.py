"""The people to whom one issue is assigned."""

import msgspec
from litestar import delete, get, post

from ingot_chassis.errors import NotFound
from ingot_contracts.issues import Issue
from ingot_issues.api.assignees import require_few, resolve_assignees
from ingot_issues.api.issues import issue_of, present
from ingot_issues.api.policies import in_repository
from ingot_issues.api.request import IssuesRequest
from ingot_issues.api.texts import Logins
from ingot_issues.core import issues
from ingot_issues.core.issues import IssueEdit
from ingot_issues.store import accounts, assignees


class ChangeAssignees(msgspec.Struct):
    """Logins."""

    assignees: Logins = []

    @property
    def logins(self) -> list[str]:
        return [login for login in dict.fromkeys(self.assignees) if login]


@post(
    "/issues/{index:int}/assignees",
    policy=in_repository("write", "write:issue", "issues"),
    operation_id="issueAddAssignees",
    tags=["issue"],
    status_code=201,
)
async def add_assignees(request: IssuesRequest, index: int, data: ChangeAssignees) -> Issue:
    """Assign an issue to more people."""
    issue = await issue_of(request, index)
    added_ids = await resolve_assignees(request, data.logins, issue.assignee_ids)
    context = await request.context()
    async with request.db.transaction() as tx:
        await context.lock(tx, issue.id)
        ids = list(dict.fromkeys([*await assignees.list_ids(tx, issue.id), *added_ids]))
        require_few(ids, "assignees")
        edited = await issues.edit_issue(tx, context, issue, IssueEdit(assignees=ids))
    return present(request, edited)


@delete(
    "/issues/{index:int}/assignees",
    policy=in_repository("write", "write:issue", "issues"),
    operation_id="issueRemoveAssignees",
    tags=["issue"],
    status_code=200,
)
async def remove_assignees(request: IssuesRequest, index: int, data: ChangeAssignees) -> Issue:
    """Assign an issue to these people no longer; nothing happens for those to whom it is not assigned."""
    issue, logins = await issue_of(request, index), data.logins
    require_few(logins, "assignees")
    async with request.db.read() as db:
        removed_ids = set((await accounts.user_ids_by_login(db, logins)).values())
    context = await request.context()
    async with request.db.transaction() as tx:
        await context.lock(tx, issue.id)
        ids = [one for one in await assignees.list_ids(tx, issue.id) if one not in removed_ids]
        edited = await issues.edit_issue(tx, context, issue, IssueEdit(assignees=ids))
    return present(request, edited)


@get(
    "/issues/{index:int}/assignees/{assignee:str}",
    policy=in_repository("read", "read:issue", "issues"),
    operation_id="issueCheckAssignee",
    tags=["issue"],
    status_code=204,
)
async def check_assignee(request: IssuesRequest, index: int, assignee: str) -> None:
    """204 for somebody to whom the issue may be assigned, 404 for others."""
    await issue_of(request, index)
    account = await request.components.identity.account_by_name(assignee)
    if account.kind != "user":
        raise NotFound
    await request.components.repos.access_of_user_by_id(account.id, request.repository_id)


routes = [add_assignees, remove_assignees, check_assignee]
