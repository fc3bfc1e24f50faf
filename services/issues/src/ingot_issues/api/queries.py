"""Query parameters of lists, read leniently: what makes no sense does not filter."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Literal

import msgspec
from litestar.params import QueryParameter

from ingot_chassis.errors import Invalid
from ingot_chassis.policy import MAX_ID

MOST_VALUES = 50
"""Values of one parameter that filters."""
NOBODYS = -1
"""An id that no row has."""

InState = Annotated[str, QueryParameter(name="state")]
"""The parameter ``state``, a name that litestar keeps for itself."""


def moment(text: str) -> datetime | None:
    """A time with or without zone, or None."""
    try:
        # A plus sign that nobody escaped arrives as a space.
        found = msgspec.convert(text.strip().replace(" ", "+"), datetime)
        return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
    except (msgspec.ValidationError, OverflowError, ValueError):
        return None


def state(text: str, default: Literal["open", "closed", "all"]) -> Literal["open", "closed", "all"]:
    """``open``, ``closed``, ``all``; anything else is the default."""
    if text == "open":
        return "open"
    if text == "closed":
        return "closed"
    return "all" if text == "all" else default


def kind(text: str) -> bool | None:
    """``type``: whether only pull requests, or only issues, or None for both."""
    return {"pulls": True, "issues": False}.get(text)


def ids_and_names(parameter: str, values: Sequence[str] | None) -> tuple[list[int], list[str]]:
    """What a repeatable or comma-separated parameter lists, each once: numbers are ids, the rest are names.

    A number that is too large for an id filters, too: nothing has it. Raises Invalid for more than MOST_VALUES.
    """
    parts = {storable(part).strip(): None for value in values or [] for part in value.split(",")}
    parts.pop("", None)
    if len(parts) > MOST_VALUES:
        raise Invalid.field(parameter, "length", f"has more than {MOST_VALUES} values")
    numbers = [part for part in parts if part.isascii() and part.isdigit() and len(part) < 20]
    ids = [int(part) if int(part) <= MAX_ID else NOBODYS for part in numbers]
    return ids, [part for part in parts if part not in numbers]


def id_in(text: str) -> int:
    """The id that a part of a path is, or 0, which nothing has."""
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0
    return number if number <= MAX_ID else 0


def storable(text: str) -> str:
    """Without NUL, which no column holds and no row therefore matches."""
    return text.replace("\x00", "")
