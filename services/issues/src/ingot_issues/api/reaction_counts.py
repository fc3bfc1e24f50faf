"""How many people react to an issue and to each of its comments, at once."""

import msgspec
from litestar import get

from ingot_issues.api.issues import issue_of
from ingot_issues.api.policies import in_repository
from ingot_issues.api.request import IssuesRequest
from ingot_issues.store import reaction_counts as store


class ReactionCount(msgspec.Struct):
    """``comment_id`` is null for the issue itself; ``own``: the caller is among them."""

    comment_id: int | None
    content: str
    count: int
    own: bool


@get(
    "/issues/{index:int}/reactions/counts",
    policy=in_repository("read", "read:issue", "issues"),
    operation_id="issueCountReactions",
    tags=["issue"],
)
async def count_reactions(request: IssuesRequest, index: int) -> list[ReactionCount]:
    """Reactions to an issue and its comments, counted by their content."""
    issue = await issue_of(request, index)
    async with request.db.read() as db:
        rows = await store.count_of_issue(db, issue.id, viewer_id=request.principal.id)
    return [ReactionCount(row.comment_id, row.content, row.count, bool(row.own)) for row in rows]


routes = [count_reactions]
