"""Routes for labels of a repository: the list, and the forms to create, edit and delete a label."""

from typing import Any

from litestar import Response, get, post

from ingot_chassis.errors import ApiError
from ingot_chassis.http.policy import anyone
from ingot_web.clients.forge import at
from ingot_web.forms.rules.fields import Form
from ingot_web.pages.api.request import WebRequest
from ingot_web.repositories.api.frames import RepositoryFrame

SHOWN = 50
LABEL_ACTS = ("new", "edit", "delete")
LABELS = "/{owner:str}/{repo:str}/labels"


@get(LABELS, policy=anyone(), include_in_schema=False)
async def labels(request: WebRequest) -> Response[str]:
    """List the labels with the forms to edit them, and show the form of a new label."""
    return await _labels_page(RepositoryFrame(request), Form())


async def _labels_page(frame: RepositoryFrame, form: Form, problem: ApiError | None = None) -> Response[str]:
    return await frame.list_page(
        "labels/list.html",
        "issues",
        "labels",
        size=SHOWN,
        tab="issues",
        title="Labels",
        error=problem,
        form=form,
    )


@post([f"{LABELS}/{act}" for act in LABEL_ACTS], policy=anyone(), include_in_schema=False)
async def change_label(request: WebRequest) -> Response[Any]:
    """Create, edit or delete a label. The error is shown above the list."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    try:
        await send_label(request, frame.api("labels"), form)
    except ApiError as error:
        return await _labels_page(frame, form, error)
    return frame.redirect("/labels")


async def send_label(request: WebRequest, path: str, form: Form) -> None:
    """Apply the action in the URL's last segment, one of LABEL_ACTS, to the labels at the API ``path``."""
    body = {name: form.text(name) for name in ("name", "color", "description")}
    own = path + at(form.text("id"))
    match request.rest(0).rpartition("/")[-1]:
        case "new":
            await request.forge.send("POST", "issues", path, body)
        case "edit":
            await request.forge.send("PATCH", "issues", own, body)
        case _:
            await request.forge.send("DELETE", "issues", own)


routes = [labels, change_label]
