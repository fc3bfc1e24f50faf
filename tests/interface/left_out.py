"""Operations of Gitea that are not served, and why. ``make docs`` writes the table of docs/reference/api.md.

A test fails if an operation is neither served nor left out, or is both.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from .gitea import OPERATIONS, Operation


class Group(NamedTuple):
    """``pattern`` is found in the method and path of each operation of the group."""

    name: str
    pattern: str
    why: str

    @property
    def operations(self) -> list[Operation]:
        return [one for one in OPERATIONS if re.search(self.pattern, f"{one.method} {one.path}")]


GROUPS = [
    Group(
        "Actions",
        r"/actions/(artifacts|jobs|runners|runs|tasks|workflows)",
        "CI systems do this, and learn of a push by webhook. They report results as commit statuses",
    ),
    Group(
        "secrets of Actions",
        r"/actions/secrets",
        "they can only be written, for runners of the server. Ingot has none: a CI system keeps its own",
    ),
    Group("packages", r" /packages/", "an artifact registry is a service of its own"),
    Group(
        "git hooks on the server",
        r"/hooks/git",
        "a user who may edit them runs programs on the server",
    ),
]
"""In the order of the table."""


def table() -> str:
    """The table for readers, a row for each group."""
    lines = ["| left out | why | operations |", "|---|---|---|"]
    lines += [f"| {group.name} | {group.why} | `{', '.join(_paths(group))}` |" for group in GROUPS]
    return "\n".join(lines)


def _paths(group: Group) -> Iterator[str]:
    methods: dict[str, list[str]] = {}
    for operation in group.operations:
        methods.setdefault(operation.path, []).append(operation.method)
    for path, names in methods.items():
        yield f"{' '.join(names)} {path}"
