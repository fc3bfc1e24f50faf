"""Imports: page of a running or failed import, retrying and cancelling it."""

from typing import Any

from litestar import Response, post

from ingot_chassis.http.policy import anyone
from ingot_web.pages.api.request import WebRequest
from ingot_web.repositories.api.frames import RepositoryFrame

SECONDS = 5
"""After which a page that shows an import that runs is loaded again."""
FAILED = ("failed", "cancelled")


async def page_without_commits(frame: RepositoryFrame, *, is_failed: bool) -> Response[Any]:
    """First page of a repository whose import or fork has not finished, or has failed.

    The API shows the progress of an import only to administrators. ``frame`` is loaded.
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
    return frame.render(
        "repositories/import.html",
        in_place="repositories/progress.html",
        tab="code",
        status=200 if is_failed or migration else 503,
        migration=migration,
        is_failed=is_failed,
        is_watched=not is_failed and frame.request.query_params.get("refresh") != "no",
        seconds=SECONDS,
    )


async def error_of(frame: RepositoryFrame, contents: list[Any]) -> str:
    """Return problems of a finished import or a mirror, for administrators of the repository.

    An import can only lack files of LFS. They require ``.gitattributes`` among ``contents``. ``frame`` is
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
    """Restart a failed or cancelled import."""
    await request.sent_form()
    frame = RepositoryFrame(request)
    await frame.forge.send("POST", "repos", frame.api("migration"))
    return frame.redirect()


@post("/{owner:str}/{repo:str}/settings/migrate/cancel", policy=anyone(), include_in_schema=False)
async def cancel(request: WebRequest) -> Response[bytes]:
    """Cancel a running import."""
    await request.sent_form()
    frame = RepositoryFrame(request)
    await frame.forge.send("DELETE", "repos", frame.api("migration"))
    return frame.redirect()


routes = [retry, cancel]
