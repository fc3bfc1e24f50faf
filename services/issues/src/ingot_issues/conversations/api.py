"""The conversation of an issue or pull request. Only web calls this, with one call per page."""

from asyncio import gather

from litestar import get

from ingot_chassis.http.paging import Page
from ingot_contracts.issues.conversations import MOST_RELATED, IssueConversation
from ingot_contracts.issues.issues import Issue
from ingot_contracts.issues.merges import ScheduledMerge
from ingot_issues.access.api.policies import for_peer, in_repository
from ingot_issues.access.api.records import issue_key_of
from ingot_issues.access.api.request import IssuesRequest
from ingot_issues.issues.api.dependencies import related_page, uses_dependencies
from ingot_issues.merges.api import scheduled_merge_of
from ingot_issues.reactions.api import counts_of
from ingot_issues.records.store.issues import IssueKeyRow
from ingot_issues.timeline.api import timeline_page

FIRST = Page(1, MOST_RELATED)


@get(
    "/internal/repos/{owner:str}/{repo:str}/issues/{index:int}/conversation",
    policy=for_peer(in_repository("read", "read:issue", "numbered"), "web"),
    include_in_schema=False,
)
async def get_conversation(request: IssuesRequest, index: int) -> IssueConversation:
    """Get a page of the timeline, and everything else that the page of an issue shows with it."""
    key = await issue_key_of(request, index)
    (timeline, total), (reactions, _), blockers, (blocks, _), scheduled = await gather(
        timeline_page(request, key.id, request.page()),
        counts_of(request, key.id),
        _blockers(request, key.id),
        related_page(request, key.id, FIRST, blocked=True),
        _scheduled_merge(request, key),
    )
    return IssueConversation(
        timeline=timeline,
        total=total,
        reactions=reactions,
        blockers=blockers,
        blocks=blocks,
        scheduled_merge=scheduled,
    )


async def _blockers(request: IssuesRequest, issue_id: int) -> list[Issue]:
    """Return the issues that block an issue; none if dependencies are switched off."""
    if not await uses_dependencies(request):
        return []
    return (await related_page(request, issue_id, FIRST, blocked=False))[0]


async def _scheduled_merge(request: IssuesRequest, key: IssueKeyRow) -> ScheduledMerge | None:
    return await scheduled_merge_of(request, key.id) if key.is_pull else None


routes = [get_conversation]
