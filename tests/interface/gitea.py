"""Operations and types of Gitea's API, read from ``gitea.txt``."""

import re
from pathlib import Path
from typing import NamedTuple

METHODS = {"get", "post", "put", "patch", "delete"}


class Field(NamedTuple):
    """``kind`` is the type as ``gitea.txt`` writes it, without the mark of a required field."""

    name: str
    kind: str
    required: bool


class Operation(NamedTuple):
    """``answers`` has the type of each answer by its status."""

    method: str
    path: str
    id: str
    body: str
    answers: dict[int, str]

    @property
    def place(self) -> tuple[str, str]:
        return self.method, without_names(self.path)


def without_names(path: str) -> str:
    """Return the path with ``{}`` for each placeholder: descriptions differ in their names.

    ``{index}.{diffType}`` is one placeholder, since one route serves both forms.
    """
    return re.sub(r"{\w+}(\.{\w+})?", "{}", path)


def inner(kind: str) -> str:
    """Return the type of the elements of a list or an object with any keys, or else the type itself."""
    return kind[1:-1] if kind[0] in "[{" else kind


def _operation(line: str) -> Operation:
    method, path, name, *rest = line.split()
    types = dict(word.split("=", 1) for word in rest)
    body = types.pop("body", "")
    return Operation(method, path, name, body, {int(status): kind for status, kind in types.items()})


def _read() -> tuple[list[Operation], dict[str, dict[str, Field]]]:
    operations, types, section, name = [], {}, "", ""
    for line in Path(__file__).with_suffix(".txt").read_text().splitlines():
        if line.startswith("["):
            section = line
        elif not line or line.startswith("#"):
            continue
        elif section == "[operations]":
            operations.append(_operation(line))
        elif not line.startswith(" "):
            name = line
            types[name] = {}
        else:
            for word in line.split():
                field, _, kind = word.partition(":")
                types[name][field] = Field(field, kind.rstrip("!"), kind.endswith("!"))
    return operations, types


OPERATIONS, TYPES = _read()
