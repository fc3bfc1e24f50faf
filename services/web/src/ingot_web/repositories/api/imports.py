"""Routes for imports: the page of an import, retrying, repeating and cancelling it."""

from typing import Any

from litestar import Response, get, post

from ingot_chassis.errors import ApiError
from ingot_chassis.http.policy import anyone
from ingot_web.clients.forge import at
from ingot_web.forms.rules.fields import Form
from ingot_web.pages.api.request import WebRequest
from ingot_web.repositories.api.frames import RepositoryFrame

SECONDS = 5
"""Seconds after which the page of a running import is loaded again."""
FAILED = ("failed", "cancelled")
SHOWN = 50


async def page_without_commits(frame: RepositoryFrame, *, is_failed: bool) -> Response[Any]:
    """Return the first page of a repository whose import or fork has not finished, or has failed.

    The API shows the progress of an import only to administrators. For them its status replaces
    ``is_failed``. ``frame`` must be loaded.
    """
    permissions = frame.repository["permissions"]
    migration = None
    if permissions and permissions["admin"]:
        migration = await frame.forge.get_if_there("repos", frame.api("migration"))
    if migration is not None and migration["status"] == "done":
        migration = None  # it has its commits, but their storage is unavailable
    if migration is not None:
        is_failed = migration["status"] in FAILED
    if is_failed and frame.request.wants_part:
        return frame.request.reload()
    return _page(frame, migration, frame.base, is_failed=is_failed)


def _page(
    frame: RepositoryFrame,
    migration: dict[str, Any] | None,
    place: str,
    *,
    is_failed: bool,
    problem: ApiError | None = None,
) -> Response[Any]:
    """Return the page at ``place``. It refreshes while the import runs."""
    return frame.render(
        "repositories/import.html",
        in_place="repositories/progress.html",
        tab="code",
        status=200 if is_failed or migration else 503,
        error=problem,
        migration=migration,
        is_failed=is_failed,
        is_watched=not is_failed and frame.request.query_params.get("refresh") != "no",
        place=f"{frame.request.root}{place}",
        seconds=SECONDS,
    )


@get("/{owner:str}/{repo:str}/settings/migrate", policy=anyone(), include_in_schema=False)
async def progress(request: WebRequest) -> Response[Any]:
    """Show the progress of an import after its commits are copied, or the result if the import is done."""
    request.require_signed_in()
    return await _progress_page(RepositoryFrame(request), Form())


async def _progress_page(
    frame: RepositoryFrame, form: Form, problem: ApiError | None = None
) -> Response[Any]:
    request = frame.request
    (migration,) = await frame.load(frame.forge.get("repos", frame.api("migration")))
    is_failed = migration["status"] in FAILED
    if request.wants_part and (is_failed or migration["status"] == "done"):
        return request.reload()
    if migration["status"] == "done":
        path = at("repos", "migrate", migration["id"], "conflicts")
        conflicts = await frame.forge.listing("repos", path, page=request.number, limit=SHOWN)
        return frame.render(
            "repositories/import_done.html",
            tab="settings",
            title="Import",
            error=problem,
            migration=migration,
            conflicts=conflicts,
            pages=request.pages_of(conflicts.total, SHOWN),
            form=form,
            maps_logins=request.principal.admin,
        )
    return _page(frame, migration, f"{frame.base}/settings/migrate", is_failed=is_failed, problem=problem)


async def import_without_issues(frame: RepositoryFrame) -> bool:
    """True if an import of the repository is not done, and its issues and pull requests are still off.

    False for callers who are not administrators: the API does not show them the progress. ``frame`` must be
    loaded.
    """
    repository = frame.repository
    if repository["has_issues"] or repository["has_pull_requests"]:
        return False
    if not (repository["permissions"] and repository["permissions"]["admin"]):
        return False
    migration = await frame.forge.get_if_there("repos", frame.api("migration"))
    return migration is not None and migration["status"] != "done"


async def error_of(frame: RepositoryFrame, contents: list[Any]) -> str:
    """Return problems of a finished import or a mirror, for administrators; empty for other callers.

    A finished import can lack only LFS objects, so it is checked only if ``contents`` has ``.gitattributes``.
    ``frame`` must be loaded.
    """
    repository = frame.repository
    may_lack = repository["mirror"] or any(entry["name"] == ".gitattributes" for entry in contents)
    if not may_lack or not (repository["permissions"] and repository["permissions"]["admin"]):
        return ""
    migration = await frame.forge.get_if_there("repos", frame.api("migration"))
    return str(migration["error"]) if migration is not None else ""


@post("/{owner:str}/{repo:str}/settings/migrate/retry", policy=anyone(), include_in_schema=False)
async def retry(request: WebRequest) -> Response[bytes]:
    """Restart a failed or cancelled import, with the credentials of the form."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    credentials = {"auth_username": form.text("user"), "auth_password": form["password"]}
    body = {name: text for name, text in credentials.items() if text}
    await frame.forge.send("POST", "repos", frame.api("migration"), body)
    return frame.redirect()


@post("/{owner:str}/{repo:str}/settings/migrate/again", policy=anyone(), include_in_schema=False)
async def again(request: WebRequest) -> Response[Any]:
    """Repeat an import. The form has the credentials, and a table that maps people to accounts."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    migration = await frame.forge.get("repos", frame.api("migration"))
    fields = {
        "auth_username": form.text("user"),
        "auth_password": form["password"],
        "people_csv": form["people"],
    }
    body: dict[str, Any] = {name: text for name, text in fields.items() if text}
    if form.has("map_logins"):
        body["map_logins"] = True
    try:
        await frame.forge.send("POST", "repos", at("repos", "migrate", migration["id"], "again"), body)
    except ApiError as error:
        return await _progress_page(frame, form, error)
    return frame.redirect("/settings/migrate")


@post("/{owner:str}/{repo:str}/settings/migrate/people", policy=anyone(), include_in_schema=False)
async def reassign(request: WebRequest) -> Response[Any]:
    """Assign imported contributions to local accounts. The form has the table of people as CSV."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    migration = await frame.forge.get("repos", frame.api("migration"))
    path = at("repos", "migrate", migration["id"], "people")
    try:
        await frame.forge.send("POST", "repos", path, {"people_csv": form["accounts"]})
    except ApiError as error:
        return await _progress_page(frame, form, error)
    return request.redirect_with_outcome(f"{frame.base}/settings/migrate", "saved")


@post("/{owner:str}/{repo:str}/settings/migrate/cancel", policy=anyone(), include_in_schema=False)
async def cancel(request: WebRequest) -> Response[bytes]:
    """Cancel an import, and delete its repository. If the import is a repeat, the repository is kept."""
    await request.sent_form()
    frame = RepositoryFrame(request)
    migration = await frame.forge.get("repos", frame.api("migration"))
    if migration.get("repeat"):  # an older release of repos does not tell it
        await frame.forge.send("DELETE", "repos", frame.api("migration"))
        return frame.redirect("/settings/migrate")
    await frame.forge.send("DELETE", "repos", at("repos", "migrate", migration["id"]))
    return request.redirect("/")


routes = [progress, retry, again, reassign, cancel]
