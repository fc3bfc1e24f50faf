"""Query parameters of lists. A function ignores an invalid value unless its docstring names an error."""

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import Annotated

import msgspec
from litestar.params import QueryParameter

from ingot_chassis.errors import Invalid
from ingot_chassis.http.policy import MAX_ID
from ingot_issues.records.store.states import StateFilter

MOST_VALUES = 50
"""Maximum number of values of one parameter."""
NO_ID = -1
"""An id that no row has."""

InState = Annotated[str, QueryParameter(name="state")]
"""The parameter ``state``. Litestar reserves that name."""


def moment(text: str) -> datetime | None:
    """Return a time with or without zone, or None if it is invalid."""
    try:
        # A plus sign that the client did not escape arrives as a space.
        time = msgspec.convert(text.strip().replace(" ", "+"), datetime)
        return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
    except (msgspec.ValidationError, OverflowError, ValueError):
        return None


def end(text: str) -> datetime | None:
    """Return a time like ``moment``, at the end of its second.

    So a filter includes the times that responses round down to this second.
    """
    time = moment(text)
    return None if time is None else time.replace(microsecond=999_999)


def state(text: str, default: StateFilter) -> StateFilter:
    """Return ``open``, ``closed`` or ``all``, or the default for any other text."""
    return StateFilter(text) if text in StateFilter.__members__.values() else default


def ignored_whitespace(text: str) -> str:
    """Return the option for ignored white space in a diff, in the spelling of repos."""
    return text if text in ("ignore-all", "ignore-change", "ignore-eol") else "show-all"


def kind(text: str) -> bool | None:
    """Parse the parameter ``type``: True for pull requests only, False for issues only, None for both."""
    return {"pulls": True, "issues": False}.get(text)


def ids_and_names(parameter: str, values: Sequence[str] | None) -> tuple[list[int], list[str]]:
    """Split a repeatable or comma-separated parameter into distinct ids, which are numbers, and names.

    A number that is too large becomes ``NO_ID``, which no row has. A value of 20 or more digits is a name.
    Raises Invalid for more than MOST_VALUES.
    """
    parts = names(parameter, values)
    numbers = [part for part in parts if part.isascii() and part.isdigit() and len(part) < 20]
    ids = [int(part) if int(part) <= MAX_ID else NO_ID for part in numbers]
    return ids, [part for part in parts if part not in numbers]


def ids_and_titles(parameter: str, values: Sequence[str] | None) -> tuple[list[int], list[str]]:
    """Split a parameter like ``ids_and_names``, but return all values as titles.

    A number is both an id and a title, for example 2026.
    """
    return ids_and_names(parameter, values)[0], names(parameter, values)


def names(parameter: str, values: Sequence[str] | None) -> list[str]:
    """Return the distinct values of a repeatable or comma-separated parameter.

    Raises Invalid for more than MOST_VALUES.
    """
    return whole_names(parameter, [part for value in values or [] for part in value.split(",")])


def whole_names(parameter: str, values: Sequence[str] | None) -> list[str]:
    """Return the distinct values of a repeatable parameter. Commas are part of a value.

    Raises Invalid for more than MOST_VALUES.
    """
    parts = {storable(value).strip(): None for value in values or []}
    parts.pop("", None)
    if len(parts) > MOST_VALUES:
        raise Invalid.field(parameter, "length", f"has more than {MOST_VALUES} values")
    return list(parts)


def choices(parameter: str, values: Sequence[str] | None, offered: Collection[str]) -> list[str]:
    """Return the result of ``names``. Raises Invalid for a value that is not in ``offered``."""
    chosen = names(parameter, values)
    for name in chosen:
        if name not in offered:
            raise Invalid.field(parameter, "unknown", f"{name!r} is none of {', '.join(offered)}")
    return chosen


def truth(text: str) -> bool:
    """Return True for ``true``, ``t`` and ``1``, in any case, and False for other texts."""
    return text.lower() in ("true", "1", "t")


def id_in(text: str) -> int:
    """Return the id in a path segment. Return 0, which no row has, if the id is invalid."""
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0
    return number if number <= MAX_ID else 0


def storable(text: str) -> str:
    """Return the text without NUL characters, which no column can store."""
    return text.replace("\x00", "")
