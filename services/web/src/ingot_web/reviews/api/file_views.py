"""The route that marks files of a pull request as viewed by the caller. Other users cannot see the marks."""

import re

from litestar import Response, post

from ingot_chassis.http.policy import anyone
from ingot_contracts.issues.file_views import ViewFile
from ingot_web.pages.api.request import WebRequest
from ingot_web.repositories.api.frames import RepositoryFrame
from ingot_web.reviews.api.files import back_to_page

_ANCHOR = re.compile("diff-[0-9a-f]{40}")


@post("/{owner:str}/{repo:str}/pulls/{index:int}/viewed", policy=anyone(), include_in_schema=False)
async def view_file(request: WebRequest, index: int) -> Response[bytes]:
    """Mark a file as viewed in the version that the page showed, or remove the mark."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    view = ViewFile(path=form.text("path"), changes=None if form.has("forget") else form.text("changes"))
    await frame.forge.view_file(frame.base, index, view)
    if request.wants_part:
        return Response(b"", status_code=204)
    anchor = f"#{form['anchor']}" if _ANCHOR.fullmatch(form["anchor"]) else ""
    return back_to_page(frame, index, form, form.text("back"), anchor)


routes = [view_file]
