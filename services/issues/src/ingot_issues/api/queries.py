"""Query parameters of lists. A value that cannot be read does not filter, except where a function says otherwise."""

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import Annotated

import msgspec
from litestar.params import QueryParameter

from ingot_chassis.errors import Invalid
from ingot_chassis.http.policy import MAX_ID
from ingot_issues.store.states import StateFilter

MOST_VALUES = 50
"""Values of one parameter."""
NO_ID = -1
"""An id that no row has."""

InState = Annotated[str, QueryParameter(name="state")]
"""The parameter ``state``. Litestar uses that name for itself."""


def moment(text: str) -> datetime | None:
    """A time with or without zone, or None."""
    try:
        # A plus sign that the client did not escape arrives as a space.
        time = msgspec.convert(text.strip().replace(" ", "+"), datetime)
        return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
    except (msgspec.ValidationError, OverflowError, ValueError):
        return None


def end(text: str) -> datetime | None:
    """A time as ``moment`` reads it, up to the end of its second: answers have whole seconds."""
    time = moment(text)
    return None if time is None else time.replace(microsecond=999_999)


def state(text: str, default: StateFilter) -> StateFilter:
    """``open``, ``closed``, ``all``; anything else is the default."""
    return StateFilter(text) if text in StateFilter.__members__.values() else default


def ignored_whitespace(text: str) -> str:
    """Which changes of white space do not count, as repos calls it."""
    return text if text in ("ignore-all", "ignore-change", "ignore-eol") else "show-all"


def kind(text: str) -> bool | None:
    """``type``: True for pull requests only, False for issues only, None for both."""
    return {"pulls": True, "issues": False}.get(text)


def ids_and_names(parameter: str, values: Sequence[str] | None) -> tuple[list[int], list[str]]:
    """The values of a repeatable or comma-separated parameter, each once: numbers are ids, the others are names.

    A number that is too large for an id filters as well: no row has it. Raises Invalid for more than MOST_VALUES.
    """
    parts = names(parameter, values)
    numbers = [part for part in parts if part.isascii() and part.isdigit() and len(part) < 20]
    ids = [int(part) if int(part) <= MAX_ID else NO_ID for part in numbers]
    return ids, [part for part in parts if part not in numbers]


def ids_and_titles(parameter: str, values: Sequence[str] | None) -> tuple[list[int], list[str]]:
    """As ``ids_and_names``; a number may also be the name of something: a milestone may be called 2026."""
    return ids_and_names(parameter, values)[0], names(parameter, values)


def names(parameter: str, values: Sequence[str] | None) -> list[str]:
    """The values of a repeatable or comma-separated parameter, each once. Raises Invalid for more than MOST_VALUES."""
    return whole_names(parameter, [part for value in values or [] for part in value.split(",")])


def whole_names(parameter: str, values: Sequence[str] | None) -> list[str]:
    """The values of a repeatable parameter, each once; a comma belongs to its name. Raises as ``names`` does."""
    parts = {storable(value).strip(): None for value in values or []}
    parts.pop("", None)
    if len(parts) > MOST_VALUES:
        raise Invalid.field(parameter, "length", f"has more than {MOST_VALUES} values")
    return list(parts)


def choices(parameter: str, values: Sequence[str] | None, offered: Collection[str]) -> list[str]:
    """As ``names``. Raises Invalid for one that is not among ``offered``."""
    chosen = names(parameter, values)
    for name in chosen:
        if name not in offered:
            raise Invalid.field(parameter, "unknown", f"{name!r} is none of {', '.join(offered)}")
    return chosen


def truth(text: str) -> bool:
    """``true`` and ``1``, in any case; anything else is False."""
    return text.lower() in ("true", "1", "t")


def id_in(text: str) -> int:
    """The id in a part of a path, or 0, which no row has."""
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0
    return number if number <= MAX_ID else 0


def storable(text: str) -> str:
    """Without NUL, which no column holds."""
    return text.replace("\x00", "")
