"""The part of a diff around a line, shown with a comment on that line."""

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from ingot_contracts.issues.reviews import LONGEST_HUNK

LINES = 4
"""Maximum number of lines of a hunk. The commented line is the last one."""

_HEADER = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")


class Position(NamedTuple):
    """A line of a file. ``is_old``: the line is counted in the file before the changes."""

    path: str
    line: int
    is_old: bool


def find_hunks(diff: str, positions: Collection[Position]) -> dict[Position, str]:
    """Return the hunks of the positions that are in the diff."""
    hunks: dict[Position, str] = {}
    for file in diff.split("\ndiff --git "):
        names, header, body = file.partition("\n@@ ")
        paths = _paths(names)
        if header and not {position.path for position in positions}.isdisjoint(paths):
            for position, hunk in _lines(("@@ " + body).split("\n"), *paths):
                if position in positions:
                    hunks[position] = hunk.replace("\x00", "")[:LONGEST_HUNK]
    return hunks


def _paths(names: str) -> tuple[str, str]:
    """Return the paths of a file before and after the changes, from the lines above its hunks."""
    paths = {"--- ": "", "+++ ": ""}
    for text in names.split("\n"):
        if text[:4] in paths:
            paths[text[:4]] = text[6:]
    return paths["--- "], paths["+++ "]


def _lines(texts: list[str], old_path: str, new_path: str) -> Iterator[tuple[Position, str]]:
    """Yield every position in the hunks of one file, with its hunk."""
    header, old_line, new_line = "", 0, 0
    lines: list[str] = []
    for text in texts:
        if match := _HEADER.match(text):
            header, old_line, new_line, lines = text, int(match[1]), int(match[2]), []
        elif text[:1] in (" ", "+", "-"):
            lines = [*lines[1 - LINES :], text]
            hunk = "\n".join([header, *lines])
            if text[0] != "+":
                yield Position(old_path, old_line, is_old=True), hunk
                old_line += 1
            if text[0] != "-":
                yield Position(new_path, new_line, is_old=False), hunk
                new_line += 1
