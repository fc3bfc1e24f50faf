"""Routes for a comment on a line of a pull request: the form to edit or delete it."""

from typing import Any

from litestar import Response, get, post

from ingot_chassis.errors import ApiError, Invalid, NotFound
from ingot_chassis.http.policy import anyone
from ingot_web.attachments.api import send_with_files
from ingot_web.forms.rules.fields import Form
from ingot_web.issues.api.comments import comment_page, require_author
from ingot_web.pages.api.request import WebRequest
from ingot_web.previews.api import preview
from ingot_web.repositories.api.frames import RepositoryFrame
from ingot_web.reviews.api.files import EARLY, back_to_page, line_context

COMMENT = "/{owner:str}/{repo:str}/pulls/{index:int}/comments/{comment_id:int}"


def _api(frame: RepositoryFrame, comment_id: int) -> str:
    return frame.api("pulls", "comments", comment_id)


async def _comment(frame: RepositoryFrame, index: int, comment_id: int) -> Any:
    """Return the comment. Raises NotFound, also for a comment on another pull request."""
    (shown,) = await frame.load(frame.forge.get_if_there("issues", _api(frame, comment_id)))
    if not shown or not shown["pull_request_url"].endswith(f"/pulls/{index}"):
        raise NotFound
    return shown


@get(COMMENT, policy=anyone(), include_in_schema=False)
async def edit(request: WebRequest, index: int, comment_id: int) -> Response[str]:
    """Show the form to edit or delete a comment.

    ``back`` and ``style`` in the query identify the page to return to.
    """
    request.require_signed_in()
    frame = RepositoryFrame(request)
    shown = await _comment(frame, index, comment_id)
    require_author(frame, shown)
    return await _page(frame, index, shown, Form([*request.query_params.multi_items()]))


async def _takes_files(frame: RepositoryFrame, index: int, shown: Any) -> bool:
    """True if the caller may add files to a comment. Its review must be submitted."""
    pull, review = await frame.load(
        frame.forge.get_if_there("issues", frame.api("pulls", index)),
        frame.forge.get_if_there(
            "issues", frame.api("pulls", index, "reviews", shown["pull_request_review_id"])
        ),
    )
    return bool(pull and review and review["state"] != "PENDING" and line_context(frame, pull)["can_attach"])


async def _page(
    frame: RepositoryFrame, index: int, shown: Any, form: Form, problem: ApiError | None = None
) -> Response[str]:
    own = f"/pulls/{index}/comments/{shown['id']}"
    place = [(name, form.text(name)) for name in ("back", "style")]
    return comment_page(
        frame,
        own,
        shown["body"],
        f"/pulls/{index}",
        problem,
        tab="pulls",
        fields=place,
        takes_files=await _takes_files(frame, index, shown),
    )


@post(COMMENT, policy=anyone(), include_in_schema=False)
async def save(request: WebRequest, index: int, comment_id: int) -> Response[Any]:
    """Edit a comment."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    if form.has("preview"):
        return await preview(frame, form, "Save comment")
    try:
        if form.files and not await _takes_files(frame, index, await _comment(frame, index, comment_id)):
            raise Invalid.field("files", "early", f"{EARLY}, or you may not add them")
        path, issue = _api(frame, comment_id), frame.api("issues", index)
        await send_with_files(frame, form, issue, "PATCH", path, lambda text: {"body": text})
    except ApiError as error:
        return await preview(frame, form, "Save comment", problem=error)
    anchor = f"#pullrequestreviewcomment-{comment_id}"
    return back_to_page(frame, index, form, form.text("back"), anchor)


@post(f"{COMMENT}/delete", policy=anyone(), include_in_schema=False)
async def delete(request: WebRequest, index: int, comment_id: int) -> Response[Any]:
    """Delete a comment."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    shown = await _comment(frame, index, comment_id)
    try:
        await frame.forge.send("DELETE", "issues", _api(frame, comment_id))
    except ApiError as error:
        return await _page(frame, index, shown, form, error)
    return back_to_page(frame, index, form, form.text("back"))


routes = [edit, save, delete]
