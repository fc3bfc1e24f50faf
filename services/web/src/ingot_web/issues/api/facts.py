"""Routes for details of an issue: dependencies, time, files, subscription, lock, pin, deletion."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from litestar import Response, get, post

from ingot_chassis.errors import ApiError, Denied, Invalid
from ingot_chassis.http.policy import anyone
from ingot_web.attachments.api import REMOVAL, remove
from ingot_web.clients.forge import MOST_PAGES, ROWS
from ingot_web.forms.rules.fields import Form, require_typed, whole_number
from ingot_web.pages.api.request import WebRequest
from ingot_web.repositories.api.frames import RepositoryFrame


@get("/{owner:str}/{repo:str}/issues/{index:int}/facts", policy=anyone(), include_in_schema=False)
async def facts(request: WebRequest, index: int) -> Response[str]:
    """Show all details, with the forms to change them."""
    request.require_signed_in()
    return await _page(RepositoryFrame(request), index, Form())


async def _page(
    frame: RepositoryFrame, index: int, form: Form, problem: ApiError | None = None
) -> Response[str]:
    """Return the page of details. ``form`` is a rejected or empty form.

    Blockers and times are omitted if the repository has disabled them (``internal_tracker``).
    """
    (
        issue,
        people,
        blockers,
        blocks,
        times,
        stopwatches,
        subscription,
        may_edit,
    ) = await frame.load(
        frame.forge.get("issues", frame.api("issues", index)),
        frame.forge.listing_if_there("repos", frame.api("assignees")),
        frame.forge.rows_if_there("issues", frame.api("issues", index, "dependencies")),
        frame.forge.rows_if_there("issues", frame.api("issues", index, "blocks")),
        frame.forge.rows_if_there("issues", frame.api("issues", index, "times")),
        frame.forge.rows_if_there("issues", "/user/stopwatches"),
        frame.forge.get_if_there("issues", frame.api("issues", index, "subscriptions", "check")),
        frame.forge.may_edit(frame.base, index),
    )
    kind = "pulls" if issue["pull_request"] else "issues"
    return frame.render(
        "issues/facts.html",
        tab=kind,
        title=f"{issue['title']} #{index}",
        error=problem,
        issue=issue,
        form=form,
        own=f"{frame.request.root}/{frame.repository['full_name']}/issues/{index}",
        names={person["id"]: person["login"] for person in [issue["user"], *people.rows]},
        blockers=blockers,
        blocks=blocks or [],
        times=times,
        seconds=sum(one["time"] for one in times or ()),
        has_more_times=len(times or ()) == ROWS * MOST_PAGES,
        stopwatch=next((one for one in stopwatches or () if _is_of(one, frame, index)), None),
        subscription=subscription,
        may_edit=may_edit,
        removal=REMOVAL,
    )


def _is_of(stopwatch: Any, frame: RepositoryFrame, index: int) -> bool:
    """True if the stopwatch runs on the issue."""
    place = f"{stopwatch['repo_owner_name']}/{stopwatch['repo_name']}#{stopwatch['issue_index']}"
    return bool(place == f"{frame.repository['full_name']}#{index}")


@post("/{owner:str}/{repo:str}/issues/{index:int}/facts", policy=anyone(), include_in_schema=False)
async def change(request: WebRequest, index: int) -> Response[Any]:
    """Save a form of the page."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    try:
        if (act := ACTS.get(form.text("do"))) is None:
            raise Invalid.field("do", "unknown", "is no action of this page")
        outcome = await act(frame, index, form)
    except ApiError as error:
        return await _page(frame, index, form, error)
    if outcome:
        return request.redirect_with_outcome(f"{frame.base}/issues/{index}/facts", outcome)
    if act is _withdraw_request:
        return frame.redirect(f"/pulls/{index}")
    if act is _delete:
        return frame.redirect("/pulls" if form.has("is_pull") else "/issues")
    return frame.redirect(f"/issues/{index}/facts")


def _issue_named(text: str) -> Mapping[str, Any]:
    """Return the issue ``#3`` or ``owner/name#3`` in the format of the API. Raises Invalid."""
    place, _, digits = text.rpartition("#")
    owner, _, name = place.partition("/")
    number = whole_number(digits, 9)
    if number is None:
        raise Invalid.field("issue", "format", "is the number of an issue, such as #3 or owner/name#3")
    return {"index": number, "owner": owner, "repo": name}


async def _block(frame: RepositoryFrame, index: int, form: Form) -> None:
    path = frame.api("issues", index, "dependencies")
    await frame.forge.send("POST", "issues", path, _issue_named(form.text("issue")))


async def _unblock(frame: RepositoryFrame, index: int, form: Form) -> None:
    path = frame.api("issues", index, "dependencies")
    await frame.forge.send("DELETE", "issues", path, _issue_named(form.text("issue")))


async def _measure(frame: RepositoryFrame, index: int, form: Form) -> None:
    """Start, stop or discard the stopwatch of the caller."""
    match form.text("stopwatch"):
        case "start" | "stop" as act:
            await frame.forge.send("POST", "issues", frame.api("issues", index, "stopwatch", act))
        case _:
            await frame.forge.send("DELETE", "issues", frame.api("issues", index, "stopwatch", "delete"))


async def _spend(frame: RepositoryFrame, index: int, form: Form) -> None:
    """Add hours and minutes of work for the caller. Raises Invalid for other texts than whole numbers."""
    hours, minutes = (whole_number(form.text(name) or "0", 4) for name in ("hours", "minutes"))
    if hours is None or minutes is None:
        raise Invalid.field("hours", "format", "hours and minutes are whole numbers")
    seconds = hours * 3600 + minutes * 60
    await frame.forge.send("POST", "issues", frame.api("issues", index, "times"), {"time": seconds})


async def _delete_time(frame: RepositoryFrame, index: int, form: Form) -> None:
    await frame.forge.send("DELETE", "issues", frame.api("issues", index, "times", form.text("id")))


async def _subscribe(frame: RepositoryFrame, index: int, form: Form) -> None:
    method = "PUT" if form.text("hear") == "yes" else "DELETE"
    path = frame.api("issues", index, "subscriptions", frame.request.principal.name)
    await frame.forge.send(method, "issues", path)


async def _lock(frame: RepositoryFrame, index: int, form: Form) -> None:
    method = "PUT" if form.text("lock") == "yes" else "DELETE"
    await frame.forge.send(method, "issues", frame.api("issues", index, "lock"))


async def _pin(frame: RepositoryFrame, index: int, form: Form) -> None:
    method = "POST" if form.text("pin") == "yes" else "DELETE"
    await frame.forge.send(method, "issues", frame.api("issues", index, "pin"))


async def _withdraw_request(frame: RepositoryFrame, index: int, _form: Form) -> None:
    """Withdraw the review request for the caller."""
    path = frame.api("pulls", index, "requested_reviewers")
    await frame.forge.send("DELETE", "issues", path, {"reviewers": [frame.request.principal.name]})


async def _remove_file(frame: RepositoryFrame, index: int, form: Form) -> str:
    path = frame.api("issues", index)
    return await remove(frame, form, path, await frame.forge.get("issues", path))


async def _delete(frame: RepositoryFrame, index: int, form: Form) -> None:
    await frame.load()
    permissions = frame.repository["permissions"]
    if not (permissions and permissions["admin"]):
        raise Denied("only administrators of the repository may delete it")
    require_typed(form.text("typed"), f"#{index}")
    await frame.forge.send("DELETE", "issues", frame.api("issues", index))


ACTS: dict[str, Callable[[RepositoryFrame, int, Form], Awaitable[str | None]]] = {
    "block": _block,
    "unblock": _unblock,
    "spend": _spend,
    "forget": _delete_time,
    "hear": _subscribe,
    "lock": _lock,
    "pin": _pin,
    "measure": _measure,
    "withdraw": _withdraw_request,
    "remove": _remove_file,
    "delete": _delete,
}
"""Functions by the value of ``do`` in a form. Each returns the outcome for the page, if any."""

routes = [facts, change]
