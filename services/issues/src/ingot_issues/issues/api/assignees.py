"""The assignees of an issue."""

import msgspec
from litestar import delete, get, post

from ingot_chassis.errors import NotFound
from ingot_contracts.issues.issues import Issue
from ingot_issues.access.api.logins import require_few, resolve_assignees
from ingot_issues.access.api.policies import in_repository
from ingot_issues.access.api.records import issue_id_of
from ingot_issues.access.api.request import IssuesRequest
from ingot_issues.access.api.texts import Logins
from ingot_issues.accounts import store as accounts
from ingot_issues.issues.api.presentation import issue_of
from ingot_issues.issues.api.routes import present
from ingot_issues.issues.rules import editing as issues
from ingot_issues.issues.rules.editing import IssueEdit
from ingot_issues.issues.store import assignees


class ChangeAssignees(msgspec.Struct):
    """A list of assignees by login."""

    assignees: Logins = []

    @property
    def logins(self) -> list[str]:
        return [login for login in dict.fromkeys(self.assignees) if login]


@post(
    "/issues/{index:int}/assignees",
    policy=in_repository("write", "write:issue", "numbered"),
    operation_id="issueAddAssignees",
    tags=["issue"],
    status_code=201,
)
async def add_assignees(request: IssuesRequest, index: int, data: ChangeAssignees) -> Issue:
    """Add assignees to an issue."""
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
    policy=in_repository("write", "write:issue", "numbered"),
    operation_id="issueRemoveAssignees",
    tags=["issue"],
    status_code=200,
)
async def remove_assignees(request: IssuesRequest, index: int, data: ChangeAssignees) -> Issue:
    """Remove assignees from an issue. Logins that are not assigned are ignored."""
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
    policy=in_repository("read", "read:issue", "numbered"),
    operation_id="issueCheckAssignee",
    tags=["issue"],
    status_code=204,
)
async def check_assignee(request: IssuesRequest, index: int, assignee: str) -> None:
    """Answer 204 if the user can be assigned, else 404."""
    await issue_id_of(request, index)
    account = await request.components.identity.account_by_name(assignee)
    if account.kind != "user":
        raise NotFound
    access = await request.components.repos.access_of_user_by_id(account.id, request.repository_id)
    request.require_reader(access)


routes = [add_assignees, remove_assignees, check_assignee]
