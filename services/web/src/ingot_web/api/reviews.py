"""Reviews of pull requests: the changes with what people say to single lines, and reviews as they are written."""

from asyncio import gather
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlencode

from litestar import Response, get, post

from ingot_chassis.errors import ApiError, Invalid
from ingot_chassis.http.policy import anyone
from ingot_web.api.attachments import send_with_files
from ingot_web.api.changes import MORE_FILES, file_shown, hides_spaces, read_diff
from ingot_web.api.frames import RepositoryFrame
from ingot_web.api.issues import as_issue, page_query
from ingot_web.api.previews import preview
from ingot_web.api.request import Form, WebRequest, whole_number
from ingot_web.clients.forge import ListPage
from ingot_web.core import diffs
from ingot_web.core.conversations import Conversation, conversations_of, place
from ingot_web.core.file_views import note_views
from ingot_web.core.suggestions import suggestion_draft, with_draft

REVIEWS = 50
STYLES = ("unified", "split")
EARLY = "would be seen before the review is sent"
"""What is wrong with files of a comment that waits for its review."""
SUGGEST = "suggest"
"""What the button of a form of a comment stands for that writes a suggestion into it."""


async def reviews_of(frame: RepositoryFrame, index: int) -> list[Any]:
    """The reviews of a pull request in order; of very many the first ones and the latest."""

    async def page(number: int) -> ListPage:
        path = frame.api("pulls", index, "reviews")
        return await frame.forge.listing("issues", path, page=number, limit=REVIEWS)

    first = await page(1)
    last = -(-first.total // REVIEWS)
    others = await gather(*(page(number) for number in range(max(2, last - 1), last + 1)))
    return [*first.rows, *(review for other in others for review in other.rows)]


def comments_of(frame: RepositoryFrame, index: int) -> Coroutine[Any, Any, ListPage]:
    """What is said to lines of a pull request; of very many comments the latest."""
    return frame.forge.listing("issues", frame.api("pulls", index, "comments"))


async def conversations_on_lines(
    frame: RepositoryFrame, comments: list[Any], reviews: list[Any]
) -> list[Conversation]:
    """These comments as conversations."""
    texts = [comment["body"] for comment in comments]
    html = await frame.forge.render(texts, context=frame.repository["full_name"])
    pending = {review["id"] for review in reviews if review["state"] == "PENDING"}
    return conversations_of(zip(comments, html, strict=True), pending)


def line_context(
    frame: RepositoryFrame, pull: Any, *, style: str = "unified", back: str = ""
) -> dict[str, Any]:
    """What conversations on lines need of the page that they stand on: ``back`` says which, that of the changes (``_name_of_page``) or the page of the timeline."""
    viewer, repository = frame.request.principal, frame.repository
    can_push = bool(repository["permissions"] and repository["permissions"]["push"])
    changes_pull = viewer.signed_in and (can_push or viewer.name == pull["user"]["login"])
    return {
        "own": f"{frame.request.root}/{repository['full_name']}/pulls/{pull['number']}",
        "style": style,
        "back": back,
        "can_comment": viewer.signed_in
        and not repository["archived"]
        and (can_push or not pull["is_locked"]),
        "page_of_files": [],
        "can_resolve": changes_pull,
        "can_attach": changes_pull and frame.request.takes_attachments,
        "can_apply": viewer.signed_in and _may_push_to_head(frame, pull, can_push=can_push),
        "link": "",
        "file": 0,
        "draft": "",
        "pending": None,
        "leaves_out": False,
    }


def _may_push_to_head(frame: RepositoryFrame, pull: Any, *, can_push: bool) -> bool:
    """Whether a commit by the viewer is offered there; repos decides when it comes."""
    head = pull["head"]["repo"]
    if pull["state"] != "open" or head is None or head["archived"]:
        return False
    if head["full_name"] == frame.repository["full_name"]:
        return can_push
    return bool(head["owner"]["login"] == frame.request.principal.name)


def _name_of_page(file: int, number: int, hides: int) -> str:
    """A page of the changes, as forms on it name it."""
    return f"files/{file}/{number}/{hides}" if file or number > 1 or hides else "files"


def _query_of_page(file: int, number: int, hides: int) -> list[tuple[str, int]]:
    """What its address has: the one file that it shows, its number if it is not the first, whether it hides white space."""
    values = (("file", file, 0), ("page", number, 1), ("w", min(hides, 1), 0))
    return [(name, value) for name, value, first in values if value > first]


def chosen_style(text: str) -> str:
    return text if text in STYLES else STYLES[0]


@get("/{owner:str}/{repo:str}/pulls/{index:int}/files", policy=anyone(), include_in_schema=False)
async def files(request: WebRequest, index: int) -> Response[str]:
    """The changes of a pull request; ``at`` in the address opens the form of a comment on a line."""
    frame = RepositoryFrame(request)
    pull, (changes, pages), reviews, comments, views = await frame.load(
        frame.forge.get("issues", frame.api("pulls", index)),
        read_diff(frame, "issues", frame.api("pulls", f"{index}.diff"), size=diffs.MOST_FILES, limit="files"),
        reviews_of(frame, index),
        comments_of(frame, index),
        _views(frame, index),
    )
    committed, proof = (request.query_params.get(name, "") for name in ("committed", "proof"))
    style = chosen_style(request.query_params.get("style", ""))
    part = (file_shown(request), request.number, int(hides_spaces(request)))
    own = line_context(frame, pull, style=style, back=_name_of_page(*part))
    own["page_of_files"] = _query_of_page(*part)
    own["pending"] = next((review for review in reviews if review["state"] == "PENDING"), None)
    if own["can_comment"] and pull["state"] == "open":
        own["link"] = f"?{urlencode([('style', style), *own['page_of_files']])}&at="
    if changes is not None:
        changes.before, changes.after = pull.get("merge_base") or "", pull["head"]["sha"]
        changes.text = f"/pulls/{index}.diff"
        if views is not None:
            note_views(changes, views)
        own["leaves_out"] = comments.total > len(comments.rows)
        place(changes, await conversations_on_lines(frame, comments.rows, reviews))
        if own["link"] and (target := diffs.line_at(changes, request.query_params.get("at", ""))):
            file, line = target
            line.has_form, own["file"] = True, file.number
            own["side"] = "old" if line.kind == "del" else "new"
            own["path"] = (file.old_path or file.path) if line.kind == "del" else file.path
            own["line"] = line.old if line.kind == "del" else line.new
            # Bytes that are not UTF-8 would be lost in the file.
            if line.kind != "del" and "\ufffd" not in line.text:
                own["draft"] = suggestion_draft(line.text)
    return frame.render(
        "pulls/files.html",
        in_place=MORE_FILES,
        tab="pulls",
        title=f"Changes of {pull['title']} #{index}",
        page_name="files",
        pull=pull,
        issue=as_issue(pull),
        changes=changes,
        pages=pages,
        line_context=own,
        committed=committed if request.proves(committed_words(committed), proof) else "",
        proof=proof,
    )


async def _views(frame: RepositoryFrame, index: int) -> Mapping[str, str] | None:
    """What the viewer has looked at; None of who has no account."""
    return await frame.forge.file_views(frame.base, index) if frame.request.principal.signed_in else None


def committed_words(sha: str) -> str:
    """That a suggestion was committed as ``sha``, in the words that an address proves: no other site makes one."""
    return f"committed {sha}"


@post("/{owner:str}/{repo:str}/pulls/{index:int}/reviews", policy=anyone(), include_in_schema=False)
async def review(request: WebRequest, index: int) -> Response[Any]:
    """Say what one thinks of the changes as a whole; what was said to single lines before goes with it."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    if form.has("preview"):
        return await preview(frame, form, "Send the review")
    if form.has("discard"):
        await frame.forge.send("DELETE", "issues", frame.api("pulls", index, "reviews", form.text("discard")))
        return frame.redirect(f"/pulls/{index}/files")
    body = {"event": form.get("event", "COMMENT"), "body": form.lines("body")}
    try:
        await frame.forge.send("POST", "issues", frame.api("pulls", index, "reviews"), body)
    except ApiError as error:
        return await preview(frame, form, "Send the review", problem=error)
    return frame.redirect(f"/pulls/{index}")


@post(
    "/{owner:str}/{repo:str}/pulls/{index:int}/reviews/{review_id:int}/dismissal",
    policy=anyone(),
    include_in_schema=False,
)
async def dismiss(request: WebRequest, index: int, review_id: int) -> Response[bytes]:
    """Say that a decision does not count any more, or that it counts again."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    path = frame.api("pulls", index, "reviews", review_id)
    if form.text("do") == "restore":
        await frame.forge.send("POST", "issues", f"{path}/undismissals")
    else:
        await frame.forge.send("POST", "issues", f"{path}/dismissals", {"message": form.lines("message")})
    return frame.redirect(f"/pulls/{index}#merge")


@post("/{owner:str}/{repo:str}/pulls/{index:int}/comments", policy=anyone(), include_in_schema=False)
async def comment_on_line(request: WebRequest, index: int) -> Response[Any]:
    """Comment on a line, at once or in the review that is being written."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    # One that is sent at once would send the review that is being written with it.
    buttons = ("Add to your review|add", *(() if form.has("pending") else ("Comment now|now",)))
    if form.text("preview") == SUGGEST:
        return await _suggest(frame, form, *buttons)
    if form.has("preview"):
        return await preview(frame, form, *buttons)
    line = whole_number(form.text("line")) or 0
    position = "old_position" if form.text("side") == "old" else "new_position"

    def body(text: str) -> Any:
        comment = {"path": form.get("path", ""), "body": text, position: line}
        return {"event": "COMMENT" if form.text("do") == "now" else "PENDING", "comments": [comment]}

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
    """The anchor of the latest comment of a review; empty where nobody says which it is: it was sent all the same."""
    with suppress(ApiError):
        if said := await frame.forge.get("issues", path):
            return f"#pullrequestreviewcomment-{max(one['id'] for one in said)}"
    return ""


async def _suggest(frame: RepositoryFrame, form: Form, *buttons: str) -> Response[str]:
    """The comment with a suggestion of its line below what was written; on a page that stays, in its field."""
    form["body"] = with_draft(form.lines("body"), form.lines("draft"))
    if not frame.request.wants_part:
        return await preview(frame, form, *buttons)
    part = frame.request.render("pulls/suggestion.html", title="", text=form["body"])
    part.headers |= {"HX-Retarget": "#body", "HX-Reswap": "outerHTML"}
    return part


@post(
    "/{owner:str}/{repo:str}/pulls/{index:int}/comments/{comment_id:int}/replies",
    policy=anyone(),
    include_in_schema=False,
)
async def reply(request: WebRequest, index: int, comment_id: int) -> Response[Any]:
    """Answer a comment on a line."""
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
    """The conversation for the page that stays; None if it is none of the latest."""
    pull, reviews, comments = await frame.load(
        frame.forge.get("issues", frame.api("pulls", index)),
        reviews_of(frame, index),
        comments_of(frame, index),
    )
    conversations = await conversations_on_lines(frame, comments.rows, reviews)
    shown = next((one for one in conversations if one.id == comment_id), None)
    if shown is None:
        return None
    part = frame.render(
        "pulls/conversation.html",
        in_place="pulls/line_conversation.html",
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
    """Say that a conversation on a line is resolved, or is not."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    act = "unresolve" if form.text("do") == "open" else "resolve"
    await frame.forge.send("POST", "issues", frame.api("pulls", "comments", comment_id, act))
    return back_to_page(frame, index, form, form.text("back"), f"#thread-{comment_id}")


def back_to_page(
    frame: RepositoryFrame, index: int, form: Form, page: str, anchor: str = ""
) -> Response[bytes]:
    """To the page from which the form came, and a part of it."""
    name, *numbers = page.split("/")
    if name == "files":
        part = _query_of_page(*(whole_number(text, 7) or 0 for text in (*numbers, "", "", "")[:3]))
        query = urlencode([("style", chosen_style(form.text("style"))), *part])
        return frame.redirect(f"/pulls/{index}/files?{query}{anchor}")
    return frame.redirect(f"/pulls/{index}{page_query(whole_number(page, 7) or 1)}{anchor}")


routes = [files, review, dismiss, comment_on_line, reply, resolve]
