"""Choices for a new issue or pull request: labels, assignees, reviewers, milestones."""

from asyncio import gather
from typing import Any

from ingot_web.clients.forge import ListPage
from ingot_web.forms.rules.fields import Form, whole_number
from ingot_web.repositories.api.frames import RepositoryFrame


async def offered_choices(frame: RepositoryFrame, unit: str) -> dict[str, Any]:
    """Return the caller's choices for a new issue or pull request. Needs ``load``.

    Only writers get labels, milestones and assignees. Only signed-in callers get reviewers and names of
    teams, and only for pull requests. ``has_more_teams``: not all teams are offered.
    """
    signed_in = frame.request.principal.signed_in
    writes = signed_in and frame.writes(unit)
    asks = signed_in and unit == "pulls"
    choices, people, reviewers, teams = await gather(
        frame.forge.issue_choices(frame.base) if writes else _no_choices(),
        _listed(frame, "assignees", may_choose=writes),
        _listed(frame, "reviewers", may_choose=asks),
        _listed(frame, "teams", may_choose=asks),
    )
    return {
        **choices,
        "is_writer": writes,
        "people": people.rows,
        "reviewers": reviewers.rows,
        "teams": [one["name"] for one in teams.rows],
        "has_more_teams": teams.total > len(teams.rows),
    }


async def _listed(frame: RepositoryFrame, name: str, *, may_choose: bool) -> ListPage:
    return await frame.forge.listing_if_there("repos", frame.api(name)) if may_choose else ListPage([], 0)


async def _no_choices() -> dict[str, Any]:
    return {"labels": [], "milestones": []}


def reviewers_of(names: list[str]) -> dict[str, list[str]]:
    """Return the fields of an API request for reviewers. In ``names``, names of teams begin with ``@``."""
    return {
        "reviewers": [name for name in names if not name.startswith("@")],
        "team_reviewers": [name[1:] for name in names if name.startswith("@")],
    }


def chosen_values(form: Form) -> dict[str, Any]:
    """Return the labels, assignees and milestone that a form chooses, in the format of the API."""
    values: dict[str, Any] = {"labels": form.ids("labels"), "assignees": form.all("assignees")}
    values["milestone"] = whole_number(form.text("milestone"))
    return {name: value for name, value in values.items() if value}
