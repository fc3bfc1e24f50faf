"""Sections of pages that follow from the code, between the comments ``begin NAME`` and ``end NAME``."""

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from ingot_contracts.hooks.webhooks import FAMILIES, PARTS

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT))


def events_of_hooks() -> str:
    """The table of events that a hook may name."""
    lines = ["| event | sent when | parts of it |", "|---|---|---|"]
    for family in FAMILIES:
        parts = ", ".join(f"`{name}`" for name in _parts_of(family.name))
        lines.append(f"| `{family.name}` | {family.when} | {parts} |")
    return "\n".join(lines)


def _parts_of(name: str) -> Iterator[str]:
    for part in PARTS:
        if part.of == name:
            yield part.name
            yield from _parts_of(part.name)


def operations_left_out() -> str:
    """The table of Gitea's operations that are not served."""
    text: str = importlib.import_module("tests.interface.left_out").table()
    return text


SECTIONS: dict[str, tuple[str, Callable[[], str]]] = {
    "events of hooks": ("docs/reference/webhooks.md", events_of_hooks),
    "operations left out": ("docs/reference/api.md", operations_left_out),
}
"""The page and the text of each section."""


def pages() -> Iterator[tuple[Path, str]]:
    """Each page that has a section, as it should be."""
    for name, (place, section) in SECTIONS.items():
        page = ROOT / place
        before, begin, rest = page.read_text().partition(f"<!-- begin {name}")
        comment, close, rest = rest.partition("-->\n")
        _stale, end, after = rest.partition(f"<!-- end {name} -->")
        if not (begin and close and end):
            raise SystemExit(f"{place} has no section {name!r}")
        yield page, f"{before}{begin}{comment}{close}{section()}\n{end}{after}"
