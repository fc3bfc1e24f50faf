"""Suggestions in comments on lines: a block of code named ``suggestion`` has what is to stand in place of the line."""

import re

_NOT_PROSE = re.compile(r"<|`{3}|~{3}")
_FENCE = re.compile(r"(`{3,}|~{3,})[ \t]*suggestion[ \t]*")


def suggestion_in(body: str) -> str | None:
    """The lines that a comment suggests, without the end of the last one; None if it suggests nothing.

    A comment suggests something only if that is its one block of code, is closed, is no part of a list or quotation,
    and has no HTML above it: then it is for certain what readers see as the suggestion.
    """
    lines = re.sub(r"\r\n?", "\n", body).split("\n")
    start = next((number for number, line in enumerate(lines) if _NOT_PROSE.search(line)), 0)
    fence = _FENCE.fullmatch(lines[start])
    if fence is None:
        return None
    closing = re.compile(rf" {{0,3}}{fence[1][0]}{{{len(fence[1])},}}[ \t]*")
    rest = lines[start + 1 :]
    end = next((number for number, line in enumerate(rest) if closing.fullmatch(line)), None)
    if end is None or any("```" in line or "~~~" in line for line in rest[end + 1 :]):
        return None
    return "\n".join(rest[:end])


def line_of(content: bytes, number: int) -> str | None:
    """A line of a file without its end, counted from 1; None where there is none."""
    lines = content.split(b"\n")
    if not 0 < number <= len(lines):
        return None
    return lines[number - 1].removesuffix(b"\r").decode("utf-8", "replace")


def with_suggestion(content: bytes, number: int, suggestion: str) -> bytes:
    """The file with other lines in place of line ``number``, with ends as that line has; without it for an empty suggestion."""
    lines = content.split(b"\n")
    end = b"\r" if lines[number - 1].endswith(b"\r") else b""
    lines[number - 1 : number] = (
        [line.encode() + end for line in suggestion.split("\n")] if suggestion else []
    )
    return b"\n".join(lines)
