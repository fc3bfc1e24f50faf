"""The route that ticks tasks in the text of an issue or pull request."""

from litestar import Response, post

from ingot_chassis.errors import Conflict, Denied, Invalid
from ingot_chassis.http.policy import anyone
from ingot_web.forms.rules.fields import whole_number
from ingot_web.issues.rules.tasks import is_ticked, with_task
from ingot_web.pages.api.request import WebRequest
from ingot_web.repositories.api.frames import RepositoryFrame


@post("/{owner:str}/{repo:str}/issues/{index:int}/tasks", policy=anyone(), include_in_schema=False)
async def tick(request: WebRequest, index: int) -> Response[bytes]:
    """Toggle the checkbox of a task in the text that the caller saw.

    Raises Conflict if the text has changed since the page was shown.
    """
    form, frame = await request.sent_form(), RepositoryFrame(request)
    path = frame.api("issues", index)
    issue, may_edit = await frame.load(
        frame.forge.get("issues", path), frame.forge.may_edit(frame.base, index)
    )
    if not may_edit:
        raise Denied("you may not change this text")
    version = issue["content_version"]
    if form.text("version") != str(version):
        raise Conflict("somebody changed the text meanwhile; go back and load the page again to see it")
    number = whole_number(form.text("task"), 6)
    body = with_task(issue["body"], number) if number is not None else None
    if number is None or body is None:
        raise Invalid.field("task", "missing", "is no task of the text")
    texts = [issue["body"], body]
    before, after = await frame.forge.render(texts, context=frame.repository["full_name"])
    if not is_ticked(before, after, number):
        raise Invalid.field("task", "missing", "was not found in the text; edit the text instead")
    await frame.forge.send("PATCH", "issues", path, {"body": body, "content_version": version})
    return frame.redirect(f"/issues/{index}#task-{number}")


routes = [tick]
