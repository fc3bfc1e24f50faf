"""More settings of a repository: teams, mirrors, and handing it to another owner."""

from typing import Any

from litestar import Response, get, post

from ingot_chassis.errors import ApiError, NotFound
from ingot_chassis.http.policy import anyone
from ingot_web.api.frames import RepositoryFrame
from ingot_web.api.repository_settings import load_own
from ingot_web.api.request import Form, WebRequest, require_typed
from ingot_web.clients.forge import at

SHOWN = 50
SHARED = "/{owner:str}/{repo:str}/settings"


def render_part(
    frame: RepositoryFrame, part: str, title: str, problem: ApiError | None, *, page: str = "", **values: Any
) -> Response[str]:
    """A page of settings, by the template ``page`` or the one of the part's name."""
    return frame.render(
        f"settings/{page or part}.html",
        tab="settings",
        title=title,
        part=part,
        error=problem,
        **values,
    )


@get(f"{SHARED}/teams", policy=anyone(), include_in_schema=False)
async def teams(request: WebRequest) -> Response[str]:
    """The teams of the organization that have the repository."""
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
    """Let a team in, or take the repository from it."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    method = "DELETE" if form.has("remove") else "PUT"
    try:
        await frame.forge.send(method, "repos", frame.api("teams", form.text("remove") or form.text("team")))
    except ApiError as error:
        return await _teams_page(frame, form, error)
    return frame.redirect("/settings/teams")


@get(f"{SHARED}/mirrors", policy=anyone(), include_in_schema=False)
async def mirrors(request: WebRequest) -> Response[str]:
    """Where the repository comes from, and where it is pushed to."""
    request.require_signed_in()
    return await _mirrors_page(RepositoryFrame(request), Form())


async def _mirrors_page(frame: RepositoryFrame, form: Form, problem: ApiError | None = None) -> Response[str]:
    number = frame.request.number
    listing, migration = await load_own(
        frame,
        frame.forge.listing_if_there("repos", frame.api("push_mirrors"), page=number, limit=SHOWN),
        frame.forge.get_if_there("repos", frame.api("migration")),
    )
    fault = migration["error"] if migration else ""
    values = {"listing": listing, "pages": frame.request.pages_of(listing.total, SHOWN)}
    return render_part(frame, "mirrors", "Mirrors", problem, fault=fault, form=form, **values)


@post(f"{SHARED}/mirrors", policy=anyone(), include_in_schema=False)
async def change_mirrors(request: WebRequest) -> Response[Any]:
    """Add a mirror, remove one, say how often it is fetched, or bring them up to date."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    try:
        match form.text("do"):
            case "fetch":
                await frame.forge.send("POST", "repos", frame.api("mirror-sync"))
            case "push":
                await frame.forge.send("POST", "repos", frame.api("push_mirrors-sync"))
            case "remove":
                await frame.forge.send("DELETE", "repos", frame.api("push_mirrors", form.text("name")))
            case "save":
                await frame.forge.send("PATCH", "repos", frame.api(), _mirror_of(form))
                return request.redirect_with_outcome(f"{frame.base}/settings/mirrors", "saved")
            case _:
                body = {
                    "remote_address": form.text("remote"),
                    "remote_username": form.text("user"),
                    "remote_password": form["password"],
                    "interval": form.text("interval"),
                    "sync_on_commit": form.has("on_commit"),
                }
                await frame.forge.send("POST", "repos", frame.api("push_mirrors"), body)
    except ApiError as error:
        return await _mirrors_page(frame, form, error)
    return frame.redirect("/settings/mirrors")


def _mirror_of(form: Form) -> dict[str, Any]:
    """How often it is fetched; and with which user name and password, where the form has them, else as before."""
    credentials = {"mirror_username": form.text("mirror_user"), "mirror_password": form["mirror_password"]}
    return {
        "mirror_interval": form.text("mirror_interval"),
        **{name: text for name, text in credentials.items() if text},
    }


@get(f"{SHARED}/transfer", policy=anyone(), include_in_schema=False)
async def transfer(request: WebRequest) -> Response[str]:
    """The form that hands it to another owner."""
    request.require_signed_in()
    return await _transfer_page(RepositoryFrame(request), Form())


async def _transfer_page(
    frame: RepositoryFrame, form: Form, problem: ApiError | None = None
) -> Response[str]:
    await load_own(frame)
    return render_part(frame, "transfer", "Transfer", problem, form=form)


@post(f"{SHARED}/transfer", policy=anyone(), include_in_schema=False)
async def begin_transfer(request: WebRequest) -> Response[Any]:
    """Hand it over, if its name was typed; a person or an organization of others has to accept it. Or take the offer back."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    await load_own(frame)
    try:
        if form.text("do") == "cancel":
            await frame.forge.send("POST", "repos", frame.api("transfer", "reject"))
            return frame.redirect("/settings/transfer")
        require_typed(form.text("name"), frame.repository["full_name"])
        body = {"new_owner": form.text("new_owner")}
        moved = await frame.forge.send("POST", "repos", frame.api("transfer"), body)
    except ApiError as error:
        return await _transfer_page(frame, form, error)
    return request.redirect(f"/{moved['full_name']}")


@get("/{owner:str}/{repo:str}/transfer", policy=anyone(), include_in_schema=False)
async def offer(request: WebRequest, owner: str, repo: str) -> Response[str]:
    """The question whether one takes over a repository, for whom it is offered to. Raises NotFound for everybody else."""
    request.require_signed_in()
    waiting = await request.forge.get_if_there("repos", at("repos", owner, repo, "transfer"))
    if waiting is None:
        raise NotFound
    return request.render(
        "repository/transfer.html",
        title="Take over a repository",
        full_name=f"{owner}/{repo}",
        waiting=waiting,
    )


@post("/{owner:str}/{repo:str}/transfer", policy=anyone(), include_in_schema=False)
async def answer(request: WebRequest, owner: str, repo: str) -> Response[bytes]:
    """Take it over, or refuse it."""
    form = await request.sent_form()
    act = "accept" if form.text("do") == "accept" else "reject"
    taken = await request.forge.send("POST", "repos", at("repos", owner, repo, "transfer", act))
    return request.redirect(f"/{taken['full_name']}" if act == "accept" else "/")


routes = [
    teams, change_teams, mirrors, change_mirrors, transfer, begin_transfer, offer, answer,
]  # fmt: skip
