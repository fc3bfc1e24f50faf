"""Compares answers with the types that the description gives them."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from .gitea import TYPES, Field, inner

MISSING, OTHER_TYPE = "missing", "of another type"
SCALARS: dict[str, tuple[type, ...]] = {
    "boolean": (bool,),
    "integer": (int,),
    "string": (str,),
    "email": (str,),
    "time": (str,),
    "object": (dict,),
}


class Difference(NamedTuple):
    """``embedded``: the object is inside an object of another type. ``path`` says where it was."""

    kind: str
    field: str
    problem: str
    embedded: bool
    path: str

    @property
    def name(self) -> str:
        return f"{self.kind}.{self.field}"


class Comparison:
    """Collects the differences of answers, and the types of their objects."""

    def __init__(self) -> None:
        self.differences: list[Difference] = []
        self.types: set[str] = set()

    def add(self, path: str, kind: str, answer: Any) -> None:
        self._compare(path, kind, answer, outer="")

    def _compare(self, path: str, kind: str, value: Any, outer: str) -> None:
        for one in _elements(kind, value):
            named = inner(kind)
            if named not in TYPES or not isinstance(one, dict):
                continue
            self.types.add(named)
            for field in TYPES[named].values():
                problem = _problem(field, one)
                if problem:
                    self.differences.append(Difference(named, field.name, problem, bool(outer), path))
                elif one[field.name] is not None:
                    self._compare(path, field.kind, one[field.name], outer=named)


def _elements(kind: str, value: Any) -> Iterator[Any]:
    if kind[0] == "[" and isinstance(value, list):
        yield from value
    elif kind[0] == "{" and isinstance(value, dict):
        yield from value.values()
    else:
        yield value


def _problem(field: Field, answer: dict[str, Any]) -> str:
    if field.name not in answer:
        return MISSING
    value = answer[field.name]
    return "" if value is None or _fits(field.kind, value) else OTHER_TYPE


def _fits(kind: str, value: Any) -> bool:
    if kind[0] == "[":
        return isinstance(value, list) and all(_fits(kind[1:-1], one) for one in value)
    if kind[0] == "{":
        return isinstance(value, dict) and all(_fits(kind[1:-1], one) for one in value.values())
    if kind == "time":
        return isinstance(value, str) and _is_moment(value)
    if kind == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if kind in SCALARS:
        return isinstance(value, SCALARS[kind])
    return isinstance(value, dict) if kind in TYPES else True


def _is_moment(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False
