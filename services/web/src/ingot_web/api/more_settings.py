"""More settings of a repository: teams, rules for branches and tags, mirrors, and handing it to another owner."""

from typing import Any

from litestar import Response, get, post

from ingot_chassis.errors import ApiError, Invalid
from ingot_chassis.http.policy import anyone
from ingot_web.api.frames import RepositoryFrame
from ingot_web.api.repository_settings import load_own
from ingot_web.api.request import Form, WebRequest, whole_number
from ingot_web.clients.forge import at

SHOWN = 50
SHARED = "/{owner:str}/{repo:str}/settings"


def _render(
    frame: RepositoryFrame, part: str, title: str, problem: ApiError | None, **values: Any
) -> Response[str]:
    return frame.render(
        f"settings/{part}.html",
        tab="settings",
        title=title,
        part=part,
        status=problem.status if problem else 200,
        problem=problem.message if problem else "",
        **values,
    )


@get(f"{SHARED}/teams", policy=anyone(), include_in_schema=False)
async def teams(request: WebRequest) -> Response[str]:
    """The teams of the organization that have the repository."""
    request.require_signed_in()
    return await _teams_page(RepositoryFrame(request))


async def _teams_page(frame: RepositoryFrame, problem: ApiError | None = None) -> Response[str]:
    (listing,) = await load_own(frame, frame.forge.listing_if_there("repos", frame.api("teams"), limit=SHOWN))
    return _render(frame, "teams", "Teams", problem, listing=listing)


@post(f"{SHARED}/teams", policy=anyone(), include_in_schema=False)
async def change_teams(request: WebRequest) -> Response[Any]:
    """Let a team in, or take the repository from it."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    method = "DELETE" if form.has("remove") else "PUT"
    try:
        await frame.forge.send(method, "repos", frame.api("teams", form.text("remove") or form.text("team")))
    except ApiError as error:
        return await _teams_page(frame, error)
    return frame.redirect("/settings/teams")


@get(f"{SHARED}/branches", policy=anyone(), include_in_schema=False)
async def protections(request: WebRequest) -> Response[str]:
    """Rules for branches and tags."""
    request.require_signed_in()
    return await _protections_page(RepositoryFrame(request), Form([("enable_push", "1")]))


async def _protections_page(
    frame: RepositoryFrame, form: Form, problem: ApiError | None = None
) -> Response[str]:
    rules, tags = await load_own(
        frame,
        frame.forge.listing("repos", frame.api("branch_protections"), limit=SHOWN),
        frame.forge.listing("repos", frame.api("tag_protections"), limit=SHOWN),
    )
    return _render(frame, "branches", "Protection", problem, rules=rules.rows, tags=tags.rows, form=form)


@post(f"{SHARED}/branches", policy=anyone(), include_in_schema=False)
async def change_protections(request: WebRequest) -> Response[Any]:
    """Make a rule, or remove one."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    try:
        match form.text("do"):
            case "remove":
                path = frame.api("branch_protections", form.text("name"))
                await frame.forge.send("DELETE", "repos", path)
            case "remove tag":
                path = frame.api("tag_protections", form.text("name"))
                await frame.forge.send("DELETE", "repos", path)
            case "tag":
                body = {
                    "name_pattern": form.text("pattern"),
                    "whitelist_usernames": form.text("people").split(),
                }
                await frame.forge.send("POST", "repos", frame.api("tag_protections"), body)
            case _:
                await frame.forge.send("POST", "repos", frame.api("branch_protections"), _rule(form))
    except ApiError as error:
        return await _protections_page(frame, form, error)
    return frame.redirect("/settings/branches")


def _rule(form: Form) -> dict[str, Any]:
    contexts = [context.strip() for context in form.lines("contexts").split("\n") if context.strip()]
    people = form.text("people").split()
    return {
        "rule_name": form.text("rule_name"),
        "enable_push": form.has("enable_push") or bool(people),
        "enable_push_whitelist": bool(people),
        "push_whitelist_usernames": people,
        "required_approvals": whole_number(form.text("approvals")) or 0,
        "enable_status_check": bool(contexts),
        "status_check_contexts": contexts,
        "block_on_rejected_reviews": form.has("rejected"),
        "dismiss_stale_approvals": form.has("stale"),
        "block_on_outdated_branch": form.has("outdated"),
    }


@get(f"{SHARED}/mirrors", policy=anyone(), include_in_schema=False)
async def mirrors(request: WebRequest) -> Response[str]:
    """Where the repository comes from, and where it is pushed to."""
    request.require_signed_in()
    return await _mirrors_page(RepositoryFrame(request), Form())


async def _mirrors_page(frame: RepositoryFrame, form: Form, problem: ApiError | None = None) -> Response[str]:
    (listing,) = await load_own(
        frame, frame.forge.listing_if_there("repos", frame.api("push_mirrors"), limit=SHOWN)
    )
    return _render(frame, "mirrors", "Mirrors", problem, listing=listing, form=form)


@post(f"{SHARED}/mirrors", policy=anyone(), include_in_schema=False)
async def change_mirrors(request: WebRequest) -> Response[Any]:
    """Add a mirror, remove one, or bring them up to date."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    try:
        match form.text("do"):
            case "fetch":
                await frame.forge.send("POST", "repos", frame.api("mirror-sync"))
            case "push":
                await frame.forge.send("POST", "repos", frame.api("push_mirrors-sync"))
            case "remove":
                await frame.forge.send("DELETE", "repos", frame.api("push_mirrors", form.text("name")))
            case _:
                body = {
                    "remote_address": form.text("remote"),
                    "remote_username": form.text("user"),
                    "remote_password": form["password"],
                    "sync_on_commit": form.has("on_commit"),
                }
                await frame.forge.send("POST", "repos", frame.api("push_mirrors"), body)
    except ApiError as error:
        return await _mirrors_page(frame, form, error)
    return frame.redirect("/settings/mirrors")


@get(f"{SHARED}/transfer", policy=anyone(), include_in_schema=False)
async def transfer(request: WebRequest) -> Response[str]:
    """The form that hands it to another owner."""
    request.require_signed_in()
    return await _transfer_page(RepositoryFrame(request))


async def _transfer_page(frame: RepositoryFrame, problem: ApiError | None = None) -> Response[str]:
    await load_own(frame)
    return _render(frame, "transfer", "Transfer", problem)


@post(f"{SHARED}/transfer", policy=anyone(), include_in_schema=False)
async def begin_transfer(request: WebRequest) -> Response[Any]:
    """Hand it over, if its name was typed; a person or an organization of others has to accept it."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    await load_own(frame)
    try:
        if form.text("name") != frame.repository["full_name"]:
            message = f"type {frame.repository['full_name']} to hand it over"
            raise Invalid.field("name", "mismatch", message)
        body = {"new_owner": form.text("new_owner")}
        moved = await frame.forge.send("POST", "repos", frame.api("transfer"), body)
    except ApiError as error:
        return await _transfer_page(frame, error)
    return request.redirect(f"/{moved['full_name']}")


@get("/{owner:str}/{repo:str}/transfer", policy=anyone(), include_in_schema=False)
async def offer(request: WebRequest, owner: str, repo: str) -> Response[str]:
    """The question whether one takes over a repository."""
    request.require_signed_in()
    return request.render(
        "repository/transfer.html", title="Take over a repository", full_name=f"{owner}/{repo}"
    )


@post("/{owner:str}/{repo:str}/transfer", policy=anyone(), include_in_schema=False)
async def answer(request: WebRequest, owner: str, repo: str) -> Response[bytes]:
    """Take it over, or refuse it."""
    form = await request.sent_form()
    act = "accept" if form.text("do") == "accept" else "reject"
    taken = await request.forge.send("POST", "repos", at("repos", owner, repo, "transfer", act))
    return request.redirect(f"/{taken['full_name']}" if act == "accept" else "/")


routes = [
    teams, change_teams, protections, change_protections, mirrors, change_mirrors, transfer, begin_transfer, offer, answer,
]  # fmt: skip
