"""Routes for one comment of an issue or pull request: the form to edit or delete it, and a redirect."""

from collections.abc import Sequence
from typing import Any

from litestar import Response, get, post

from ingot_chassis.errors import ApiError, Denied, NotFound
from ingot_chassis.http.policy import anyone
from ingot_web.attachments.api import REMOVAL, remove, send_with_files
from ingot_web.forms.rules.fields import Form
from ingot_web.issues.api.conversations import page_of_entry, page_query
from ingot_web.pages.api.request import WebRequest
from ingot_web.previews.api import preview
from ingot_web.repositories.api.frames import RepositoryFrame

COMMENT = "/{owner:str}/{repo:str}/comments/{comment_id:int}"


async def _comment(frame: RepositoryFrame, comment_id: int) -> Any:
    """Return the comment. Raises NotFound."""
    (shown,) = await frame.load(
        frame.forge.get_if_there("issues", frame.api("issues", "comments", comment_id))
    )
    if not shown:
        raise NotFound
    return shown


def _number(comment: Any) -> str:
    """Return the number of the comment's issue, as text."""
    return str((comment["issue_url"] or comment["pull_request_url"]).rsplit("/", 1)[-1])


@get("/{owner:str}/{repo:str}/issues/comments/{comment_id:int}", policy=anyone(), include_in_schema=False)
async def find(request: WebRequest, comment_id: int) -> Response[bytes]:
    """Redirect to the comment on the page of its issue."""
    frame = RepositoryFrame(request)
    shown = await _comment(frame, comment_id)
    number = _number(shown)
    query = page_query(await page_of_entry(frame, number, comment_id))
    return frame.redirect(f"/issues/{number}{query}#issuecomment-{comment_id}")


@get(COMMENT, policy=anyone(), include_in_schema=False)
async def edit(request: WebRequest, comment_id: int) -> Response[str]:
    """Show the form to edit or delete a comment."""
    request.require_signed_in()
    frame = RepositoryFrame(request)
    shown = await _comment(frame, comment_id)
    require_author(frame, shown)
    return _page(frame, comment_id, shown)


def require_author(frame: RepositoryFrame, comment: Any) -> None:
    """Raise Denied unless the caller wrote the comment or administers the repository."""
    is_own = comment["user"]["login"] == frame.request.principal.name
    if not is_own and not frame.repository["permissions"]["admin"]:
        raise Denied("you may not change this comment")


def _page(
    frame: RepositoryFrame, comment_id: int, shown: Any, problem: ApiError | None = None
) -> Response[str]:
    own, back = f"/comments/{comment_id}", f"/issues/comments/{comment_id}"
    files = shown.get("assets") or []
    takes_files = frame.request.takes_attachments
    return comment_page(
        frame, own, shown["body"], back, problem, tab="issues", takes_files=takes_files, files=files
    )


def comment_page(
    frame: RepositoryFrame,
    own: str,
    body: str,
    back: str,
    problem: ApiError | None,
    *,
    tab: str,
    takes_files: bool,
    files: Sequence[Any] = (),
    fields: Sequence[tuple[str, str]] = (),
) -> Response[str]:
    """Return the form that is sent to ``own``. ``back`` is the path of the Cancel link.

    Both paths are below the path of the repository. ``fields`` are hidden fields of the form.
    """
    return frame.render(
        "issues/comment.html",
        tab=tab,
        title="Edit comment",
        error=problem,
        own=own,
        back=back,
        body=body,
        fields=fields,
        takes_files=takes_files,
        files=files,
        removal=REMOVAL,
    )


@post(COMMENT, policy=anyone(), include_in_schema=False)
async def save(request: WebRequest, comment_id: int) -> Response[Any]:
    """Edit a comment, or remove one of its files."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    path = frame.api("issues", "comments", comment_id)
    if form.has("remove"):
        return await _remove_file(frame, form, comment_id, path)
    if form.has("preview"):
        return await preview(frame, form, "Save comment")
    try:
        await send_with_files(frame, form, path, "PATCH", path, lambda text: {"body": text})
    except ApiError as error:
        return await preview(frame, form, "Save comment", problem=error)
    return frame.redirect(f"/issues/comments/{comment_id}")


async def _remove_file(frame: RepositoryFrame, form: Form, comment_id: int, path: str) -> Response[Any]:
    shown = await _comment(frame, comment_id)
    try:
        outcome = await remove(frame, form, path, shown)
    except ApiError as error:
        return _page(frame, comment_id, await _comment(frame, comment_id), error)
    return frame.request.redirect_with_outcome(f"{frame.base}/comments/{comment_id}", outcome)


@post(f"{COMMENT}/delete", policy=anyone(), include_in_schema=False)
async def delete(request: WebRequest, comment_id: int) -> Response[Any]:
    """Delete a comment."""
    await request.sent_form()
    frame = RepositoryFrame(request)
    shown = await _comment(frame, comment_id)
    try:
        await frame.forge.send("DELETE", "issues", frame.api("issues", "comments", comment_id))
    except ApiError as error:
        return _page(frame, comment_id, shown, error)
    number = _number(shown)
    return frame.redirect(f"/issues/{number}{page_query(await page_of_entry(frame, number, comment_id))}")


routes = [find, edit, save, delete]
