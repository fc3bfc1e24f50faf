"""Routes that redirect to a review, or to one of its comments on lines, on the right timeline page."""

from typing import Any

from litestar import Response, get

from ingot_chassis.errors import NotFound
from ingot_chassis.http.policy import anyone
from ingot_web.issues.api.conversations import ENTRIES, page_query
from ingot_web.pages.api.request import WebRequest
from ingot_web.repositories.api.frames import RepositoryFrame


@get(
    "/{owner:str}/{repo:str}/pulls/{index:int}/reviews/{review_id:int}",
    policy=anyone(),
    include_in_schema=False,
)
async def find_review(request: WebRequest, index: int, review_id: int) -> Response[bytes]:
    """Redirect to a review on the page of its pull request."""
    frame = RepositoryFrame(request)
    page = await _page_of_review(frame, index, review_id)
    return frame.redirect(f"{page}#pullrequestreview-{review_id}")


@get("/{owner:str}/{repo:str}/pulls/comments/{comment_id:int}", policy=anyone(), include_in_schema=False)
async def find_comment(request: WebRequest, comment_id: int) -> Response[bytes]:
    """Redirect to a comment on a line: below its review, or next to the line if the review is pending."""
    frame = RepositoryFrame(request)
    (comment,) = await frame.load(
        frame.forge.get_if_there("issues", frame.api("pulls", "comments", comment_id))
    )
    if not comment:
        raise NotFound
    index = int(comment["pull_request_url"].rpartition("/")[2])
    page = await _page_of_review(frame, index, comment["pull_request_review_id"])
    return frame.redirect(f"{page}#pullrequestreviewcomment-{comment_id}")


async def _page_of_review(frame: RepositoryFrame, index: int, review_id: int) -> str:
    """Return the path of the page with a review, below the repository. Raises NotFound."""
    (review,) = await frame.load(
        frame.forge.get_if_there("issues", frame.api("pulls", index, "reviews", review_id))
    )
    if not review:
        raise NotFound
    if review["state"] == "PENDING":
        return f"/pulls/{index}/files"
    return f"/pulls/{index}{page_query(await _number_of_page(frame, index, review))}"


async def _number_of_page(frame: RepositoryFrame, index: int, review: Any) -> int:
    """Return the number of the timeline page with the review. Uses binary search in the sorted timeline."""
    path = frame.api("issues", index, "timeline")
    first, last, number = 1, 0, 1
    while True:
        entries, total = await frame.forge.listing("issues", path, page=number, limit=ENTRIES)
        if not entries or any(entry["review_id"] == review["id"] for entry in entries):
            return number
        last = last or -(-total // ENTRIES)
        if entries[-1]["created_at"] <= review["submitted_at"]:
            first = number + 1
        else:
            last = number - 1
        if first > last:
            return 1
        number = (first + last) // 2


routes = [find_review, find_comment]
