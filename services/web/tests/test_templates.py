"""What templates say of times and sizes; they escape."""

from datetime import timedelta

import pytest

from ingot_chassis.db.tables import now
from ingot_web.core.templates import FOLDER, Templates, ago, size


@pytest.mark.parametrize(
    ("before", "words"),
    [
        (timedelta(seconds=4), "just now"),
        (timedelta(seconds=-90), "just now"),
        (timedelta(minutes=1, seconds=9), "1 minute ago"),
        (timedelta(hours=5), "5 hours ago"),
        (timedelta(days=40), "1 month ago"),
        (timedelta(days=800), "2 years ago"),
    ],
)
def test_how_long_ago_is_said_in_words(before, words):
    assert ago((now() - before).isoformat()) == words


@pytest.mark.parametrize(
    ("count", "words"), [(0, "0 bytes"), (1023, "1023 bytes"), (1536, "1.5 KiB"), (5 * 2**20, "5.0 MiB")]
)
def test_sizes_are_short(count, words):
    assert size(count) == words


def test_values_are_escaped_and_missing_ones_are_noticed():
    templates = Templates(site_name="<b>", public_url="http://forge/", root="")
    html = templates.render(
        "error.html", title="<script>", message='"><img>', code=404, request_id="1", viewer=None, here="/'<"
    )

    assert "<script>" not in html
    assert "<img>" not in html
    assert "<b>" not in html
    with pytest.raises(Exception, match="undefined"):
        templates.render("error.html", viewer=None, here="/")


def test_no_template_has_styles_scripts_or_unescaped_values_of_its_own():
    for file in (FOLDER / "templates").rglob("*"):
        text = file.read_text() if file.is_file() else ""
        for forbidden in (" style=", '"style=', "<script", "<style", "onclick", "| safe", "autoescape"):
            assert forbidden not in text, f"{file.name}: {forbidden}"


def test_every_form_that_changes_something_carries_the_token():
    for file in (FOLDER / "templates").rglob("*.html"):
        forms = file.read_text().split('method="post"')[1:]
        assert all('name="token"' in form.split("</form>")[0] for form in forms), file.name
