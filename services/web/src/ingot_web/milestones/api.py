"""Routes for milestones: the list, and the forms to create, edit, close and delete a milestone."""

from typing import Any
from urllib.parse import urlencode

from litestar import Response, get, post

from ingot_chassis.errors import ApiError, Invalid
from ingot_chassis.http.policy import anyone
from ingot_web.forms.rules.fields import Form
from ingot_web.pages.api.request import WebRequest
from ingot_web.repositories.api.frames import RepositoryFrame

SHOWN = 50
NO_DATE = "0001-01-01T00:00:00Z"
"""The date that removes a date in the API, which ignores an absent one."""
MILESTONES = "/{owner:str}/{repo:str}/milestones"


@get(MILESTONES, policy=anyone(), include_in_schema=False)
async def milestones(request: WebRequest) -> Response[str]:
    """List the open and closed milestones."""
    return await _milestones_page(RepositoryFrame(request))


async def _milestones_page(frame: RepositoryFrame, problem: ApiError | None = None) -> Response[str]:
    return await frame.list_page(
        "milestones/list.html",
        "issues",
        "milestones",
        size=SHOWN,
        query={"state": "all"},
        tab="issues",
        title="Milestones",
        error=problem,
    )


async def _milestone_page(
    frame: RepositoryFrame, form: Form, milestone_id: int | None = None, problem: ApiError | None = None
) -> Response[str]:
    """Return the form of a milestone, or of a new milestone without an id."""
    await frame.load()
    return frame.render(
        "milestones/form.html",
        tab="issues",
        title="New milestone" if milestone_id is None else "Edit milestone",
        error=problem,
        form=form,
        milestone_id=milestone_id,
    )


@get(f"{MILESTONES}/new", policy=anyone(), include_in_schema=False)
async def new_milestone(request: WebRequest) -> Response[str]:
    """Show the form of a new milestone."""
    request.require_signed_in()
    frame = RepositoryFrame(request)
    page = await _milestone_page(frame, Form())
    frame.require_push("you may not change milestones here")
    return page


@get(f"{MILESTONES}/{{milestone_id:int}}/edit", policy=anyone(), include_in_schema=False)
async def milestone(request: WebRequest, milestone_id: int) -> Response[str]:
    """Show the form to edit an existing milestone."""
    request.require_signed_in()
    frame = RepositoryFrame(request)
    (shown,) = await frame.load(frame.forge.get("issues", frame.api("milestones", milestone_id)))
    due = (shown["due_on"] or "")[:10]
    frame.require_push("you may not change milestones here")
    pairs = [("title", shown["title"]), ("description", shown["description"]), ("due", due)]
    return await _milestone_page(frame, Form(pairs), milestone_id)


@post(
    [f"{MILESTONES}/new", f"{MILESTONES}/{{milestone_id:int}}/edit"], policy=anyone(), include_in_schema=False
)
async def save_milestone(request: WebRequest) -> Response[Any]:
    """Create or edit a milestone."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    milestone_id: int | None = request.path_params.get("milestone_id")
    due = form.text("due")
    body = {
        "title": form.text("title"),
        "description": form.lines("description"),
        "due_on": f"{due}T23:59:59Z" if due else NO_DATE,
    }
    try:
        if milestone_id is None:
            await frame.forge.send("POST", "issues", frame.api("milestones"), body)
        else:
            await frame.forge.send("PATCH", "issues", frame.api("milestones", milestone_id), body)
    except ApiError as error:
        return await _milestone_page(frame, form, milestone_id, error)
    return frame.redirect("/milestones")


@post(f"{MILESTONES}/{{milestone_id:int}}", policy=anyone(), include_in_schema=False)
async def change_milestone(request: WebRequest, milestone_id: int) -> Response[Any]:
    """Close, reopen or delete a milestone. Its issues are not deleted."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    path, act = frame.api("milestones", milestone_id), form.text("do")
    try:
        if act == "delete":
            await frame.forge.send("DELETE", "issues", path)
        elif act in ("open", "closed"):
            await frame.forge.send("PATCH", "issues", path, {"state": act})
        else:
            raise Invalid.field("do", "unknown", "is open, closed or delete")
    except ApiError as error:
        return await _milestones_page(frame, error)
    return frame.redirect("/milestones")


@get("/{owner:str}/{repo:str}/milestone/{milestone_id:int}", policy=anyone(), include_in_schema=False)
async def issues_of_milestone(request: WebRequest, milestone_id: int) -> Response[bytes]:
    """Redirect to the issues of a milestone."""
    frame = RepositoryFrame(request)
    (shown,) = await frame.load(frame.forge.get("issues", frame.api("milestones", milestone_id)))
    return frame.redirect(f"/issues?{urlencode({'milestone': shown['title'], 'state': 'all'})}")


routes = [
    milestones, new_milestone, milestone, save_milestone, change_milestone, issues_of_milestone,
]  # fmt: skip
