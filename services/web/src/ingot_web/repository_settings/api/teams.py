"""Routes for an organization's teams with access to a repository."""

from typing import Any

from litestar import Response, get, post

from ingot_chassis.errors import ApiError
from ingot_chassis.http.policy import anyone
from ingot_web.forms.rules.fields import Form
from ingot_web.pages.api.request import WebRequest
from ingot_web.repositories.api.frames import RepositoryFrame
from ingot_web.repository_settings.api.general import SHARED, load_own, render_part

SHOWN = 50


@get(f"{SHARED}/teams", policy=anyone(), include_in_schema=False)
async def teams(request: WebRequest) -> Response[str]:
    """List the teams of the organization that have access to the repository."""
    request.require_signed_in()
    return await _teams_page(RepositoryFrame(request), Form())


async def _teams_page(frame: RepositoryFrame, form: Form, problem: ApiError | None = None) -> Response[str]:
    number = frame.request.number
    (listing,) = await load_own(
        frame, frame.forge.listing_if_there("repos", frame.api("teams"), page=number, limit=SHOWN)
    )
    pages = frame.request.pages_of(listing.total, SHOWN)
    return render_part(frame, "teams", "Teams", problem, form=form, listing=listing, pages=pages)


@post(f"{SHARED}/teams", policy=anyone(), include_in_schema=False)
async def change_teams(request: WebRequest) -> Response[Any]:
    """Give a team access to the repository, or remove its access."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    method = "DELETE" if form.has("remove") else "PUT"
    try:
        await frame.forge.send(method, "repos", frame.api("teams", form.text("remove") or form.text("team")))
    except ApiError as error:
        return await _teams_page(frame, form, error)
    return frame.redirect("/settings/teams")


routes = [teams, change_teams]
