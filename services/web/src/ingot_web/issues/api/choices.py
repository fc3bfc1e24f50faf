"""Routes for choices of an issue or pull request: labels, assignees, reviewers, milestone, date."""

from asyncio import gather
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from litestar import Response, get, post

from ingot_chassis.errors import ApiError, Denied
from ingot_chassis.http.policy import anyone
from ingot_web.forms.rules.fields import Form, whole_number
from ingot_web.pages.api.request import WebRequest
from ingot_web.repositories.api.frames import RepositoryFrame
from ingot_web.repositories.api.issue_choices import reviewers_of

KINDS = {
    "labels": "Labels",
    "assignees": "Assignees",
    "reviewers": "Reviewers",
    "milestone": "Milestone",
    "due": "Due date",
}
"""Kinds of choices: their names in URLs, and their labels."""
CHOICES = [f"/{{owner:str}}/{{repo:str}}/issues/{{index:int}}/{kind}" for kind in KINDS]


@get(CHOICES, policy=anyone(), include_in_schema=False)
async def choices(request: WebRequest, index: int) -> Response[Any]:
    """Show the form for one kind of choices. For an opened menu, return only the form."""
    request.require_signed_in()
    return await _page(RepositoryFrame(request), index, None)


async def _page(
    frame: RepositoryFrame, index: int, form: Form | None, problem: ApiError | None = None
) -> Response[Any]:
    """Return the form. ``form`` is a rejected form, or None."""
    kind, forge = frame.request.rest(0).rpartition("/")[2], frame.forge
    issue, rows = await frame.load(forge.get("issues", frame.api("issues", index)), _rows(frame, index, kind))
    tab = _require_right(frame, issue, kind)
    present, rows, teams = _present(issue, kind, rows)
    return frame.render(
        "issues/choose.html",
        in_place="issues/choices.html",
        tab=tab,
        title=f"{KINDS[kind]} of #{index}",
        error=problem,
        heading=KINDS[kind],
        issue=issue,
        kind=kind,
        own=f"{frame.request.root}{frame.base}/issues/{index}",
        rows=rows,
        teams=teams,
        present=present if form is None else form.ids(kind) if kind == "labels" else form.all(kind),
    )


def _require_right(frame: RepositoryFrame, issue: Any, kind: str) -> str:
    """Return the tab of the issue: ``issues`` or ``pulls``. Needs ``load``.

    Raises Denied unless the caller may change this kind of choices.
    """
    tab = "pulls" if issue["pull_request"] else "issues"
    is_author = tab == "pulls" and issue["user"]["login"] == frame.request.principal.name
    if frame.repository["archived"] or not (frame.writes(tab) or (kind == "reviewers" and is_author)):
        raise Denied("only writers of the repository may change that")
    return tab


async def _rows(frame: RepositoryFrame, index: int, kind: str) -> Any:
    """Return the choices of a kind; empty for the due date.

    For reviewers, return the pull request, the people and the teams.
    """
    forge = frame.forge
    match kind:
        case "labels" | "milestone":
            return (await forge.issue_choices(frame.base))["labels" if kind == "labels" else "milestones"]
        case "assignees":
            return (await forge.listing_if_there("repos", frame.api("assignees"))).rows
        case "reviewers":
            pull, people, teams = await gather(
                forge.get("issues", frame.api("pulls", index)),
                forge.listing_if_there("repos", frame.api("reviewers")),
                forge.listing_if_there("repos", frame.api("teams")),
            )
            return pull, people.rows, teams.rows
    return []


def _present(issue: Any, kind: str, listed: Any) -> tuple[list[Any], list[Any], list[Any]]:
    """Return the chosen values, the choices, and the teams to choose from.

    Values of the issue that are missing in the lists are added. Otherwise the form would remove them.
    """
    match kind:
        case "labels":
            own = issue["labels"] or []
            return [one["id"] for one in own], _with(listed, own), []
        case "assignees":
            own = issue["assignees"] or []
            return [one["login"] for one in own], _with(listed, own), []
        case "milestone":
            own = [issue["milestone"]] if issue["milestone"] else []
            return [one["id"] for one in own], _with(listed, own), []
        case "reviewers":
            pull, people, teams = listed
            requested, requested_teams = (
                pull.get(name) or [] for name in ("requested_reviewers", "requested_reviewers_teams")
            )
            author = issue["user"]["login"]
            others = [one for one in _with(people, requested) if one["login"] != author]
            return (
                [*(one["login"] for one in requested), *(f"@{one['name']}" for one in requested_teams)],
                others,
                [one["name"] for one in _with(teams, requested_teams)],
            )
    return [issue["due_date"][:10]] if issue["due_date"] else [], [], []


def _with(choices: list[Any], present: list[Any]) -> list[Any]:
    """Return the current values first, then the other choices."""
    ids = {one["id"] for one in present}
    return [*present, *(one for one in choices if one["id"] not in ids)]


@post(CHOICES, policy=anyone(), include_in_schema=False)
async def choose(request: WebRequest, index: int) -> Response[Any]:
    """Save the choices of one kind."""
    form, frame = await request.sent_form(), RepositoryFrame(request)
    try:
        await SAVERS[request.rest(0).rpartition("/")[2]](frame, index, form)
    except ApiError as error:
        return await _page(frame, index, form, error)
    return frame.redirect(f"/issues/{index}")


async def _save_labels(frame: RepositoryFrame, index: int, form: Form) -> None:
    path = frame.api("issues", index, "labels")
    await frame.forge.send("PUT", "issues", path, {"labels": form.ids("labels")})


async def _change(frame: RepositoryFrame, index: int, change: Mapping[str, Any]) -> None:
    await frame.forge.send("PATCH", "issues", frame.api("issues", index), change)


async def _save_assignees(frame: RepositoryFrame, index: int, form: Form) -> None:
    await _change(frame, index, {"assignees": form.all("assignees")})


async def _save_milestone(frame: RepositoryFrame, index: int, form: Form) -> None:
    await _change(frame, index, {"milestone": whole_number(form.text("milestone")) or 0})


async def _save_due(frame: RepositoryFrame, index: int, form: Form) -> None:
    due = form.text("due")
    await _change(frame, index, {"due_date": f"{due}T23:59:59Z"} if due else {"unset_due_date": True})


async def _save_reviewers(frame: RepositoryFrame, index: int, form: Form) -> None:
    """Request reviews that were added in the form, and withdraw requests that were removed.

    Without a change, raises Denied if the caller may not choose reviewers.
    """
    chosen, shown = (dict.fromkeys(form.all(name)) for name in ("reviewers", "shown"))
    path = frame.api("pulls", index, "requested_reviewers")
    added = [one for one in chosen if one not in shown]
    removed = [one for one in shown if one not in chosen]
    if not added and not removed:
        (issue,) = await frame.load(frame.forge.get("issues", frame.api("issues", index)))
        _require_right(frame, issue, "reviewers")
    for method, names in (("POST", added), ("DELETE", removed)):
        if names:
            await frame.forge.send(method, "issues", path, reviewers_of(names))


SAVERS: dict[str, Callable[[RepositoryFrame, int, Form], Awaitable[None]]] = {
    "labels": _save_labels,
    "assignees": _save_assignees,
    "milestone": _save_milestone,
    "due": _save_due,
    "reviewers": _save_reviewers,
}
"""The function that saves the form of each kind."""

routes = [choices, choose]
