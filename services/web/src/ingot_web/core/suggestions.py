"""Suggestions in comments on lines: a block of code named ``suggestion`` has what is to stand in place of the line."""

import re

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[ \t]*suggestion[ \t]*$")


def suggestion_in(body: str) -> str | None:
    """The lines that a comment suggests, without the end of the last one; None if it suggests nothing."""
    lines = body.replace("\r\n", "\n").split("\n")
    for number, line in enumerate(lines):
        if fence := _FENCE.match(line):
            closing = re.compile(rf"^ {{0,3}}{re.escape(fence[1][0])}{{{len(fence[1])},}}[ \t]*$")
            rest = lines[number + 1 :]
            end = next((at for at, one in enumerate(rest) if closing.match(one)), len(rest))
            return "\n".join(rest[:end])
    return None


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
