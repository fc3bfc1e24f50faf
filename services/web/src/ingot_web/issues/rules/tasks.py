"""Checkboxes of task lists: buttons that toggle them, and the text with a toggled checkbox.

A checkbox of the page is found in the text by its number. HTML and text are parsed independently, so buttons
appear only if both have equal checkboxes. This is no proof, so the changed text is rendered before it is sent
(``is_ticked``).
"""

import re
from collections.abc import Iterator

from markupsafe import Markup, escape

_BOX = re.compile(r'<input\b[^>]*\btype="checkbox"[^>]*>(?=([^\n]{0,2000}))')
"""A checkbox, and the rest of its line."""
_TASK = re.compile(r"[ \t>]*(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]+)+\[([ xX])\][ \t]+\S.*")
_FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})(.*)")
_PART_OF_TAG = re.compile(r"<[^<>]*\Z")
_LABEL = 200
"""Maximum characters of a button's label."""


def with_buttons(html: Markup, text: str) -> Markup | None:
    """Return the text as HTML with a button for each checkbox, which sends its number as ``task``.

    None without checkboxes, with footnotes, or if the checkboxes of HTML and text differ.
    """
    states = _states(html)
    if not states or states != [task[1] != " " for _, task in _tasks(text)] or 'class="footnotes' in html:
        return None
    numbers = iter(range(len(states)))

    def button(box: re.Match[str]) -> str:
        number = next(numbers)
        words = Markup(_PART_OF_TAG.sub("", box[1])).striptags()[:_LABEL] or f"Task {number + 1}"  # noqa: S704
        return (
            f'<button class="task" id="task-{number}" name="task" value="{number}" role="checkbox" '
            f'aria-checked="{str(states[number]).lower()}" aria-label="{escape(words)}"></button>'
        )

    return Markup(_BOX.sub(button, html))  # noqa: S704 - sanitized, and what is added is escaped


def is_ticked(before: Markup, after: Markup, number: int) -> bool:
    """True if the only difference in ``after`` is the state of the checkbox with this number."""
    states = _states(before)
    return number < len(states) and _states(after) == [
        not state if place == number else state for place, state in enumerate(states)
    ]


def _states(html: Markup) -> list[bool]:
    return [" checked" in box[0] for box in _BOX.finditer(html)]


def with_task(text: str, number: int) -> str | None:
    """Return the text with this checkbox toggled, or None if the checkbox does not exist."""
    for place, (start, match) in enumerate(_tasks(text)):
        if place == number:
            at = start + match.start(1)
            return f"{text[:at]}{'x' if match[1] == ' ' else ' '}{text[at + 1 :]}"
    return None


def _tasks(text: str) -> Iterator[tuple[int, re.Match[str]]]:
    """Yield the start of the line of each task, and the parts of the line."""
    start, fence = 0, ""
    for line in text.split("\n"):
        if border := _FENCE.match(line):
            if not fence:
                fence = border[1]
            elif border[1].startswith(fence) and not border[2].strip():
                fence = ""
        elif not fence and (task := _TASK.fullmatch(line.rstrip("\r"))):
            yield start, task
        start += len(line) + 1
