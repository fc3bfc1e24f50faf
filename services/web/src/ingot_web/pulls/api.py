"""Routes for pull requests: conversation with the merge box, commits, opening, merging, updating."""

from typing import Any

from litestar import Response, get, post

from ingot_chassis.errors import ApiError, NotFound
from ingot_chassis.http.policy import anyone
from ingot_chassis.peers.peers import without_words
from ingot_web.attachments.api import attach, require_few_files
from ingot_web.forms.rules.fields import Form
from ingot_web.history.api.comparisons import comparison_page
from ingot_web.issues.api.conversations import (
    ENTRIES,
    as_issue,
    conversation,
    list_page,
    page_query,
)
from ingot_web.issues.rules.timelines import links_to_entries
from ingot_web.pages.api.request import WebRequest
from ingot_web.previews.api import preview
from ingot_web.pulls.rules import draft_title, ready_title, with_remedies
from ingot_web.repositories.api.frames import RepositoryFrame
from ingot_web.repositories.api.issue_choices import chosen_values, reviewers_of
from ingot_web.reviews.api.checks import statuses_of
from ingot_web.reviews.api.files import conversations_on_lines, line_context
from ingot_web.reviews.rules.conversations import unresolved

COMMITS = 50
DECISIONS = ("APPROVED", "REQUEST_CHANGES")
STYLES = (
    ("merge", "Merge, with a merge commit", "allow_merge_commits"),
    ("rebase", "Rebase, then fast-forward", "allow_rebase"),
    ("rebase-merge", "Rebase, then merge commit", "allow_rebase_explicit"),
    ("squash", "Squash into one commit", "allow_squash_merge"),
    ("fast-forward-only", "Fast-forward only", "allow_fast_forward_only_merge"),
    ("manually-merged", "It was merged already, by the commit below", "allow_manual_merge"),
)
"""Merge styles: API name, label, and the setting of the repository that allows the style."""


@get("/{owner:str}/{repo:str}/pulls", policy=anyone(), include_in_schema=False)
async def pulls(request: WebRequest) -> Response[str]:
    """List the pull requests of a repository."""
    return await list_page(request, "pulls", "pulls", "Pull requests")


@post("/{owner:str}/{repo:str}/compare/{basehead:path}", policy=anyone(), include_in_schema=False)
async def create(request: WebRequest) -> Response[Any]:
    """Open a pull request for the compared branches."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    if form.has("preview"):
        return await preview(frame, form, "Create pull request")
    base, _, head = request.rest(3).partition("...")
    body: dict[str, Any] = {
        "title": form.text("title"), "body": form.lines("body"), "base": base, "head": head
    }  # fmt: skip
    if form.has("draft"):
        body["title"] = draft_title(body["title"])
    body |= chosen_values(form)
    body |= {name: chosen for name, chosen in reviewers_of(form.all("reviewers")).items() if chosen}
    if form.has("maintainers_shown"):
        body["allow_maintainer_edit"] = form.has("maintainers")
    try:
        require_few_files(form)
        pull = await frame.forge.send("POST", "issues", frame.api("pulls"), body)
    except ApiError as error:
        return await comparison_page(frame, problem=error, form=form)
    if problem := await attach(frame, form, frame.api("issues", pull["number"]), pull["body"]):
        return await _conversation_page(frame, pull["number"], problem)
    return frame.redirect(f"/pulls/{pull['number']}")


@get("/{owner:str}/{repo:str}/pulls/{index:int}", policy=anyone(), include_in_schema=False)
async def show(request: WebRequest, index: int) -> Response[Any]:
    """Show the conversation of a pull request with its merge box.

    Redirects to the issue if the number belongs to an issue.
    """
    frame = RepositoryFrame(request)
    try:
        return await _conversation_page(frame, index)
    except NotFound:
        (issue,) = await frame.load(frame.forge.get("issues", frame.api("issues", index)))
        if issue["pull_request"] is not None:
            raise
        return frame.redirect(f"/issues/{index}{page_query(request.number)}")


async def _conversation_page(
    frame: RepositoryFrame, index: int, problem: ApiError | None = None, form: Form | None = None
) -> Response[Any]:
    pull, (reviews, comments), statuses, issue_talk = await frame.load(
        frame.forge.get("issues", frame.api("pulls", index)),
        frame.forge.reviews(frame.base, index),
        statuses_of(frame, index),
        frame.forge.conversation(frame.base, index, frame.request.number, limit=ENTRIES),
    )
    issue, repository = as_issue(pull), frame.repository
    refusals = with_remedies(pull.get("merge_refusals"))
    shown = {entry["review_id"] for entry in issue_talk["timeline"]}
    here = [comment for comment in comments.rows if comment["pull_request_review_id"] in shown]
    conversations = await conversations_on_lines(frame, here, reviews)
    talk = await conversation(frame, issue, issue_talk, reviews)
    if issue_talk["total"] > ENTRIES:
        base = f"{frame.request.root}/{repository['full_name']}/pulls"
        others = [review["id"] for review in reviews if review["id"] not in shown]
        lines = [comment["id"] for comment in comments.rows if comment["pull_request_review_id"] not in shown]
        talk["other_pages"] += [
            links_to_entries("pullrequestreview", f"{base}/{index}/reviews", others),
            links_to_entries("pullrequestreviewcomment", f"{base}/comments", lines),
        ]
    is_behind = bool(pull.get("merge_base")) and pull["merge_base"] != pull["base"].get("sha")
    styles = [
        (style, text)
        for style, text, setting in STYLES
        if repository.get(setting) and not (is_behind and style == "fast-forward-only")
    ]
    return frame.render(
        "pulls/conversation.html",
        tab="pulls",
        title=f"{pull['title']} #{index}",
        error=problem,
        problem=_words(problem, refusals) if problem else "",
        page_name="conversation",
        pull=pull,
        issue=issue,
        reviews=[review for review in reviews if review["state"] != "PENDING"],
        objectors=_objectors(reviews),
        conversations=conversations,
        unresolved=unresolved(comments.rows, reviews),
        line_context={
            **line_context(frame, pull, back=str(frame.request.number)),
            "leaves_out": comments.total > len(comments.rows),
        },
        checks=statuses,
        is_later=False,
        refusals=refusals,
        is_outsider=_lacks_access_alone(frame, refusals),
        scheduled=issue_talk["scheduled_merge"],
        form=form,
        styles=styles,
        **talk,
    )


def _words(problem: ApiError, refusals: list[Any] | None) -> str:
    """Return the reason why a form was rejected. For merges, the API only returns it in the refusals."""
    if problem.message != without_words("issues"):
        return problem.message
    reasons = [one["reason"] for one in refusals or [] if not one["overridable"]]
    if not reasons:
        return "It was not merged: the branches conflict, or one of them has just changed."
    return f"It cannot be merged: {', and '.join(reasons)}."


def _objectors(reviews: list[Any]) -> list[str]:
    """Return the people whose latest official decision requests changes, also for an older head."""
    last = {
        review["user"]["login"]: review
        for review in reviews
        if review["user"] and review["state"] in DECISIONS
    }
    return [
        login
        for login, review in last.items()
        if review["state"] == "REQUEST_CHANGES" and review["official"] and not review["dismissed"]
    ]


def _lacks_access_alone(frame: RepositoryFrame, refusals: list[Any] | None) -> bool:
    """True if the merge is only blocked because the caller has no write access."""
    permissions = frame.repository["permissions"]
    return (
        len(refusals or []) == 1
        and not frame.repository["archived"]
        and not (permissions and permissions["push"])
    )


@get("/{owner:str}/{repo:str}/pulls/{index:int}/checks", policy=anyone(), include_in_schema=False)
async def checks(request: WebRequest, index: int) -> Response[Any]:
    """Return the checks of a pull request for an open page. Other requests are redirected to the page."""
    frame = RepositoryFrame(request)
    pull, statuses = await frame.load(
        frame.forge.get("issues", frame.api("pulls", index)), statuses_of(frame, index)
    )
    if not request.wants_part:
        return frame.redirect(f"/pulls/{index}#merge")
    return request.render(
        "pulls/checks.html", base=f"{request.root}{frame.base}", pull=pull, checks=statuses, is_later=True
    )


@get("/{owner:str}/{repo:str}/pulls/{index:int}/commits", policy=anyone(), include_in_schema=False)
async def commits(request: WebRequest, index: int) -> Response[str]:
    """List the commits of a pull request."""
    frame = RepositoryFrame(request)
    pull, statuses, listing = await frame.load(
        frame.forge.get("issues", frame.api("pulls", index)),
        statuses_of(frame, index),
        frame.forge.listing(
            "issues", frame.api("pulls", index, "commits"), page=request.number, limit=COMMITS
        ),
    )
    return frame.render(
        "pulls/commits.html",
        tab="pulls",
        title=f"Commits of {pull['title']} #{index}",
        page_name="commits",
        checks=statuses,
        pull=pull,
        issue=as_issue(pull),
        listing=listing,
        pages=request.pages_of(listing.total, COMMITS),
    )


@post("/{owner:str}/{repo:str}/pulls/{index:int}/merge", policy=anyone(), include_in_schema=False)
async def merge(request: WebRequest, index: int) -> Response[Any]:
    """Merge now or when ready, or cancel a scheduled merge. The page shows errors."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    body = {
        "do": form.get("style", "merge"),
        "head_commit_id": form.text("head"),
        "base_branch": form.text("base_branch"),
        "merge_commit_id": form.text("merge_commit"),
        "MergeTitleField": form.text("merge_title"),
        "MergeMessageField": form.lines("merge_message"),
        "delete_branch_after_merge": form.has("delete_branch"),
        "force_merge": form.has("override"),
        "merge_when_checks_succeed": form.text("when") == "possible",
    }
    path = frame.api("pulls", index, "merge")
    try:
        if form.text("when") == "never":
            await frame.forge.send("DELETE", "issues", path)
        else:
            await frame.forge.send("POST", "issues", path, body)
    except ApiError as error:
        return await _conversation_page(frame, index, error, form)
    return frame.redirect(f"/pulls/{index}#merge")


@post("/{owner:str}/{repo:str}/pulls/{index:int}/update", policy=anyone(), include_in_schema=False)
async def update(request: WebRequest, index: int) -> Response[Any]:
    """Update the head branch with the base branch. The page shows errors."""
    await request.sent_form()
    frame = RepositoryFrame(request)
    try:
        await frame.forge.send("POST", "issues", frame.api("pulls", index, "update"))
    except ApiError as error:
        return await _conversation_page(frame, index, error)
    return frame.redirect(f"/pulls/{index}#merge")


@post("/{owner:str}/{repo:str}/pulls/{index:int}/draft", policy=anyone(), include_in_schema=False)
async def mark_draft(request: WebRequest, index: int) -> Response[Any]:
    """Mark a pull request as a draft or as ready for review. The page shows errors."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    (pull,) = await frame.load(frame.forge.get("issues", frame.api("pulls", index)))
    title = ready_title(pull["title"]) if form.text("do") == "ready" else draft_title(pull["title"])
    try:
        await frame.forge.send("PATCH", "issues", frame.api("issues", index), {"title": title})
    except ApiError as error:
        return await _conversation_page(frame, index, error)
    return frame.redirect(f"/pulls/{index}#merge")


routes = [pulls, create, show, checks, commits, merge, update, mark_draft]
