"""Fenced code and code spans in Markdown (CommonMark 0.31, sections 4.5 and 6.1), without indented code."""

import re
from bisect import bisect_right
from collections import defaultdict

_FENCE = re.compile(r" {0,3}(?P<mark>`{3,}(?=[^`\n]*$)|~{3,})", re.MULTILINE)
_RUN = re.compile("`+")


class CodeRanges:
    """The ranges of code in a text. They are found in one pass, however hostile the text is."""

    def __init__(self, text: str) -> None:
        self._starts, self._ends = list[int](), list[int]()
        opening, paragraph, place = "", 0, 0  # the mark of an open fence, the start of the paragraph
        for line in re.findall(r"[^\n]*\n|[^\n]+", text):
            end = place + len(line)
            if opening:
                if _closes(opening, line):
                    self._ends[-1], opening, paragraph = end, "", end
            elif fence := _FENCE.match(line):
                self._add_spans(text, paragraph, place)
                self._add(place, len(text))
                opening = fence["mark"]
            elif not line.strip():
                self._add_spans(text, paragraph, place)
                paragraph = end
            place = end
        if not opening:
            self._add_spans(text, paragraph, len(text))

    def has(self, place: int) -> bool:
        """True if the character at ``place`` is part of code."""
        index = bisect_right(self._starts, place) - 1
        return index >= 0 and place < self._ends[index]

    def _add(self, start: int, end: int) -> None:
        self._starts.append(start)
        self._ends.append(end)

    def _add_spans(self, text: str, start: int, end: int) -> None:
        """Add the spans of a paragraph: each ends at the next run of as many backticks."""
        runs = [(run.start(), run.end()) for run in _RUN.finditer(text, start, end)]
        by_length = defaultdict[int, list[int]](list)
        for index in reversed(range(len(runs))):
            by_length[runs[index][1] - runs[index][0]].append(index)
        index = 0
        while index < len(runs):
            opening_start, opening_end = runs[index]
            later = by_length[opening_end - opening_start]
            while later and later[-1] <= index:
                later.pop()
            if later:
                index = later[-1]
                self._add(opening_start, runs[index][1])
            index += 1


def _closes(opening: str, line: str) -> bool:
    """True if a line ends the fence that ``opening`` has opened."""
    fence = line.lstrip(" ")
    is_indented = len(line) - len(fence) > 3
    fence = fence.rstrip()
    return not is_indented and len(fence) >= len(opening) and not fence.strip(opening[0])
