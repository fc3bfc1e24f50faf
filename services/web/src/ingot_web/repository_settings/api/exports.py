"""Routes for the archive of a repository: its export, the progress, cancellation and deletion."""

from typing import Any

from litestar import Response, get, post

from ingot_chassis.errors import ApiError
from ingot_chassis.http.policy import anyone
from ingot_web.pages.api.request import WebRequest
from ingot_web.repositories.api.frames import RepositoryFrame
from ingot_web.repositories.api.imports import SECONDS
from ingot_web.repository_settings.api.general import SHARED, load_own, render_part


@get(f"{SHARED}/export", policy=anyone(), include_in_schema=False)
async def export(request: WebRequest) -> Response[Any]:
    """Show the archive, or the progress of its export."""
    request.require_signed_in()
    return await _export_page(RepositoryFrame(request))


async def _export_page(frame: RepositoryFrame, problem: ApiError | None = None) -> Response[Any]:
    """Return the page of the archive. It refreshes while the export runs."""
    (archive,) = await load_own(frame, frame.forge.get_if_there("repos", frame.api("export")))
    is_running = archive is not None and archive["status"] == "running"
    if frame.request.wants_part and problem is None and not is_running:
        return frame.request.reload()
    return render_part(
        frame,
        "export",
        "Export",
        problem,
        in_place="repository_settings/export_progress.html",
        archive=archive,
        is_watched=is_running and frame.request.query_params.get("refresh") != "no",
        place=f"{frame.request.root}{frame.base}/settings/export",
        seconds=SECONDS,
    )


@post(f"{SHARED}/export", policy=anyone(), include_in_schema=False)
async def change_export(request: WebRequest) -> Response[Any]:
    """Begin an export, cancel it, or delete its archive."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    method = "DELETE" if form.text("do") == "remove" else "POST"
    try:
        await frame.forge.send(method, "repos", frame.api("export"))
    except ApiError as error:
        return await _export_page(frame, error)
    return frame.redirect("/settings/export")


routes = [export, change_export]
