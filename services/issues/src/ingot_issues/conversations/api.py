"""The conversation of an issue or pull request. Only web calls this, with one call per page."""

from asyncio import gather

from litestar import get

from ingot_chassis.http.paging import Page
from ingot_contracts.issues.conversations import MOST_RELATED, IssueConversation
from ingot_contracts.issues.issues import Issue
from ingot_issues.access.api.policies import for_peer, in_repository
from ingot_issues.access.api.records import issue_id_of
from ingot_issues.access.api.request import IssuesRequest
from ingot_issues.issues.api.dependencies import related_page, uses_dependencies
from ingot_issues.reactions.api import counts_of
from ingot_issues.timeline.api import timeline_page

FIRST = Page(1, MOST_RELATED)


@get(
    "/internal/repos/{owner:str}/{repo:str}/issues/{index:int}/conversation",
    policy=for_peer(in_repository("read", "read:issue", "numbered"), "web"),
    include_in_schema=False,
)
async def get_conversation(request: IssuesRequest, index: int) -> IssueConversation:
    """Get a page of the timeline, and everything else that the page of an issue shows with it."""
    issue_id = await issue_id_of(request, index)
    (timeline, total), (reactions, _), blockers, blocks = await gather(
        timeline_page(request, issue_id, request.page()),
        counts_of(request, issue_id),
        _blockers(request, issue_id),
        related_page(request, issue_id, FIRST, blocked=True),
    )
    return IssueConversation(
        timeline=timeline, total=total, reactions=reactions, blockers=blockers, blocks=blocks[0]
    )


async def _blockers(request: IssuesRequest, issue_id: int) -> list[Issue]:
    """Return the issues that block an issue; none if dependencies are switched off."""
    if not await uses_dependencies(request):
        return []
    return (await related_page(request, issue_id, FIRST, blocked=False))[0]


routes = [get_conversation]
