"""Splits a line into parts, to mark its matches."""

from collections.abc import Sequence


def parts_of(text: str, matches: Sequence[Sequence[int]]) -> list[tuple[str, bool]]:
    """Return the parts of a line, each with True if it is a match.

    ``matches`` are sorted pairs of start and end.
    """
    parts, at = [], 0
    for start, end in matches:
        parts += [(text[at:start], False), (text[start:end], True)]
        at = end
    parts.append((text[at:], False))
    return [part for part in parts if part[0]]
