"""Routes that create repositories: new, imported, forked, or from a template; and stars and watches."""

from asyncio import gather
from typing import Any

from litestar import Response, get, post

from ingot_chassis.errors import ApiError
from ingot_chassis.http.policy import anyone
from ingot_web.clients.forge import at
from ingot_web.forms.rules.fields import Form
from ingot_web.pages.api.request import WebRequest
from ingot_web.repositories.api.frames import RepositoryFrame

PARTS = {
    "git_content": "Files",
    "topics": "Topics",
    "labels": "Labels",
    "protected_branch": "Rules for branches",
}
"""Parts of a template that a new repository can copy: API names and labels."""


@get("/repo/create", policy=anyone(), include_in_schema=False)
async def new(request: WebRequest) -> Response[str]:
    """Show the form of a new repository."""
    request.require_signed_in()
    owner = request.query_params.get("org", "") or request.principal.name
    return await _new_page(request, Form([("owner", owner)]))


async def _new_page(request: WebRequest, form: Form, problem: ApiError | None = None) -> Response[str]:
    organizations, licenses, ignores = await gather(
        request.forge.rows_if_there("identity", "/user/orgs"),
        request.forge.get("repos", "/licenses"),
        request.forge.get("repos", "/gitignore/templates"),
    )
    owners = [request.principal.name, *(one["username"] for one in organizations or ())]
    # Administrators come here from any organization. The name is checked when the form is sent.
    if (chosen := form.text("owner")) and chosen.lower() not in map(str.lower, owners):
        owners.append(chosen)
    return request.render(
        "repositories/new.html",
        title="New repository",
        error=problem,
        faults=Form([(error.field, error.message) for error in problem.errors] if problem else []),
        form=form,
        owners=owners,
        licenses=[one["name"] for one in licenses],
        ignores=ignores,
    )


@post("/repo/create", policy=anyone(), include_in_schema=False)
async def create(request: WebRequest) -> Response[Any]:
    """Create a repository, or import it from a remote."""
    form = await request.sent_form()
    try:
        repository = await _create_repository(request, form)
    except ApiError as error:
        return await _new_page(request, form, error)
    return request.redirect("/" + repository["full_name"])


async def _create_repository(request: WebRequest, form: Form) -> Any:
    own = request.principal.name
    owner = form.text("owner") or own
    shared = {
        "description": form.text("description"),
        "private": form.has("private"),
    }
    if remote := form.text("clone_addr"):
        body = {"clone_addr": remote, "repo_owner": owner, "repo_name": form.text("name"), **shared}
        body |= {"auth_username": form.text("user"), "auth_password": form["password"]}
        body |= {"mirror": form.has("mirror"), "lfs": form.has("lfs")}
        return await request.forge.send("POST", "repos", "/repos/migrate", body)
    body = {
        "name": form.text("name"),
        "auto_init": form.has("auto_init"),
        "license": form.text("license"),
        "gitignores": form.text("gitignores"),
        "readme": "Default",
        **shared,
    }
    path = "/user/repos" if owner == own else at("orgs", owner, "repos")
    return await request.forge.send("POST", "repos", path, body)


@get("/{owner:str}/{repo:str}/fork", policy=anyone(), include_in_schema=False)
async def new_fork(request: WebRequest) -> Response[str]:
    """Show the form of a fork."""
    request.require_signed_in()
    return await _fork_page(RepositoryFrame(request), Form())


async def _fork_page(frame: RepositoryFrame, form: Form, problem: ApiError | None = None) -> Response[str]:
    (organizations,) = await frame.load(frame.forge.rows_if_there("identity", "/user/orgs"))
    return frame.render(
        "repositories/fork.html",
        tab="code",
        title="Fork",
        error=problem,
        form=form,
        owners=[frame.request.principal.name, *(one["username"] for one in organizations or ())],
    )


@post("/{owner:str}/{repo:str}/fork", policy=anyone(), include_in_schema=False)
async def fork(request: WebRequest) -> Response[Any]:
    """Fork a repository."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    body: dict[str, Any] = {"name": form.text("name")} if form.text("name") else {}
    if form.text("owner") not in ("", request.principal.name):
        body["organization"] = form.text("owner")
    try:
        repository = await frame.forge.send("POST", "repos", frame.api("forks"), body)
    except ApiError as error:
        return await _fork_page(frame, form, error)
    return request.redirect("/" + repository["full_name"])


@get("/{owner:str}/{repo:str}/generate", policy=anyone(), include_in_schema=False)
async def new_of_template(request: WebRequest) -> Response[str]:
    """Show the form of a repository from a template."""
    request.require_signed_in()
    return await _template_page(RepositoryFrame(request), Form([("git_content", "1")]))


async def _template_page(
    frame: RepositoryFrame, form: Form, problem: ApiError | None = None
) -> Response[str]:
    (organizations,) = await frame.load(frame.forge.rows_if_there("identity", "/user/orgs"))
    return frame.render(
        "repositories/generate.html",
        tab="code",
        title="Use this template",
        error=problem,
        form=form,
        owners=[frame.request.principal.name, *(one["username"] for one in organizations or ())],
        parts=PARTS,
    )


@post("/{owner:str}/{repo:str}/generate", policy=anyone(), include_in_schema=False)
async def generate(request: WebRequest) -> Response[Any]:
    """Create a repository from a template."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    body = {
        "owner": form.text("owner") or request.principal.name,
        "name": form.text("name"),
        "description": form.text("description"),
        "private": form.has("private"),
        **{name: form.has(name) for name in PARTS},
    }
    try:
        repository = await frame.forge.send("POST", "repos", frame.api("generate"), body)
    except ApiError as error:
        return await _template_page(frame, form, error)
    return request.redirect("/" + repository["full_name"])


@post("/{owner:str}/{repo:str}/star", policy=anyone(), include_in_schema=False)
async def star(request: WebRequest) -> Response[bytes]:
    """Star the repository."""
    await request.sent_form()
    frame = RepositoryFrame(request)
    await frame.forge.send("PUT", "repos", "/user/starred" + frame.base)
    return frame.redirect()


@post("/{owner:str}/{repo:str}/unstar", policy=anyone(), include_in_schema=False)
async def unstar(request: WebRequest) -> Response[bytes]:
    """Remove the star from the repository."""
    await request.sent_form()
    frame = RepositoryFrame(request)
    await frame.forge.send("DELETE", "repos", "/user/starred" + frame.base)
    return frame.redirect()


@post("/{owner:str}/{repo:str}/watch", policy=anyone(), include_in_schema=False)
async def watch(request: WebRequest) -> Response[bytes]:
    """Watch the repository, or stop watching it."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    method = "DELETE" if form.has("stop") else "PUT"
    await frame.forge.send(method, "repos", frame.api("subscription"))
    return frame.redirect()


async def _people(request: WebRequest, name: str, heading: str) -> Response[str]:
    return await RepositoryFrame(request).list_page(
        "repositories/accounts.html", "repos", name, tab="code", title=heading, heading=heading
    )


@get("/{owner:str}/{repo:str}/stars", policy=anyone(), include_in_schema=False)
async def stars(request: WebRequest) -> Response[str]:
    """List accounts that starred the repository."""
    return await _people(request, "stargazers", "Stars")


@get("/{owner:str}/{repo:str}/watchers", policy=anyone(), include_in_schema=False)
async def watchers(request: WebRequest) -> Response[str]:
    """List accounts that watch the repository."""
    return await _people(request, "subscribers", "Watching")


@get("/{owner:str}/{repo:str}/forks", policy=anyone(), include_in_schema=False)
async def forks(request: WebRequest) -> Response[str]:
    """List forks of the repository."""
    return await _people(request, "forks", "Forks")


routes = [new, create, new_fork, fork, new_of_template, generate, star, unstar, watch, stars, watchers, forks]
