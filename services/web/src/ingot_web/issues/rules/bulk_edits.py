"""The bulk edit form: parses the requested edits, and describes their outcomes."""

from collections.abc import Sequence
from typing import Any, get_args

import msgspec

from ingot_chassis.errors import Invalid
from ingot_contracts.issues.bulk_edits import MOST_EDITED, EditIssues, EditOutcome, How
from ingot_web.forms.rules.fields import Form, whole_number

HOWS: tuple[str, ...] = get_args(How)


def change_of(form: Form, *, is_pull: bool) -> EditIssues:
    """Return the edits that the form selects.

    Raises Invalid for no row, too many rows, or no edit.
    """
    numbers = form.ids("number")
    if not 0 < len(numbers) <= MOST_EDITED:
        raise Invalid(f"select 1 to {MOST_EDITED} rows of the list")
    values: dict[str, Any] = {}
    if form.text("state") in ("open", "closed"):
        values["state"] = form.text("state")
    if (milestone := whole_number(form.text("milestone"))) is not None:
        values["milestone"] = milestone
    if form.text("labels_how") in HOWS:
        values["labels"] = {"how": form.text("labels_how"), "ids": form.ids("labels")}
    if form.text("assignees_how") in HOWS:
        values["assignees"] = {"how": form.text("assignees_how"), "logins": form.all("assignees")}
    if not values:
        raise Invalid("choose at least one change")
    try:
        return msgspec.convert({"numbers": numbers, "is_pull": is_pull, **values}, EditIssues)
    except msgspec.ValidationError as error:
        raise Invalid("the form has more values than one change can have") from error


def summary(outcomes: Sequence[EditOutcome]) -> str:
    """Return text with the numbers of changed issues, and of issues that needed no change."""
    changed = [one.number for one in outcomes if one.changed]
    same = [one.number for one in outcomes if not one.changed and not one.refusal]
    parts = [("Changed", changed), ("No change needed", same)]
    return " ".join(f"{words}: {_numbers(numbers)}." for words, numbers in parts if numbers)


def refusals(outcomes: Sequence[EditOutcome]) -> list[tuple[str, str]]:
    """Return each reason for rejection, with the numbers of the issues as text."""
    numbers: dict[str, list[int]] = {}
    for one in outcomes:
        if one.refusal:
            numbers.setdefault(one.refusal, []).append(one.number)
    return [(reason, _numbers(refused)) for reason, refused in numbers.items()]


def _numbers(numbers: Sequence[int]) -> str:
    return ", ".join(f"#{number}" for number in numbers)
