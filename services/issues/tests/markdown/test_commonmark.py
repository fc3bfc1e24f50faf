"""The CommonMark specification's own cases, version 0.31.2, against the parser with all extensions.

``make setup`` fetches them (tools/commonmark).
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ingot_issues.markdown.rules.rendering import PARSER

FILE = Path(__file__).parents[4] / ".tools" / "commonmark.json"
CASES: list[dict[str, Any]] = json.loads(FILE.read_text()) if FILE.exists() else []

AUTOLINKS = {
    602: "an address in a text is a link, also inside what is no autolink because of its spaces",
    608: "the same, inside what is no autolink because it begins with a space",
    611: "an address in a text is a link",
}
"""Intended differences, by number of the example."""

HEADING_ANCHOR = re.compile(r'(<h[1-6]) id="user-content-[^"]*">')
HIGHLIGHTING = re.compile(r'<span class="[a-z0-9]+">|</span>')


def without_extensions(html: str) -> str:
    """Without anchors of headings and highlighted code; an empty quote needs no line of its own."""
    html = HIGHLIGHTING.sub("", HEADING_ANCHOR.sub(r"\1>", html))
    return html.replace("<blockquote></blockquote>", "<blockquote>\n</blockquote>")


@pytest.mark.skipif(not CASES, reason="tools/commonmark has not fetched the cases of the specification")
def test_the_cases_of_the_specification_pass():
    assert len(CASES) == 652
    failing = {
        case["example"]
        for case in CASES
        if without_extensions(PARSER.render(case["markdown"], {})) != case["html"]
    }
    assert failing == set(AUTOLINKS)
