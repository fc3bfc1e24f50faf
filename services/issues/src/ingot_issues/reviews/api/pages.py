"""Reviews of a pull request with comments on lines. Only web calls this, with one call per page."""

from asyncio import gather

from litestar import get

from ingot_chassis.http.paging import MAX_LIMIT, Page
from ingot_contracts.issues.reviews import PullReview, PullReviews
from ingot_issues.access.api.policies import for_peer, in_repository
from ingot_issues.access.api.request import IssuesRequest
from ingot_issues.records.store.issues import AnyPull
from ingot_issues.reviews import store
from ingot_issues.reviews.api.comments import latest_comments
from ingot_issues.reviews.api.routes import present, pull_row_of


@get(
    "/internal/repos/{owner:str}/{repo:str}/pulls/{index:int}/reviews",
    policy=for_peer(in_repository("read", "read:repository", "pulls"), "web"),
    include_in_schema=False,
)
async def get_reviews(request: IssuesRequest, index: int) -> PullReviews:
    """Get the reviews of a pull request, and the latest comments on lines."""
    pull = await pull_row_of(request, index)
    reviews, (comments, total) = await gather(_reviews(request, pull), latest_comments(request, pull))
    return PullReviews(reviews=reviews, comments=comments, comment_total=total)


async def _reviews(request: IssuesRequest, pull: AnyPull) -> list[PullReview]:
    """Return the reviews, oldest first. Of more than three pages, return the first page and the last two."""
    caller = request.principal.id
    async with request.db.read() as db:
        rows, total = await store.list_page(db, pull.id, Page(1, MAX_LIMIT), viewer_id=caller)
        rows, last = list(rows), -(-total // MAX_LIMIT)
        for number in range(max(2, last - 1), last + 1):
            more, _ = await store.list_page(db, pull.id, Page(number, MAX_LIMIT), viewer_id=caller)
            rows += more
    return await present(request, pull, *rows)


routes = [get_reviews]
