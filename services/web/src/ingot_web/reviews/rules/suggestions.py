"""Suggestions in comments on lines: a code block ``suggestion`` replaces the line."""

import re
from difflib import SequenceMatcher

from ingot_contracts.issues.reviews import LONGEST_HUNK

_NOT_PROSE = re.compile(r"<|`{3}|~{3}")
_FENCE = re.compile(r"(`{3,}|~{3,})[ \t]*suggestion[ \t]*")
_MOST_BETWEEN = 100
"""Maximum number of changed lines in which a line is searched; the worst case takes 20 ms."""
_RUN = 4
"""Number of consecutive equal lines from which one of them is surely the original line."""


def suggestion_in(body: str) -> str | None:
    """Return the lines that a comment suggests, without the end of the last line, or None.

    The suggestion must be the only code block, and it must be closed. It must not be in a list or quotation,
    and no HTML may be above it. So it is certain that readers see this text as the suggestion.
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


def suggestion_draft(line: str) -> str:
    """Return the body of a comment that suggests the current line, for the author to change."""
    text = line.removesuffix("\r")
    fence = "`" * (1 + max((2, *map(len, re.findall("`+", text)))))
    return f"{fence}suggestion\n{text}\n{fence}"


def with_draft(body: str, draft: str) -> str:
    """Return the body of a comment with a draft below it. A body with a suggestion is not changed."""
    if suggestion_in(body) is not None:
        return body
    return f"{body.rstrip()}\n\n{draft}".lstrip("\n")


def lines_commented(diff_hunk: str) -> list[str]:
    """Return the lines of the new file in the hunk of a comment, up to the commented line.

    Empty if the lines may be truncated, or if the commented line is not in the new file.
    """
    if len(diff_hunk) >= LONGEST_HUNK:
        return []
    lines = diff_hunk.split("\n")
    if lines[-1][:1] not in (" ", "+"):
        return []
    return [line[1:].removesuffix("\r") for line in lines if line[:1] in (" ", "+")]


def has_lines(content: bytes, number: int, lines: list[str]) -> bool:
    """True if the file has these lines. The last of them is line ``number``, counted from 1."""
    start = number - len(lines)
    if start < 0:
        return False
    there = content.split(b"\n")[start:number]
    return [line.removesuffix(b"\r").decode("utf-8", "replace") for line in there] == lines


def is_same_line(before: bytes, after: bytes, number: int) -> bool:
    """True if line ``number`` is still the same line after changes, and not another line with equal text.

    Also False if that is uncertain.
    """
    old, new = before.split(b"\n"), after.split(b"\n")
    shorter = min(len(old), len(new))
    first = next((i for i in range(shorter) if old[i] != new[i]), shorter)
    if number <= first:
        return True
    rest = shorter - first
    last = next((i for i in range(rest) if old[-1 - i] != new[-1 - i]), rest)
    if number > len(old) - last:
        return len(old) == len(new)
    changed_old, changed_new = old[first : len(old) - last], new[first : len(new) - last]
    if max(len(changed_old), len(changed_new)) > _MOST_BETWEEN:
        return False
    runs = SequenceMatcher(None, changed_old, changed_new, autojunk=False).get_matching_blocks()
    index = number - 1 - first
    return any(run.a == run.b and run.size >= _RUN and run.a <= index < run.a + run.size for run in runs)


def with_suggestion(content: bytes, number: int, suggestion: str) -> bytes:
    """Return the file with the suggested lines instead of line ``number``, in the line ending of that line.

    An empty suggestion removes the line.
    """
    lines = content.split(b"\n")
    end = b"\r" if lines[number - 1].endswith(b"\r") else b""
    lines[number - 1 : number] = (
        [line.encode() + end for line in suggestion.split("\n")] if suggestion else []
    )
    return b"\n".join(lines)
