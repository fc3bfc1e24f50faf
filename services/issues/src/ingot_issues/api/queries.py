"""Query parameters of lists, read leniently: what makes no sense does not filter."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Literal

import msgspec
from litestar.params import QueryParameter

from ingot_chassis.policy import MAX_ID

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


def ids_and_names(values: Sequence[str] | None) -> tuple[list[int], list[str]]:
    """What a repeatable or comma-separated parameter lists: numbers are ids, the rest are names."""
    parts = [storable(part).strip() for value in values or [] for part in value.split(",")]
    numbers = {part for part in parts if part.isascii() and part.isdigit() and len(part) < 20}
    ids = [int(part) for part in parts if part in numbers and int(part) <= MAX_ID]
    return ids, [part for part in parts if part and part not in numbers]


def storable(text: str) -> str:
    """Without NUL, which no column holds and no row therefore matches."""
    return text.replace("\x00", "")
