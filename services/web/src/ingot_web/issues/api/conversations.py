"""Routes of issues: the list with its filters in the URL, one issue with its timeline, and its forms."""

from asyncio import gather
from collections.abc import Mapping, Sequence
from typing import Any

from litestar import Response, get, post

from ingot_chassis.errors import ApiError, Conflict, Invalid
from ingot_chassis.http.policy import anyone
from ingot_contracts.limits import is_web_url
from ingot_web.attachments.api import FILES_ALONE, attach, require_few_files, send_with_files
from ingot_web.forms.rules.fields import Form, whole_number
from ingot_web.issues.rules.filters import ListFilter
from ingot_web.issues.rules.issue_forms import (
    FIELD,
    FormField,
    answers_of,
    fields_of,
    initial_answers,
    inline,
    problems_of,
    text_of,
)
from ingot_web.issues.rules.quotes import quote_of
from ingot_web.issues.rules.tasks import with_buttons
from ingot_web.issues.rules.templates import EMPTY_DRAFT, draft_of, template_of
from ingot_web.issues.rules.timelines import is_said, links_to_entries, words
from ingot_web.pages.api.feeds import feed
from ingot_web.pages.api.request import PAGE_SIZE, WebRequest
from ingot_web.previews.api import preview
from ingot_web.repositories.api.frames import RepositoryFrame
from ingot_web.repositories.api.issue_choices import chosen_values, offered_choices

ENTRIES = 50
REACTIONS = {
    "+1": "👍", "-1": "👎", "laugh": "😄", "hooray": "🎉", "confused": "😕", "heart": "❤️", "rocket": "🚀",
    "eyes": "👀",
}  # fmt: skip
NO_CONFIG: dict[str, Any] = {"blank_issues_enabled": True, "contact_links": []}
"""The default configuration of new issues."""
FORM_CHANGED = Conflict("the form of this issue was changed; your answers are in the text below")
EDITED = (
    "somebody changed the text meanwhile; open the page once more, and take over there what you wrote here"
)
SORTS = {
    "": "Newest",
    "oldest": "Oldest",
    "recentupdate": "Changed last",
    "leastupdate": "Unchanged for longest",
    "mostcomment": "Most comments",
    "leastcomment": "Fewest comments",
}
"""Orders of a list, and their labels."""


def as_issue(pull: Any) -> Any:
    """Return a pull request as an issue, for page parts that both share."""
    return {**pull, "pull_request": pull}


async def list_page(request: WebRequest, kind: str, tab: str, title: str) -> Response[str]:
    """List issues or pull requests. Without filters, pinned issues come first."""
    frame = RepositoryFrame(request)
    chosen = ListFilter.of(request.query_params.multi_items())
    is_start = request.number == 1 and chosen == ListFilter()
    listing, choices, pinned = await frame.load(
        frame.forge.listing(
            "issues",
            frame.api("issues"),
            type=kind,
            page=request.number,
            limit=PAGE_SIZE,
            **chosen.parameters(),
        ),
        frame.forge.issue_choices(frame.base),
        frame.forge.get_if_there("issues", frame.api(kind, "pinned")) if is_start else _nothing(),
    )
    await frame.forge.add_check_states(listing.rows)
    closed = 0
    if not listing.rows and chosen.state == "open":
        # The page says something else where there never was one.
        path = frame.api("issues")
        closed = (await frame.forge.listing("issues", path, type=kind, state="closed", limit=1)).total
    return frame.render(
        "issues/list.html",
        tab=tab,
        title=title,
        heading=title,
        listing=listing,
        choices=choices,
        closed=closed,
        pinned=[as_issue(one) if kind == "pulls" else one for one in pinned or ()],
        chosen=chosen,
        sorts=SORTS,
        pages=request.pages_of(listing.total),
    )


async def _nothing() -> None:
    return None


@get("/{owner:str}/{repo:str}/issues", policy=anyone(), include_in_schema=False)
async def issues(request: WebRequest) -> Response[str]:
    """List the issues of a repository."""
    return await list_page(request, "issues", "issues", "Issues")


@get("/{owner:str}/{repo:str}/issues/new", policy=anyone(), include_in_schema=False)
async def new(request: WebRequest) -> Response[str]:
    """Show the form of a new issue. ``template`` in the query is the file of its template."""
    request.require_signed_in()
    fields = [(name, request.query_params.get(name, "")) for name in ("title", "body", "template")]
    return await _new_page(RepositoryFrame(request), Form([pair for pair in fields if pair[1]]))


async def _new_page(
    frame: RepositoryFrame,
    form: Form,
    problem: ApiError | None = None,
    problems: Mapping[str, str] | None = None,
) -> Response[str]:
    """Return the page of a new issue.

    ``problem`` is the error of a rejected form; ``problems`` has the errors of its fields.
    """
    templates, config = await frame.load(
        frame.forge.get_if_there("repos", frame.api("issue_templates")),
        frame.forge.get_if_there("repos", frame.api("issue_config")),
    )
    own = template_of(templates, form)
    start = draft_of(own) if own and not problem else EMPTY_DRAFT
    fields = fields_of(own) if own else []
    names = {name.lower() for name in start.labels}
    config = config or NO_CONFIG
    choices = await offered_choices(frame, "issues")
    return frame.render(
        "issues/new.html",
        tab="issues",
        title="New issue",
        error=problem,
        form={"title": start.title, "body": start.body, **form},
        sent_files=form.files,
        choices=choices,
        chosen_labels=[
            *form.ids("labels"),
            *(one["id"] for one in choices["labels"] if one["name"].lower() in names),
        ],
        chosen_people=[*form.all("assignees"), *start.assignees],
        chosen_milestone=form.text("milestone"),
        chosen_template=own if fields or not problem else None,
        fields=await _shown_fields(frame, fields, form, problems) if fields else [],
        templates=templates or [],
        links=[link for link in config["contact_links"] if is_web_url(link["url"])],
        can_be_blank=config["blank_issues_enabled"],
    )


async def _shown_fields(
    frame: RepositoryFrame, fields: Sequence[FormField], form: Form, problems: Mapping[str, str] | None
) -> list[dict[str, Any]]:
    """Return the fields of an issue form with their answers. One request renders all texts.

    ``problems`` has the errors of a rejected form by field; None for a new form.
    """
    query = Form(list(frame.request.query_params.multi_items()))
    texts = [one.value if one.type == "markdown" else one.description for one in fields]
    labels = [option.label for one in fields if one.type == "checkboxes" for option in one.offered]
    rendered = await frame.forge.render([*texts, *labels], context=frame.repository["full_name"])
    html = dict(zip(labels, rendered[len(texts) :], strict=True))
    shown: list[dict[str, Any]] = []
    for field, text, own in zip(fields, texts, rendered, strict=False):
        problem = (problems or {}).get(field.name, "")
        shown.append(
            {
                "field": field,
                "html": own if field.type == "markdown" else inline(own, text),
                "options": [(one, inline(html.get(one.label), one.label)) for one in field.offered],
                "answers": initial_answers(field, query) if problems is None else answers_of(field, form),
                "problem": problem,
                "has_focus": bool(problem) and not any(one["has_focus"] for one in shown),
            }
        )
    return [one for one in shown if one["field"].is_in_form]


@post("/{owner:str}/{repo:str}/issues/new", policy=anyone(), include_in_schema=False)
async def create(request: WebRequest) -> Response[Any]:
    """Open an issue."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    if form.has("preview"):
        return await preview(frame, form, "Create issue")
    fields: Sequence[FormField] = []
    problems: dict[str, str] | None = None
    if form.has("template"):
        (templates,) = await frame.load(frame.forge.get_if_there("repos", frame.api("issue_templates")))
        template = template_of(templates, form)
        fields = fields_of(template) if template else []
        if not fields:
            values = [value for name, value in form.pairs if name.startswith(FIELD) and value]
            return await _new_page(frame, form.with_values({"body": "\n\n".join(values)}), FORM_CHANGED)
        problems = problems_of(fields, form)
        form = form.with_values({"body": text_of(fields, form)})
    body: dict[str, Any] = {"title": form.text("title"), "body": form.lines("body")}
    body |= chosen_values(form)
    try:
        if problems:
            raise Invalid("some answers are missing or invalid")
        require_few_files(form)
        issue = await frame.forge.send("POST", "issues", frame.api("issues"), body)
    except ApiError as error:
        return await _new_page(frame, form, error, problems)
    problem = await attach(frame, form, frame.api("issues", issue["number"]), issue["body"])
    if problem:
        return await _issue_page(frame, issue["number"], problem)
    return frame.redirect(f"/issues/{issue['number']}")


@get("/{owner:str}/{repo:str}/issues/{index:int}", policy=anyone(), include_in_schema=False)
async def show(request: WebRequest, index: int) -> Response[Any]:
    """Show an issue with its timeline."""
    return await _issue_page(RepositoryFrame(request), index)


async def _issue_page(frame: RepositoryFrame, index: int, problem: ApiError | None = None) -> Response[Any]:
    """Return the page of an issue, with the error of a form.

    For a pull request, redirect to its page, or raise the error of the form.
    """
    issue, talk = await frame.load(
        frame.forge.get("issues", frame.api("issues", index)),
        frame.forge.conversation(frame.base, index, frame.request.number, limit=ENTRIES),
    )
    if issue["pull_request"] is not None:
        if problem:
            raise problem
        return frame.redirect(f"/pulls/{index}{page_query(frame.request.number)}")
    return frame.render(
        "issues/issue.html",
        tab="issues",
        title=f"{issue['title']} #{index}",
        error=problem,
        issue=issue,
        **await conversation(frame, issue, talk),
    )


async def conversation(
    frame: RepositoryFrame, issue: Any, talk: Mapping[str, Any], reviews: Sequence[Any] = ()
) -> dict[str, Any]:
    """Return the template values for the description and the timeline ``talk``, with their reactions.

    One request renders all texts. Entries on other pages of the timeline become links.
    """
    timeline, total = talk["timeline"], talk["total"]
    verdicts = {review["id"]: review["state"] for review in reviews}
    said = [entry for entry in timeline if is_said(entry)]
    (description, *texts), ids = await gather(
        frame.forge.render(
            [issue["body"], *(entry["body"] for entry in said)], context=frame.repository["full_name"]
        ),
        frame.forge.get_if_there("issues", frame.api("issues", issue["number"], "timeline", "ids"))
        if total > ENTRIES
        else _nothing(),
    )
    base = f"{frame.request.root}/{frame.repository['full_name']}"
    shown = {entry["id"] for entry in timeline}
    others = [number for number in ids or () if number not in shown]
    html = {entry["id"]: text for entry, text in zip(said, texts, strict=True)}
    entries = [
        {
            "entry": entry,
            "html": html.get(entry["id"]),
            "words": words(entry, verdicts.get(entry["review_id"], "")),
        }
        for entry in timeline
    ]
    reactions: dict[int | None, list[Any]] = {}
    for one in talk["reactions"]:
        reactions.setdefault(one["comment_id"], []).append(one)
    quoted = frame.request.query_params.get("quote", "")
    bodies = {"0": issue["body"], **{str(entry["id"]): entry["body"] for entry in said}}
    return {
        "quote_text": quote_of(bodies.get(quoted, "")),
        "description": description,
        "description_with_tasks": with_buttons(description, issue["body"]),
        "blockers": talk["blockers"],
        "blocks": talk["blocks"],
        "reactions": reactions,
        "reaction_contents": REACTIONS,
        "entries": entries,
        "other_pages": [links_to_entries("issuecomment", f"{base}/issues/comments", others)],
        "pages": frame.request.pages_of(total, ENTRIES),
    }


@post("/{owner:str}/{repo:str}/issues/{index:int}/comments", policy=anyone(), include_in_schema=False)
async def comment(request: WebRequest, index: int) -> Response[Any]:
    """Add a comment, if the form has a text or files. The button may also close or reopen the issue."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    if form.has("preview"):
        return await preview(frame, form, "Comment")
    problem, place = None, ""
    if form.lines("body").strip() or form.files:
        body = {"body": form.lines("body").strip() or FILES_ALONE}
        try:
            require_few_files(form)
            said = await frame.forge.send("POST", "issues", frame.api("issues", index, "comments"), body)
        except ApiError as error:
            return await preview(frame, form, "Comment", problem=error)
        problem = await attach(frame, form, frame.api("issues", "comments", said["id"]), said["body"])
        shown_on = await page_of_entry(frame, index, said["id"])
        place = f"{page_query(shown_on)}#issuecomment-{said['id']}"
    elif form.get("state") not in ("open", "closed"):
        return await preview(frame, form, "Comment", problem=Invalid("write something first"))
    if form.get("state") in ("open", "closed"):
        try:
            await frame.forge.send("PATCH", "issues", frame.api("issues", index), {"state": form["state"]})
        except ApiError as error:
            problem = error
    if request.wants_part and not form.has("state") and (problem or request.number_shown == shown_on):
        return await _new_comment(frame, index, said["id"], problem)
    if problem:
        return await _issue_page(frame, index, problem)
    return frame.redirect(f"/issues/{index}{place}")


async def page_of_entry(frame: RepositoryFrame, index: int | str, entry_id: int) -> int:
    """Return the number of the timeline page with an entry.

    For a deleted entry, return the page of the entry before it.
    """
    path = frame.api("issues", index, "timeline")
    timeline = await frame.forge.listing("issues", path, limit=1, up_to=entry_id)
    return int(frame.request.pages_of(timeline.total, ENTRIES)["last"])


def page_query(number: int) -> str:
    """Return the query for a page of a timeline."""
    return f"?page={number}" if number > 1 else ""


async def _new_comment(
    frame: RepositoryFrame, index: int, comment_id: int, problem: ApiError | None
) -> Response[Any]:
    """Return the new comment, and the form for the next comment, as a part of the open page."""
    issue, comment = await frame.load(
        frame.forge.get("issues", frame.api("issues", index)),
        frame.forge.get("issues", frame.api("issues", "comments", comment_id)),
    )
    (html,) = await frame.forge.render([comment["body"]], context=frame.repository["full_name"])
    part = frame.render(
        "issues/issue.html",
        in_place="issues/new_comment.html",
        tab="issues",
        error=problem,
        issue=issue,
        comment=comment,
        html=html,
        reaction_contents=REACTIONS,
    )
    part.headers |= {"HX-Retarget": "this", "HX-Reswap": "outerHTML"}
    return part


@post("/{owner:str}/{repo:str}/issues/{index:int}/edit", policy=anyone(), include_in_schema=False)
async def edit(request: WebRequest, index: int) -> Response[Any]:
    """Change title and text. For a pull request, also change the base branch and edits by maintainers."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    if form.has("preview"):
        return await preview(frame, form, "Save")
    into, path = form.text("into"), frame.api("issues", index)
    of_pull: dict[str, Any] = {}
    if into != form.text("into_shown"):  # another person may have changed the base since
        of_pull["base"] = into
    if form.has("maintainers_shown") and form.has("maintainers") != (form.text("maintainers_shown") == "1"):
        of_pull["allow_maintainer_edit"] = form.has("maintainers")
    try:
        if of_pull:
            await frame.forge.send("PATCH", "issues", frame.api("pulls", index), of_pull)
        await _send_text(frame, form, path)
    except ApiError as error:
        return await preview(frame, form, "Save", problem=error)
    return frame.redirect(f"/issues/{index}")


async def _send_text(frame: RepositoryFrame, form: Form, path: str) -> None:
    """Send title and text, unless the text has changed since the form was shown. Raises ApiError."""
    fields: dict[str, Any] = {"title": form.text("title")}
    if (version := whole_number(form.text("version"), 9)) is not None:
        fields["content_version"] = version
    try:
        await send_with_files(frame, form, path, "PATCH", path, lambda text: fields | {"body": text})
    except Conflict:
        if version is None:
            raise
        raise Conflict(EDITED) from None


@get(
    ["/{owner:str}/{repo:str}/issues.atom", "/{owner:str}/{repo:str}/issues.rss"],
    policy=anyone(),
    include_in_schema=False,
)
async def latest(request: WebRequest) -> Response[str]:
    """Return the latest issues as a feed."""
    frame = RepositoryFrame(request)
    (listing,) = await frame.load(
        frame.forge.listing("issues", frame.api("issues"), type="issues", state="all", limit=PAGE_SIZE)
    )
    entries = [
        {
            "title": issue["title"],
            "url": issue["html_url"],
            "time": issue["updated_at"],
            "author": issue["user"]["login"],
            "text": issue["body"],
        }
        for issue in listing.rows
    ]
    kind = request.scope["path"].rpartition(".")[2]
    name = frame.repository["full_name"]
    return feed(request, kind, f"Issues of {name}", f"/{name}/issues", entries)


@post("/{owner:str}/{repo:str}/issues/{index:int}/reactions", policy=anyone(), include_in_schema=False)
async def react(request: WebRequest, index: int) -> Response[bytes]:
    """Add a reaction to the issue or one of its comments, or remove it."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    comment_id = form.text("comment")
    to = ("comments", comment_id) if comment_id else (index,)
    taken = form.has("remove")
    content = form["remove"] if taken else form["content"]
    path = frame.api("issues", *to, "reactions")
    await frame.forge.send("DELETE" if taken else "POST", "issues", path, {"content": content})
    return frame.redirect(f"/issues/comments/{comment_id}" if comment_id else f"/issues/{index}")


routes = [
    issues, latest, new, create, show, comment, edit, react,
]  # fmt: skip
