"""For web only: what the caller may do to an issue, so that no page repeats the rules."""

from litestar import get

from ingot_contracts.issue_rights import IssueRights
from ingot_issues.api.issues import issue_of
from ingot_issues.api.policies import for_web, in_repository
from ingot_issues.api.request import IssuesRequest
from ingot_issues.core.access import may_edit_issue


@get(
    "/internal/repos/{owner:str}/{repo:str}/issues/{index:int}/rights",
    policy=for_web(in_repository("own", "read:issue", "issues")),
    include_in_schema=False,
)
async def get_rights(request: IssuesRequest, index: int) -> IssueRights:
    """What the caller may do to an issue or pull request."""
    issue, caller = await issue_of(request, index), request.principal
    is_archived = request.access.repository.archived
    may_edit = await request.allowed(lambda access: may_edit_issue(access, caller, issue.author_id))
    return IssueRights(may_edit=may_edit and not is_archived)


routes = [get_rights]
