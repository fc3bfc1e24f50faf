"""Routes for new imports: from another server, with a preview, and from an archive."""

from asyncio import gather
from typing import Any

from litestar import Response, get, post

from ingot_chassis.errors import ApiError, Invalid
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
MOST_ARCHIVE_BYTES = 9 * 1024 * 1024
"""Limit of an archive in a form, which is read into memory: it fits into the limit of all bodies."""
VERIFICATION_SECONDS = 60.0
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
    return await _form_page(
        request,
        "repositories/migrate.html",
        "Import a repository",
        form,
        problem,
        report=report,
        services=SERVICES,
        switches=SWITCHES,
    )


async def _form_page(
    request: WebRequest, template: str, title: str, form: Form, problem: ApiError | None, **values: Any
) -> Response[str]:
    """Return a page with a form of an import, for all owners whom the caller may choose."""
    (organizations,) = await gather(request.forge.rows_if_there("identity", "/user/orgs"))
    owners = [request.principal.name, *(one["username"] for one in organizations or ())]
    if (chosen := form.text("owner")) and chosen.lower() not in map(str.lower, owners):
        owners.append(chosen)
    return request.render(
        template,
        title=title,
        error=problem,
        faults=Form([(error.field, error.message) for error in problem.errors] if problem else []),
        form=form,
        owners=owners,
        maps_logins=request.principal.admin,
        **values,
    )


@post("/repo/migrate", policy=anyone(), include_in_schema=False)
async def add_import(request: WebRequest) -> Response[Any]:
    """Start an import, or show the report of a dry run."""
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


@get("/repo/migrate_archive", policy=anyone(), include_in_schema=False)
async def new_archive(request: WebRequest) -> Response[str]:
    """Show the form for an archive. ``org`` chooses the owner."""
    request.require_signed_in()
    owner = request.query_params.get("org", "") or request.principal.name
    return await _archive_page(request, Form([("owner", owner)]))


async def _archive_page(request: WebRequest, form: Form, problem: ApiError | None = None) -> Response[str]:
    title = "Import an archive"
    return await _form_page(
        request, "repositories/archive.html", title, form, problem, most_bytes=MOST_ARCHIVE_BYTES
    )


@post("/repo/migrate_archive", policy=anyone(), include_in_schema=False)
async def add_archive(request: WebRequest) -> Response[Any]:
    """Import the archive of the form."""
    form = await request.sent_form()
    fields: dict[str, Any] = {"owner": form.text("owner")}
    fields |= {name: True for name in ("private", "map_logins") if form.has(name)}
    try:
        if not form.files:
            raise Invalid.field("attachment", "missing", "choose a file")
        answer = await request.forge.upload(
            "repos",
            "/repos/migrate/archive",
            form.text("name"),
            form.files[0].content,
            seconds=VERIFICATION_SECONDS,
            **fields,
        )
    except ApiError as error:
        return await _archive_page(request, form, error)
    return request.redirect(f"/{answer['full_name']}")


routes = [new_import, add_import, new_archive, add_archive]
