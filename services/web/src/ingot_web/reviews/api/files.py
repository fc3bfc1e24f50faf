"""Routes for changes of a pull request with comments on lines, and for the forms of reviews."""

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlencode

from litestar import Response, get, post

from ingot_chassis.errors import ApiError, Conflict, Invalid
from ingot_chassis.http.policy import anyone
from ingot_web.attachments.api import send_with_files
from ingot_web.diffs.api.changes import FILES, file_shown, hides_spaces
from ingot_web.diffs.rules.parsing import line_at
from ingot_web.forms.rules.fields import Form, whole_number
from ingot_web.history.api.commits import LISTED
from ingot_web.issues.api.conversations import as_issue, page_query
from ingot_web.pages.api.request import WebRequest
from ingot_web.previews.api import preview
from ingot_web.repositories.api.frames import RepositoryFrame
from ingot_web.reviews.api.changes import AGAIN, TARGET, changes_shown, moved_words, read_pull_changes
from ingot_web.reviews.api.checks import statuses_of
from ingot_web.reviews.rules.conversations import (
    Conversation,
    conversations_of,
    pending_reviews,
    place,
    unresolved,
)
from ingot_web.reviews.rules.file_trees import FileTree, file_tree
from ingot_web.reviews.rules.file_views import note_views
from ingot_web.reviews.rules.suggestions import suggestion_draft, with_draft

_COMMIT = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")
STYLES = ("unified", "split")
SEND = "Submit review"
EARLY = "would be seen before the review is sent"
"""The error for files in a comment whose review is pending."""
SUGGEST = "suggest"
"""The value of the button that adds a suggestion to the text of a comment."""


async def conversations_on_lines(
    frame: RepositoryFrame, comments: list[Any], reviews: list[Any]
) -> list[Conversation]:
    """Return the conversations of these comments, with their texts as HTML. One request renders all texts."""
    texts = [comment["body"] for comment in comments]
    html = await frame.forge.render(texts, context=frame.repository["full_name"])
    return conversations_of(zip(comments, html, strict=True), pending_reviews(reviews))


def line_context(
    frame: RepositoryFrame, pull: Any, *, style: str = "unified", back: str = ""
) -> dict[str, Any]:
    """Return the template values for conversations on lines.

    ``back`` names a page of the changes (``_name_of_page``) or of the timeline.
    """
    viewer, repository = frame.request.principal, frame.repository
    can_push = bool(repository["permissions"] and repository["permissions"]["push"])
    changes_pull = viewer.signed_in and (frame.writes("pulls") or viewer.name == pull["user"]["login"])
    return {
        "own": f"{frame.request.root}/{repository['full_name']}/pulls/{pull['number']}",
        "style": style,
        "back": back,
        "can_comment": viewer.signed_in
        and not repository["archived"]
        and (frame.writes("pulls") or not pull["is_locked"]),
        "page_of_files": [],
        "present_page": [],
        "shown": changes_shown(pull),
        "can_resolve": changes_pull,
        "can_attach": changes_pull and frame.request.takes_attachments,
        "can_apply": viewer.signed_in and _may_push_to_head(frame, pull, can_push=can_push),
        "can_update": viewer.signed_in and _may_update_head(frame, pull, can_push=can_push),
        "link": "",
        "file": 0,
        "draft": "",
        "pending": None,
        "leaves_out": False,
    }


def _may_push_to_head(frame: RepositoryFrame, pull: Any, *, can_push: bool) -> bool:
    """True if the page may offer the viewer to commit to the head. repos checks the commit itself."""
    head = pull["head"]["repo"]
    if pull["state"] != "open" or head is None or head["archived"]:
        return False
    if head["full_name"] == frame.repository["full_name"]:
        return can_push
    return bool(head["owner"]["login"] == frame.request.principal.name)


def _may_update_head(frame: RepositoryFrame, pull: Any, *, can_push: bool) -> bool:
    """True if the page offers the viewer to update the head.

    Maintainers of the base are allowed if the author allows edits by maintainers.
    """
    if _may_push_to_head(frame, pull, can_push=can_push):
        return True
    head = pull["head"]["repo"]
    is_open = pull["state"] == "open" and head is not None and not head["archived"]
    return bool(can_push and is_open and pull.get("allow_maintainer_edit"))


def _name_of_page(file: int, number: int, hides: int, shown: Mapping[str, str]) -> str:
    """Return the name of a page of changes, which forms use to return to it.

    ``shown`` is the target if the page shows only some commits.
    """
    if shown:
        commit, base_branch, merge_base = (shown[name] for name in TARGET)
        return f"files/{file}/{number}/{hides}/{commit}/{merge_base}/{base_branch}"
    return f"files/{file}/{number}/{hides}" if file or number > 1 or hides else "files"


def _query_of_page(file: int, number: int, hides: int) -> list[tuple[str, int | str]]:
    """Return the query of a page of changes: the file, the page number, and hidden white space."""
    values = (("file", file, 0), ("page", number, 1), ("w", min(hides, 1), 0))
    return [(name, value) for name, value, first in values if value > first]


def chosen_style(text: str) -> str:
    return text if text in STYLES else STYLES[0]


@get("/{owner:str}/{repo:str}/pulls/{index:int}/files", policy=anyone(), include_in_schema=False)
async def files(request: WebRequest, index: int) -> Response[Any]:
    """Show the changes of a pull request. ``at`` in the query opens the comment form of a line.

    ``path`` redirects to the page of that file.
    """
    frame = RepositoryFrame(request)
    (pull, changes, pages, problem), statuses, (reviews, comments), views = await frame.load(
        read_pull_changes(frame, index),
        statuses_of(frame, index),
        frame.forge.reviews(frame.base, index),
        _views(frame, index),
    )
    committed, proof = (request.query_params.get(name, "") for name in ("committed", "proof"))
    style = chosen_style(request.query_params.get("style", ""))
    part = (file_shown(request), request.number, int(hides_spaces(request)))
    tree = FileTree()
    conversations = await conversations_on_lines(frame, comments.rows, reviews)
    shown = changes_shown(pull)
    target = [(name, value) for name, value in shown.items() if value]
    others = [(name, value) for name, value in pages["parameters"] if name not in TARGET]
    pages = {**pages, "parameters": others + target}
    is_part = bool(part[0]) or pages["last"] > 1
    # A file that comes later stays on the page of its neighbours.
    name = (0, (part[0] - 1) // FILES + 1, part[2]) if part[0] and request.wants_part else part
    own = line_context(frame, pull, style=style, back=_name_of_page(*name, shown if is_part else {}))
    own["present_page"] = _query_of_page(*part)
    own["page_of_files"] = own["present_page"] + (target if is_part else [])
    own["pending"] = next((review for review in reviews if review["state"] == "PENDING"), None)
    if own["can_comment"] and pull["state"] == "open":
        own["link"] = f"?{urlencode([('style', style), *own['page_of_files']])}&at="
    if changes is not None:
        changes.before, changes.after = pull.get("merge_base") or "", pull["head"]["sha"]
        changes.target = target
        changes.text = f"/pulls/{index}.diff?{urlencode(target)}"
        if views is not None:
            note_views(changes, views)
        own["leaves_out"] = comments.total > len(comments.rows)
        place(changes, conversations)
        if pages["total"] > 1 and not request.wants_part and not changes.is_file:
            path = frame.api("pulls", index, "files")
            rows = await frame.forge.rows_if_there("issues", path, **dict(target)) or []
            tree = file_tree(rows, pages["total"], FILES, conversations, views, changes)
            if named := tree.number_of(request.query_params.get("path", "")):
                return frame.redirect(f"/pulls/{index}/files?file={named}")
        if own["link"] and (commented := line_at(changes, request.query_params.get("at", ""))):
            file, line = commented
            line.has_form, own["file"] = True, file.number
            own["side"] = "old" if line.kind == "del" else "new"
            own["path"] = (file.old_path or file.path) if line.kind == "del" else file.path
            own["line"] = line.old if line.kind == "del" else line.new
            # Bytes that are not UTF-8 would be lost in the file.
            if line.kind != "del" and "\ufffd" not in line.text:
                own["draft"] = suggestion_draft(line.text)
    return frame.render(
        "reviews/files.html",
        in_place="reviews/more_files.html",
        tab="pulls",
        title=f"Changes of {pull['title']} #{index}",
        page_name="files",
        error=problem,
        checks=statuses,
        pull=pull,
        issue=as_issue(pull),
        changes=changes,
        unresolved=unresolved(comments.rows, reviews),
        reviewed=await _reviewed_before(frame, pull, reviews),
        tree=tree,
        pages=pages,
        line_context=own,
        committed=committed if request.proves(committed_words(committed), proof) else "",
        proof=proof,
    )


async def _reviewed_before(frame: RepositoryFrame, pull: Any, reviews: list[Any]) -> tuple[str, bool]:
    """Return the commit of the caller's last review, and True if it can be read.

    The commit is empty if the caller has reviewed the current head, or has not reviewed the pull request. It
    may be unreadable after a force-push.
    """
    viewer = frame.request.principal
    own = [
        review.get("commit_id", "")
        for review in reviews
        if viewer.signed_in
        and review["state"] in ("APPROVED", "REQUEST_CHANGES", "COMMENT")
        and review.get("user")
        and review["user"]["login"] == viewer.name
    ]
    if frame.request.wants_part or not own or own[-1] in ("", pull["head"]["sha"]):
        return "", False
    path = frame.api("git", "commits", own[-1])
    commit = await frame.forge.get_if_there("repos", path, **LISTED)
    return own[-1], commit is not None


async def _views(frame: RepositoryFrame, index: int) -> Mapping[str, str] | None:
    """Return the files that the viewer has viewed; None for an anonymous viewer."""
    return await frame.forge.file_views(frame.base, index) if frame.request.principal.signed_in else None


def committed_words(sha: str) -> str:
    """Return the signed text of a link which reports that a suggestion was committed as ``sha``."""
    return f"committed {sha}"


@post("/{owner:str}/{repo:str}/pulls/{index:int}/reviews", policy=anyone(), include_in_schema=False)
async def review(request: WebRequest, index: int) -> Response[Any]:
    """Submit a review with the pending comments on lines, or discard the pending review.

    If the changes have moved since the page was shown, the review is not sent.
    """
    form, frame = await request.sent_form(), RepositoryFrame(request)
    if form.has("preview"):
        return await preview(frame, form, SEND)
    if form.has("discard"):
        await frame.forge.send("DELETE", "issues", frame.api("pulls", index, "reviews", form.text("discard")))
        return frame.redirect(f"/pulls/{index}/files")
    present = changes_shown(await frame.forge.get("issues", frame.api("pulls", index)))
    if present != (shown := {name: form.text(name) for name in present}):
        problem = Conflict(f"{moved_words(shown, present)}. {AGAIN}")
        page = f"{frame.base}/pulls/{index}/files"
        if request.wants_part:
            template = "reviews/moved.html"
            return request.render(
                template, in_place=template, title="", error=problem, shown=present, look_at=page
            )
        return await preview(frame, form.with_values(present), SEND, problem=problem, look_at=page)
    body = {"event": form.get("event", "COMMENT"), "body": form.lines("body"), **shown}
    try:
        await frame.forge.send("POST", "issues", frame.api("pulls", index, "reviews"), body)
    except ApiError as error:
        return await preview(frame, form, SEND, problem=error)
    return frame.redirect(f"/pulls/{index}")


@post(
    "/{owner:str}/{repo:str}/pulls/{index:int}/reviews/{review_id:int}/dismissal",
    policy=anyone(),
    include_in_schema=False,
)
async def dismiss(request: WebRequest, index: int, review_id: int) -> Response[bytes]:
    """Dismiss the decision of a review, or restore it."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    path = frame.api("pulls", index, "reviews", review_id)
    if form.text("do") == "restore":
        await frame.forge.send("POST", "issues", f"{path}/undismissals")
    else:
        await frame.forge.send("POST", "issues", f"{path}/dismissals", {"message": form.lines("message")})
    return frame.redirect(f"/pulls/{index}#merge")


@post("/{owner:str}/{repo:str}/pulls/{index:int}/comments", policy=anyone(), include_in_schema=False)
async def comment_on_line(request: WebRequest, index: int) -> Response[Any]:
    """Comment on a line, immediately or in the pending review."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    # One that is sent at once would send the review that is being written with it.
    buttons = ("Add to review|add", *(() if form.has("pending") else ("Comment now|now",)))
    if form.text("preview") == SUGGEST:
        return await _suggest(frame, form, *buttons)
    if form.has("preview"):
        return await preview(frame, form, *buttons)
    line = whole_number(form.text("line")) or 0
    position = "old_position" if form.text("side") == "old" else "new_position"
    shown = {name: form.text(name) for name in TARGET}

    def body(text: str) -> Any:
        comment = {"path": form.get("path", ""), "body": text, position: line}
        event = "COMMENT" if form.text("do") == "now" else "PENDING"
        return {"event": event, "comments": [comment], **shown}

    path = frame.api("pulls", index, "reviews")
    try:
        if form.files and form.text("do") != "now":
            raise Invalid.field("files", "early", f"{EARLY}; comment now with them")
        sent = await send_with_files(frame, form, frame.api("issues", index), "POST", path, body)
    except ApiError as error:
        return await preview(frame, form, *buttons, problem=error)
    anchor = await _latest_of(frame, f"{path}/{sent['id']}/comments")
    return back_to_page(frame, index, form, form.text("back") or "files", anchor)


async def _latest_of(frame: RepositoryFrame, path: str) -> str:
    """Return the anchor of the latest comment of a review; empty if the request fails.

    Errors are ignored, because the review was already sent.
    """
    with suppress(ApiError):
        if said := await frame.forge.get("issues", path):
            return f"#pullrequestreviewcomment-{max(one['id'] for one in said)}"
    return ""


async def _suggest(frame: RepositoryFrame, form: Form, *buttons: str) -> Response[str]:
    """Return the comment form with a suggestion for its line. For an open page, return only this part."""
    form["body"] = with_draft(form.lines("body"), form.lines("draft"))
    if not frame.request.wants_part:
        return await preview(frame, form, *buttons)
    part = frame.request.render("reviews/suggestion.html", title="", text=form["body"])
    part.headers |= {"HX-Retarget": "#body", "HX-Reswap": "outerHTML"}
    return part


@post(
    "/{owner:str}/{repo:str}/pulls/{index:int}/comments/{comment_id:int}/replies",
    policy=anyone(),
    include_in_schema=False,
)
async def reply(request: WebRequest, index: int, comment_id: int) -> Response[Any]:
    """Reply to a comment on a line."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    if form.has("preview"):
        return await preview(frame, form, "Reply")
    path = frame.api("pulls", index, "comments", comment_id, "replies")
    try:
        await send_with_files(
            frame, form, frame.api("issues", index), "POST", path, lambda text: {"body": text}
        )
    except ApiError as error:
        return await preview(frame, form, "Reply", problem=error)
    if request.wants_part and (part := await _conversation_part(frame, index, form, comment_id)):
        return part
    return back_to_page(frame, index, form, form.text("back"), f"#thread-{comment_id}")


async def _conversation_part(
    frame: RepositoryFrame, index: int, form: Form, comment_id: int
) -> Response[str] | None:
    """Return the conversation as a part of an open page; None if its comments are not among the latest."""
    pull, (reviews, comments) = await frame.load(
        frame.forge.get("issues", frame.api("pulls", index)), frame.forge.reviews(frame.base, index)
    )
    conversations = await conversations_on_lines(frame, comments.rows, reviews)
    shown = next((one for one in conversations if one.id == comment_id), None)
    if shown is None:
        return None
    part = frame.render(
        "pulls/conversation.html",
        in_place="reviews/line_conversation.html",
        tab="pulls",
        conversation=shown,
        line_context=line_context(
            frame, pull, style=chosen_style(form.text("style")), back=form.text("back")
        ),
    )
    part.headers |= {"HX-Retarget": f"#thread-{comment_id}", "HX-Reswap": "outerHTML"}
    return part


@post(
    "/{owner:str}/{repo:str}/pulls/{index:int}/comments/{comment_id:int}/resolve",
    policy=anyone(),
    include_in_schema=False,
)
async def resolve(request: WebRequest, index: int, comment_id: int) -> Response[bytes]:
    """Resolve a conversation on a line, or reopen it."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    act = "unresolve" if form.text("do") == "open" else "resolve"
    await frame.forge.send("POST", "issues", frame.api("pulls", "comments", comment_id, act))
    return back_to_page(frame, index, form, form.text("back"), f"#thread-{comment_id}")


def back_to_page(
    frame: RepositoryFrame, index: int, form: Form, page: str, anchor: str = ""
) -> Response[bytes]:
    """Redirect to an anchor on the page of the form."""
    # A branch may have slashes in its name, so it is the last.
    name, *parts = page.split("/", 6)
    if name == "files":
        *numbers, commit, merge_base, base_branch = (*parts, *[""] * 6)[:6]
        part = _query_of_page(*(whole_number(text, 7) or 0 for text in numbers))
        if _COMMIT.fullmatch(commit) and (not merge_base or _COMMIT.fullmatch(merge_base)):
            target = zip(TARGET, (commit, base_branch, merge_base), strict=True)
            part += [(name, value) for name, value in target if value]
        query = urlencode([("style", chosen_style(form.text("style"))), *part])
        return frame.redirect(f"/pulls/{index}/files?{query}{anchor}")
    return frame.redirect(f"/pulls/{index}{page_query(whole_number(page, 7) or 1)}{anchor}")


routes = [files, review, dismiss, comment_on_line, reply, resolve]
