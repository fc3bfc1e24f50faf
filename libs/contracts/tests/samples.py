"""One event of every type, filled in; what a golden file is first written from."""

import types
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec

from ingot_contracts.events import EVENTS

MOMENT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def event_classes() -> list[type[msgspec.Struct]]:
    """Every event of every owner."""
    return [event for events in EVENTS.values() for event in events]


def sample(hint: Any, depth: int = 0) -> Any:
    """A value of the type ``hint``, with every field given."""
    origin = get_origin(hint)
    if origin is Annotated:
        return sample(get_args(hint)[0], depth)
    if origin is Literal:
        return get_args(hint)[0]
    if msgspec.UnsetType in get_args(hint):
        return msgspec.UNSET  # no event has it
    if origin in (Union, types.UnionType):
        inner = next(arg for arg in get_args(hint) if arg is not type(None))
        return None if depth > 3 else sample(inner, depth + 1)
    if hint is type(None):
        return None
    if origin is list:
        return [] if depth > 4 else [sample(get_args(hint)[0], depth + 1)]
    if origin is dict:
        return {}
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        fields = msgspec.structs.fields(hint)
        return hint(**{field.name: sample(field.type, depth + 1) for field in fields})
    return {str: "text", int: 7, bool: True, datetime: MOMENT}[hint]
