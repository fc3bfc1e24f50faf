"""Announcements of events. Each event is clipped to the size that may be published.

A text is also clipped to the limit that its field declares. A stored text may be longer, because a row may be
older than the limits on requests.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar, cast

import msgspec
from msgspec import inspect

from ingot_chassis.db.transaction import Tx
from ingot_contracts.issues.events import Event
from ingot_contracts.limits import (
    EVENT_NAME_BYTES,
    Omitted,
    clip,
)

_Event = TypeVar("_Event", bound=Event)


MOST_CHARACTER_BYTES = 6
"""Bytes of an escaped control character in JSON."""
_SMALL = (
    inspect.BoolType,
    inspect.DateTimeType,
    inspect.IntType,
    inspect.LiteralType,
    inspect.NoneType,
)
"""Types of values that take a few bytes each."""


@dataclass
class Remainder:
    """The number of characters and items that an event omits."""

    characters: int = 0
    labels: int = 0
    assets: int = 0


def emit(tx: Tx, event: Event, repository_id: int) -> None:
    """Emit an event of a repository. Events have the order of the commits of transactions."""
    tx.emit(clip_event(event), key=repository_id)


def clip_event(event: _Event) -> _Event:
    """Return ``event`` clipped to less than EVENT_BYTES.

    Its field ``omitted``, if it has one, counts the omitted parts.
    """
    remainder = Remainder()
    fitting: _Event = _fit(event, EVENT_NAME_BYTES, remainder)
    if fitting is event or not hasattr(fitting, "omitted"):
        return fitting
    omitted = Omitted(characters=remainder.characters, labels=remainder.labels, assets=remainder.assets)
    return msgspec.structs.replace(fitting, omitted=omitted)


def _fit(value: str | int | list[Any] | msgspec.Struct, room: int, remainder: Remainder) -> Any:
    """Return ``value`` with texts clipped to ``room`` bytes, or to the limit of their own field."""
    if isinstance(value, str):
        start = clip(value, room)
        remainder.characters += len(value) - len(start)
        return start
    if isinstance(value, list):
        return [_fit(item, room, remainder) for item in value]
    if isinstance(value, int):
        return value
    changed: dict[str, Any] = {}
    for name, own, most in _fields(type(value)):
        field, own_room = getattr(value, name), own or room
        # Nearly all fields end here, which keeps every change of an issue fast.
        if not field or (type(field) is str and len(field) * MOST_CHARACTER_BYTES <= own_room):
            continue
        if most and len(field) > most:
            remainder.labels += len(field) - most if name.endswith("labels") else 0
            remainder.assets += len(field) - most if name == "assets" else 0
            changed[name] = field = field[:most]
        fitting = _fit(field, own_room, remainder)
        if fitting is not field and fitting != field:
            changed[name] = fitting
    return msgspec.structs.replace(value, **changed) if changed else value


@cache
def _fields(kind: type[msgspec.Struct]) -> tuple[tuple[str, int, int], ...]:
    """Return the fields that may be too large: name, limit in bytes, and limit of items.

    Bytes 0: the limit of the surrounding value applies. Items 0: the number of items is not limited.
    `ingot_contracts` declares the limits next to each field.
    """
    described, fields = cast("inspect.StructType", inspect.type_info(kind)), []
    for field in described.fields:
        type_, budget = _budget(field.type)
        if not all(isinstance(one, _SMALL) for one in getattr(type_, "types", (type_,))):
            if isinstance(type_, inspect.ListType):
                budget = _budget(type_.item_type)[1] | budget
            fields.append((field.name, budget.get("most_bytes", 0), budget.get("most_items", 0)))
    return tuple(fields)


def _budget(type_: inspect.Type) -> tuple[inspect.Type, dict[str, int]]:
    """Return a type without its metadata, and the budget in the metadata."""
    return (type_.type, type_.extra or {}) if isinstance(type_, inspect.Metadata) else (type_, {})
