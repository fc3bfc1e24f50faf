"""Parts of a line, to mark its matches."""

from collections.abc import Sequence


def parts_of(text: str, matches: Sequence[Sequence[int]]) -> list[tuple[str, bool]]:
    """Return a line in parts, each with True for a match. ``matches`` are start and end, in order."""
    parts, at = [], 0
    for start, end in matches:
        parts += [(text[at:start], False), (text[start:end], True)]
        at = end
    parts.append((text[at:], False))
    return [part for part in parts if part[0]]
