"""Times and sizes in templates, and escaping."""

import re
from datetime import timedelta

import pytest

from ingot_chassis.clock import now
from ingot_contracts.web import PageFrame
from ingot_web.pages.rules.templates import PACKAGE, Templates, ago, excerpt, size, subject

from ..forge import HOME
from ..test_calls import FEW, PAGES, lists_of
from ..test_forms import ANSWERS, RELEASE
from ..world import ROOT

TEMPLATES = sorted(PACKAGE.glob("*/templates/*"))


@pytest.mark.parametrize(
    ("before", "words"),
    [
        (timedelta(seconds=4), "just now"),
        (timedelta(seconds=-90), "just now"),
        (timedelta(hours=-2, seconds=-9), "in 2 hours"),
        (timedelta(minutes=1, seconds=9), "1 minute ago"),
        (timedelta(hours=5), "5 hours ago"),
        (timedelta(days=40), "1 month ago"),
        (timedelta(days=800), "2 years ago"),
    ],
)
def test_how_long_ago_is_said_in_words(before, words):
    assert ago((now() - before).isoformat()) == words


@pytest.mark.parametrize("message", ["drop it", "drop it\n\nmore\n", "\n\n \ndrop it\nmore", "\r\ndrop it"])
def test_the_subject_of_a_message_is_its_first_line_with_words(message):
    assert subject(message) == "drop it"
    assert subject("\n") == ""


@pytest.mark.parametrize(
    ("count", "words"), [(0, "0 bytes"), (1023, "1023 bytes"), (1536, "1.5 KiB"), (5 * 2**20, "5.0 MiB")]
)
def test_sizes_are_short(count, words):
    assert size(count) == words


@pytest.mark.parametrize(
    ("text", "line"),
    [("", ""), ("a\n\n  b\r\n", "a b"), ("x" * 900, "x" * 200 + "…"), ("y " * 300, "y " * 99 + "y…")],
)
def test_a_text_begins_in_one_line(text, line):
    assert excerpt(text) == line


def test_values_are_escaped_and_missing_ones_are_noticed():
    templates = Templates(
        frame=PageFrame("", "<b>"), public_url="http://forge/", style=b"", filters=(), functions=()
    )
    site = {"viewer": None, "is_nobody": True, "here": "/'<", "sign_in": "/login", "appearance": ""}
    html = templates.render(
        "pages/error.html", title="<script>", problem='"><img>', code=404, request_id="1", **site
    )

    assert "<script>" not in html
    assert "<img>" not in html
    assert "<b>" not in html
    with pytest.raises(Exception, match="undefined"):
        templates.render("pages/error.html", **site)


CODE = (
    " style=",
    '"style=',
    "<style",
    "<script>",
    "onclick",
    "hx-on",
    "hx-vals",
    "hx-vars",
    "js:",
    "| safe",
    "autoescape",
)


SCRIPT_TAGS = (
    '<script src="{{ script }}" defer></script>',
    '<script type="module" src="{{ root }}/login/passkeys.js"></script>',
)
"""Scripts of web, and the one of identity for passkeys."""


def test_no_template_has_styles_scripts_or_unescaped_values_of_its_own():
    assert len(TEMPLATES) > 100
    for file in TEMPLATES:
        text = file.read_text()
        for forbidden in CODE:
            assert forbidden not in text, f"{file.name}: {forbidden}"
        assert text.count("<script") == sum(map(text.count, SCRIPT_TAGS))


def test_every_form_that_changes_something_carries_the_token():
    forms_by_file = {file: file.read_text().split('method="post"')[1:] for file in TEMPLATES}
    assert sum(len(forms) for forms in forms_by_file.values()) > 100
    for file, forms in forms_by_file.items():
        assert all('name="token"' in form.split("</form>")[0] for form in forms), file.name


WITH_FORMS = (
    "/user/settings", "/user/settings/two_factor", "/org/crew/settings", "/admin/users/bob",
    "/ann/demo/releases/new", "/ann/demo/releases/edit/v1", "/ann/demo/settings",
    "/ann/demo/settings/branches/edit", "/ann/demo/comments/5", "/ann/demo/_edit/main/src/a.py",
    "/ann/demo/milestones/new",
)  # fmt: skip


@pytest.mark.parametrize("page", [*PAGES, *WITH_FORMS])
async def test_enter_in_a_field_presses_no_button_that_takes_something_away(pages, forge, page):
    """A browser presses the first button of the form."""
    forge.answers |= ANSWERS | lists_of(FEW)
    forge.answers[f"{HOME}/releases/tags/v1"] = RELEASE | {
        "assets": [{"id": 7, "name": "a.zip", "size": 3, "browser_download_url": "/a"}]
    }
    forge.failures["/orgs/ann"] = 404
    shown = await pages.get(page, ROOT)
    assert shown.status_code == 200, shown.text
    for form in re.findall(r"<form.*?</form>", shown.text, re.DOTALL):
        buttons = re.findall(r"<button[^>]*>", form)
        if len(buttons) > 1 and re.search(r'<input(?![^>]* type="hidden")|<select', form):
            assert not re.search(r'danger|name="(remove|discard|preview)"', buttons[0])
