"""Routes for imports: the page of a running or failed import, retrying and cancelling it."""

from typing import Any

from litestar import Response, get, post

from ingot_chassis.http.policy import anyone
from ingot_web.clients.forge import at
from ingot_web.pages.api.request import WebRequest
from ingot_web.repositories.api.frames import RepositoryFrame

SECONDS = 5
"""Seconds after which the page of a running import is loaded again."""
FAILED = ("failed", "cancelled")


async def page_without_commits(frame: RepositoryFrame, *, is_failed: bool) -> Response[Any]:
    """Return the first page of a repository whose import or fork has not finished, or has failed.

    The API shows the progress of an import only to administrators. ``frame`` must be loaded.
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
    frame: RepositoryFrame, migration: dict[str, Any] | None, place: str, *, is_failed: bool
) -> Response[Any]:
    """Return the page at ``place``. It refreshes while the import runs."""
    return frame.render(
        "repositories/import.html",
        in_place="repositories/progress.html",
        tab="code",
        status=200 if is_failed or migration else 503,
        migration=migration,
        is_failed=is_failed,
        is_watched=not is_failed and frame.request.query_params.get("refresh") != "no",
        place=f"{frame.request.root}{place}",
        seconds=SECONDS,
    )


@get("/{owner:str}/{repo:str}/settings/migrate", policy=anyone(), include_in_schema=False)
async def progress(request: WebRequest) -> Response[Any]:
    """Show the progress of an import whose commits are here. After its end, redirect to the first page."""
    request.require_signed_in()
    frame = RepositoryFrame(request)
    (migration,) = await frame.load(frame.forge.get("repos", frame.api("migration")))
    is_failed = migration["status"] in FAILED
    if request.wants_part and (is_failed or migration["status"] == "done"):
        return request.reload()
    if migration["status"] == "done":
        return frame.redirect()
    return _page(frame, migration, f"{frame.base}/settings/migrate", is_failed=is_failed)


async def import_without_issues(frame: RepositoryFrame) -> bool:
    """Return whether an import has brought the commits, and issues are still missing.

    The API shows the progress only to administrators. Issues are off until then. ``frame`` must be loaded.
    """
    repository = frame.repository
    if repository["has_issues"] or repository["has_pull_requests"]:
        return False
    if not (repository["permissions"] and repository["permissions"]["admin"]):
        return False
    migration = await frame.forge.get_if_there("repos", frame.api("migration"))
    return migration is not None and migration["status"] != "done"


async def error_of(frame: RepositoryFrame, contents: list[Any]) -> str:
    """Return problems of a finished import or a mirror, for administrators of the repository.

    An import can lack only LFS objects. They require ``.gitattributes`` in ``contents``. ``frame`` must be
    loaded.
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


@post("/{owner:str}/{repo:str}/settings/migrate/cancel", policy=anyone(), include_in_schema=False)
async def cancel(request: WebRequest) -> Response[bytes]:
    """Cancel an import, and delete its repository."""
    await request.sent_form()
    frame = RepositoryFrame(request)
    migration = await frame.forge.get("repos", frame.api("migration"))
    await frame.forge.send("DELETE", "repos", at("repos", "migrate", migration["id"]))
    return request.redirect("/")


routes = [progress, retry, cancel]
