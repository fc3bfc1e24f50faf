"""Suggestions of reviews: commits the suggested lines to the branch of the pull request."""

from base64 import b64decode, b64encode
from typing import Any

from litestar import Response, post

from ingot_chassis.errors import Conflict, Invalid, NotFound, TooLarge
from ingot_chassis.http.policy import anyone
from ingot_web.clients.forge import at
from ingot_web.pages.api.request import WebRequest
from ingot_web.repositories.api.frames import RepositoryFrame
from ingot_web.reviews.api.files import chosen_style, committed_words
from ingot_web.reviews.rules.suggestions import (
    has_lines,
    is_same_line,
    lines_commented,
    suggestion_in,
    with_suggestion,
)

CHANGED = "the line is not what it was when this was suggested"
EDITED = "the suggestion is not the one that was shown"


@post(
    "/{owner:str}/{repo:str}/pulls/{index:int}/comments/{comment_id:int}/apply",
    policy=anyone(),
    include_in_schema=False,
)
async def apply(request: WebRequest, index: int, comment_id: int) -> Response[bytes]:
    """Commit the suggestion of a comment. The caller needs write access to the branch.

    Raises Conflict if the suggestion or the line has changed.
    """
    form, frame = await request.sent_form(), RepositoryFrame(request)
    pull, (_, comments) = await frame.load(
        frame.forge.get("issues", frame.api("pulls", index)), frame.forge.reviews(frame.base, index)
    )
    comment = next((one for one in comments.rows if one["id"] == comment_id), None)
    suggestion = suggestion_in(comment["body"]) if comment else None
    if comment is None or suggestion is None or not comment["position"]:
        raise NotFound
    if form.lines("suggestion") != suggestion:
        raise Conflict(EDITED)
    if pull["state"] != "open" or pull["head"]["repo"] is None:
        raise Conflict("the pull request is closed, or its branch is gone")
    change = await _change(frame, pull, comment, suggestion)
    message = f"Apply a suggestion of {comment['user']['login']} to {comment['path']}"
    body = {"branch": pull["head"]["ref"], "message": message, "files": [change]}
    answer = await frame.forge.send("POST", "repos", _head(pull, "contents"), body)
    # issues hears of the push a moment later, so the page says what was done.
    style, sha = chosen_style(form.text("style")), answer["commit"]["sha"]
    proof = request.proof(committed_words(sha))
    return frame.redirect(
        f"/pulls/{index}/files?style={style}&committed={sha}&proof={proof}#thread-{comment_id}"
    )


def _head(pull: Any, *segments: str) -> str:
    """Return an API path below the head repository."""
    return "/repos" + at(*pull["head"]["repo"]["full_name"].split("/"), *segments)


async def _change(frame: RepositoryFrame, pull: Any, comment: Any, suggestion: str) -> dict[str, str]:
    """Return the file with the suggestion, as a change for the API. Raises Conflict, Invalid, TooLarge."""
    head, commit = pull["head"]["sha"], comment["commit_id"]
    file, content = await _read(frame, pull, comment["path"], head)
    number, commented = comment["position"], lines_commented(comment["diff_hunk"])
    if comment["outdated"] or not commented or not has_lines(content, number, commented):
        raise Conflict(CHANGED)
    if commit != head:
        try:
            _, before = await _read(frame, pull, comment["path"], commit)
        except NotFound:
            raise Conflict(CHANGED) from None
        if not has_lines(before, number, commented) or not is_same_line(before, content, number):
            raise Conflict(CHANGED)
    changed = with_suggestion(content, number, suggestion)
    return {
        "operation": "update",
        "path": comment["path"],
        "sha": file["sha"],
        "content": b64encode(changed).decode(),
    }


async def _read(frame: RepositoryFrame, pull: Any, path: str, commit: str) -> tuple[Any, bytes]:
    """Return a file of the head repository, and its bytes.

    Raises NotFound, Invalid, TooLarge.
    """
    listed = await frame.forge.get(
        "repos",
        _head(pull, "contents-ext", *path.split("/")),
        ref=commit,
        includes="file_content,lfs_metadata",
    )
    file = listed.get("file_contents")
    if file is None or file["type"] != "file" or "lfs_oid" in file:
        raise Invalid("it is no file that can be changed here")
    if file["content"] is None:
        raise TooLarge("the file is too large to be changed here")
    return file, b64decode(file["content"])


routes = [apply]
