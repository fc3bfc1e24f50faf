"""Choices for a new issue or pull request: labels, assignees, reviewers, milestones."""

from asyncio import gather
from typing import Any

from ingot_web.forms.rules.fields import Form, whole_number
from ingot_web.repositories.api.frames import RepositoryFrame


async def offered_choices(frame: RepositoryFrame, unit: str) -> dict[str, Any]:
    """Return the caller's choices for a new issue or pull request. Needs ``load``.

    Only writers get labels, milestones and assignees. Reviewers are only for pull requests of signed-in
    callers.
    """
    signed_in = frame.request.principal.signed_in
    writes = signed_in and frame.writes(unit)
    choices, people, reviewers = await gather(
        frame.forge.issue_choices(frame.base) if writes else _no_choices(),
        _people(frame, "assignees", may_choose=writes),
        _people(frame, "reviewers", may_choose=signed_in and unit == "pulls"),
    )
    return {**choices, "is_writer": writes, "people": people, "reviewers": reviewers}


async def _people(frame: RepositoryFrame, name: str, *, may_choose: bool) -> list[Any]:
    return (await frame.forge.listing_if_there("repos", frame.api(name))).rows if may_choose else []


async def _no_choices() -> dict[str, Any]:
    return {"labels": [], "milestones": []}


def chosen_values(form: Form) -> dict[str, Any]:
    """Return the choices in the form of a new issue or pull request, in the format of the API."""
    values: dict[str, Any] = {"labels": form.ids("labels"), "assignees": form.all("assignees")}
    values["milestone"] = whole_number(form.text("milestone"))
    return {name: value for name, value in values.items() if value}
