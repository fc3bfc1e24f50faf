"""Administration of imports of whole organizations: a form, the list, and the progress of each."""

from asyncio import gather
from typing import Any

from litestar import Response, get, post

from ingot_chassis.errors import ApiError
from ingot_chassis.http.policy import anyone
from ingot_web.clients.forge import at
from ingot_web.forms.rules.fields import Form
from ingot_web.pages.api.request import WebRequest
from ingot_web.repositories.api.new_imports import SERVICES as REPOSITORY_SERVICES

SHOWN = 50
SECONDS = 5
"""After which a page of a running import is loaded again."""
IMPORTS = "/admin/imports"
SERVICES = tuple(one for one in REPOSITORY_SERVICES if one[0] != "git")
SWITCHES = (
    ("issues", "Issues"),
    ("pull_requests", "Pull requests"),
    ("labels", "Labels"),
    ("milestones", "Milestones"),
    ("releases", "Releases"),
    ("wiki", "Wikis"),
    ("lfs", "Objects of LFS"),
    ("teams", "Teams and their members"),
)
NEW = Form([("repositories", "*"), *((name, "1") for name, _ in SWITCHES if name != "lfs")])
UNENDED = ("waiting", "running")


@get("/admin/imports", policy=anyone(), include_in_schema=False)
async def imports(request: WebRequest) -> Response[str]:
    """List imports of organizations, newest first, with a form for a new import."""
    request.require_signed_in()
    return await _list_page(request, NEW)


async def _list_page(
    request: WebRequest, form: Form, problem: ApiError | None = None, report: dict[str, Any] | None = None
) -> Response[str]:
    listing = await request.forge.listing("repos", IMPORTS, page=request.number, limit=SHOWN)
    return request.render(
        "administration/imports.html",
        title="Imports of organizations",
        part="imports",
        error=problem,
        form=form,
        report=report,
        services=SERVICES,
        switches=SWITCHES,
        listing=listing,
        pages=request.pages_of(listing.total, SHOWN),
    )


@post("/admin/imports", policy=anyone(), include_in_schema=False)
async def add_import(request: WebRequest) -> Response[Any]:
    """Start an import, or show the report of a dry run. A dry run needs no proof."""
    form = await request.sent_form()
    is_trial = form.text("do") != "import"
    body: dict[str, Any] = {
        **{name: form.text(name) for name in ("service", "address", "source", "organization")},
        "auth_username": form.text("user"),
        "auth_password": form["password"],
        "people_csv": form["people"],
        "repositories": form.text("repositories").split() or ["*"],
        **{name: form.has(name) for name, _ in (*SWITCHES, ("private", ""), ("map_logins", ""))},
        "dry_run": is_trial,
    }
    try:
        answer = await request.forge.send("POST", "repos", IMPORTS, body)
    except ApiError as error:
        return await _list_page(request, form, error)
    if is_trial:
        return await _list_page(request, form, report=answer)
    return request.redirect(f"{IMPORTS}/{answer['id']}")


@get("/admin/imports/{import_id:int}", policy=anyone(), include_in_schema=False)
async def show_import(request: WebRequest, import_id: int) -> Response[str]:
    """Show an import and the progress of its repositories. The page refreshes while the import runs."""
    request.require_signed_in()
    return await _import_page(request, import_id)


async def _import_page(
    request: WebRequest, import_id: int, problem: ApiError | None = None, form: Form | None = None
) -> Response[str]:
    path = IMPORTS + at(import_id)
    shown, listing, teams, absent = await gather(
        request.forge.get("repos", path),
        request.forge.listing("repos", f"{path}/repositories", page=request.number, limit=SHOWN),
        request.forge.listing("repos", f"{path}/teams", page=1, limit=SHOWN),
        request.forge.listing("repos", f"{path}/absent_members", page=1, limit=SHOWN),
    )
    counts = shown["repositories"]
    return request.render(
        "administration/import.html",
        title=f"Import of {shown['source']}",
        part="imports",
        error=problem,
        form=form or Form([]),
        shown=shown,
        all=sum(counts.values()),
        ended=sum(count for status, count in counts.items() if status not in UNENDED),
        is_watched=shown["status"] in UNENDED and request.query_params.get("refresh") != "no",
        is_running=shown["status"] in UNENDED,
        seconds=SECONDS,
        listing=listing,
        teams=teams,
        absent=absent,
        pages=request.pages_of(listing.total, SHOWN),
    )


@post("/admin/imports/{import_id:int}", policy=anyone(), include_in_schema=False)
async def cancel_import(request: WebRequest, import_id: int) -> Response[Any]:
    """Cancel an import."""
    await request.sent_form()
    try:
        await request.forge.send("DELETE", "repos", IMPORTS + at(import_id))
    except ApiError as error:
        return await _import_page(request, import_id, error)
    return request.redirect(f"{IMPORTS}/{import_id}")


@post("/admin/imports/{import_id:int}/again", policy=anyone(), include_in_schema=False)
async def repeat_import(request: WebRequest, import_id: int) -> Response[Any]:
    """Repeat an import that has ended, with the credentials of the form.

    The form also has a table that maps people to accounts.
    """
    form = await request.sent_form()
    body: dict[str, Any] = {
        "auth_username": form.text("user"),
        "auth_password": form["password"],
        "people_csv": form["people"],
        "map_logins": form.has("map_logins"),
    }
    try:
        await request.forge.send("POST", "repos", at("admin", "imports", import_id, "again"), body)
    except ApiError as error:
        return await _import_page(request, import_id, error, form)
    return request.redirect(f"{IMPORTS}/{import_id}")


@post("/admin/imports/{import_id:int}/people", policy=anyone(), include_in_schema=False)
async def reassign_people(request: WebRequest, import_id: int) -> Response[Any]:
    """Assign the contributions of people without an account to accounts, in all repositories of an import.

    The form has a table that maps people to accounts.
    """
    form = await request.sent_form()
    body = {"people_csv": form["accounts"]}
    try:
        await request.forge.send("POST", "repos", at("admin", "imports", import_id, "people"), body)
    except ApiError as error:
        return await _import_page(request, import_id, error, form)
    return request.redirect_with_outcome(f"{IMPORTS}/{import_id}", "saved")


routes = [imports, add_import, show_import, cancel_import, repeat_import, reassign_people]
