"""How many people react to an issue and to each of its comments, at once."""

import msgspec
from litestar import Response, get

from ingot_issues.api.issues import issue_id_of
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
async def count_reactions(request: IssuesRequest, index: int) -> Response[list[ReactionCount]]:
    """Reactions to an issue and its comments, counted by their content: all, unless `page` or `limit` is given."""
    issue_id, page = await issue_id_of(request, index), request.page()
    is_paged = "page" in request.query_params or "limit" in request.query_params
    async with request.db.read() as db:
        rows, total = await store.count_of_issue(
            db, issue_id, viewer_id=request.principal.id, page=page if is_paged else None
        )
    counts = [ReactionCount(row.comment_id, row.content, row.count, bool(row.own)) for row in rows]
    return Response(counts, headers=request.page_headers(page, total) if is_paged else None)


routes = [count_reactions]
