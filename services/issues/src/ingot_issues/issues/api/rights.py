"""Rights of the caller to an issue. Only web calls this, so pages need not repeat the rules."""

from litestar import get

from ingot_contracts.issues.rights import IssueRights
from ingot_issues.access.api.policies import for_peer, in_repository
from ingot_issues.access.api.request import IssuesRequest
from ingot_issues.access.rules.repositories import may_edit_issue
from ingot_issues.issues.api.presentation import issue_of


@get(
    "/internal/repos/{owner:str}/{repo:str}/issues/{index:int}/rights",
    policy=for_peer(in_repository("own", "read:issue", "numbered"), "web"),
    include_in_schema=False,
)
async def get_rights(request: IssuesRequest, index: int) -> IssueRights:
    """Get the rights of the caller to an issue or pull request."""
    issue, caller = await issue_of(request, index), request.principal
    is_archived = request.access.repository.archived
    may_edit = await request.allowed(lambda access: may_edit_issue(access, caller, issue.author_id))
    return IssueRights(may_edit=may_edit and not is_archived)


routes = [get_rights]
