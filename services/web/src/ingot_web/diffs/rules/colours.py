"""Code of a diff as HTML: both sides highlighted, with the changed words marked.

HTML is created per hunk and cached, because pages of changes are read repeatedly.
"""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import takewhile

from ingot_chassis.lexer import LexerBusy
from ingot_web.code.rules.highlighting import Piece, html_of, pieces_of
from ingot_web.diffs.rules.parsing import Diff, DiffLine, side_by_side

LARGEST = 30_000
"""Maximum characters of a diff that are highlighted, in the order of files. The others are plain."""
SECONDS = 0.1
"""Seconds of CPU time for one side of a hunk. One that takes longer is plain."""
REMEMBERED = 1000
"""Number of hunks that are cached: some 5 MB of typical ones."""
MOST_WORDS = 100
"""Maximum number of differing words of two lines that are compared one by one."""
LEAST_SAME = 5
"""Minimum share of equal characters: 1 in this many. Below it, too much of a line would be marked."""
_WORDS = re.compile(r"\w+|\s+|[^\w\s]")
Ranges = list[tuple[int, int]]
"""Pairs of start and end, in characters."""


def coloured_diff(diff: Diff) -> Diff:
    """Return the diff with highlighted lines. At most LARGEST characters are highlighted."""
    room = LARGEST
    for file in diff.files:
        size = sum([len(line.text) for line in file.lines])
        if size > room:
            continue
        room -= size
        name = file.path.rpartition("/")[2]
        for hunk in _hunks(file.lines):
            try:
                coloured = _coloured(name, tuple([(line.kind, line.text) for line in hunk]))
            except LexerBusy:
                return diff
            for line, html in zip(hunk, coloured, strict=True):
                line.html = html
    return diff


def _hunks(lines: Sequence[DiffLine]) -> Iterator[Sequence[DiffLine]]:
    start = 0
    for end in [*(index for index, line in enumerate(lines) if line.kind == "hunk" and index), len(lines)]:
        yield lines[start:end]
        start = end


@lru_cache(maxsize=REMEMBERED)
def _coloured(name: str, lines: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    """Return the lines of a hunk as HTML. ``lines`` are pairs of kind and text."""
    pieces = [[("", text)] for _, text in lines]
    kinds = [kind for kind, _ in lines]
    last_removed = max((index for index, kind in enumerate(kinds) if kind == "del"), default=-1)
    before = [index for index in range(last_removed + 1) if kinds[index] in ("del", "context")]
    after = [index for index, kind in enumerate(kinds) if kind in ("add", "context")]
    for side in (before, after):
        text = "\n".join([lines[index][1].replace("\r", " ") for index in side])
        for index, line in zip(side, pieces_of(name, text, SECONDS) or (), strict=False):
            pieces[index] = line
    texts = [html_of(line) for line in pieces]
    for left, right in side_by_side(kinds):
        if left is None or right is None or left == right:
            continue
        changed = changed_words(lines[left][1], lines[right][1])
        for index, ranges in zip((left, right), changed, strict=True):
            if ranges:
                texts[index] = _marked(pieces[index], ranges)
    return tuple(texts)


def changed_words(old: str, new: str) -> tuple[Ranges, Ranges]:
    """Return the ranges of characters that differ in two lines; empty if the lines have little in common."""
    a, b = _WORDS.findall(old), _WORDS.findall(new)
    first = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))
    rest = zip(reversed(a[first:]), reversed(b[first:]), strict=False)
    last = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], rest))
    middle_a, middle_b = a[first : len(a) - last], b[first : len(b) - last]
    if len(middle_a) + len(middle_b) > MOST_WORDS:
        return [], []
    matcher = SequenceMatcher(None, middle_a, middle_b, autojunk=False)
    blocks = [block for block in matcher.get_matching_blocks() if _has_word(middle_a, block.a, block.size)]
    runs = (a[:first], a[len(a) - last :], *(middle_a[one.a : one.a + one.size] for one in blocks))
    same = sum(len("".join(run).replace(" ", "")) for run in runs)
    if LEAST_SAME * same < min(len(old.replace(" ", "")), len(new.replace(" ", ""))):
        return [], []
    spans_a = [(one.a + first, one.size) for one in blocks]
    spans_b = [(one.b + first, one.size) for one in blocks]
    return _ranges(a, first, spans_a, len(a) - last), _ranges(b, first, spans_b, len(b) - last)


def _has_word(words: Sequence[str], start: int, size: int) -> bool:
    """True if the words are not only spaces. Spaces between changed words are marked, too."""
    return any(not word.isspace() for word in words[start : start + size])


def _ranges(words: Sequence[str], start: int, same: Sequence[tuple[int, int]], end: int) -> Ranges:
    """Return the character ranges of the words from ``start`` to ``end`` that are not in ``same``."""
    offsets = [0]
    for word in words:
        offsets.append(offsets[-1] + len(word))
    ranges = []
    for place, size in [*same, (end, 0)]:
        if place > start:
            ranges.append((offsets[start], offsets[place]))
        start = place + size
    return ranges


def _marked(pieces: Sequence[Piece], ranges: Ranges) -> str:
    """Return the line as HTML with marks around these ranges."""
    parts, place = [], 0
    line = list(pieces)
    for start, end in ranges:
        before, line = _split(line, start - place)
        inside, line = _split(line, end - start)
        parts.append(f"{html_of(before)}<mark>{html_of(inside)}</mark>")
        place = end
    return "".join(parts) + html_of(line)


def _split(pieces: list[Piece], length: int) -> tuple[list[Piece], list[Piece]]:
    """Return the pieces of the first ``length`` characters, and the other pieces."""
    for index, (kind, text) in enumerate(pieces):
        if not length:
            return pieces[:index], pieces[index:]
        if length < len(text):
            return [*pieces[:index], (kind, text[:length])], [(kind, text[length:]), *pieces[index + 1 :]]
        length -= len(text)
    return pieces, []
