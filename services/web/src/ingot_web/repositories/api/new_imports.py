"""Routes for new imports: a form for a repository of another server, with a preview."""

from asyncio import gather
from typing import Any

from litestar import Response, get, post

from ingot_chassis.errors import ApiError
from ingot_chassis.http.policy import anyone
from ingot_web.forms.rules.fields import Form
from ingot_web.pages.api.request import WebRequest

SERVICES = (
    ("gitea", "Gitea or Ingot"),
    ("forgejo", "Forgejo"),
    ("gogs", "Gogs"),
    ("github", "GitHub"),
    ("gitlab", "GitLab"),
    ("git", "Another server, by git alone"),
)
SWITCHES = (
    ("issues", "Issues"),
    ("pull_requests", "Pull requests"),
    ("labels", "Labels"),
    ("milestones", "Milestones"),
    ("releases", "Releases"),
    ("wiki", "Wiki"),
    ("lfs", "Objects of LFS"),
)
CHECKED = [(name, "1") for name, _ in SWITCHES if name != "lfs"]


@get("/repo/migrate", policy=anyone(), include_in_schema=False)
async def new_import(request: WebRequest) -> Response[str]:
    """Show the form of an import. ``org`` chooses the owner."""
    request.require_signed_in()
    owner = request.query_params.get("org", "") or request.principal.name
    return await _page(request, Form([("owner", owner), *CHECKED]))


async def _page(
    request: WebRequest, form: Form, problem: ApiError | None = None, report: dict[str, Any] | None = None
) -> Response[str]:
    (organizations,) = await gather(request.forge.rows_if_there("identity", "/user/orgs"))
    owners = [request.principal.name, *(one["username"] for one in organizations or ())]
    if (chosen := form.text("owner")) and chosen.lower() not in map(str.lower, owners):
        owners.append(chosen)
    return request.render(
        "repositories/migrate.html",
        title="Import a repository",
        error=problem,
        faults=Form([(error.field, error.message) for error in problem.errors] if problem else []),
        form=form,
        owners=owners,
        report=report,
        services=SERVICES,
        switches=SWITCHES,
        maps_logins=request.principal.admin,
    )


@post("/repo/migrate", policy=anyone(), include_in_schema=False)
async def add_import(request: WebRequest) -> Response[Any]:
    """Begin an import, or show what it would bring."""
    form = await request.sent_form()
    is_trial = form.text("do") == "try"
    body: dict[str, Any] = {
        "service": form.text("service"),
        "clone_addr": form.text("clone_addr"),
        "repo_owner": form.text("owner"),
        "repo_name": form.text("name"),
        "description": form.text("description"),
        "auth_username": form.text("user"),
        "auth_password": form["password"],
        "people_csv": form["people"],
        "dry_run": is_trial,
        **{name: form.has(name) for name, _ in (*SWITCHES, ("private", ""), ("map_logins", ""))},
    }
    try:
        answer = await request.forge.send("POST", "repos", "/repos/migrate", body)
    except ApiError as error:
        return await _page(request, form, error)
    if is_trial:
        return await _page(request, form, report=answer)
    return request.redirect(f"/{answer['full_name']}")


routes = [new_import, add_import]
