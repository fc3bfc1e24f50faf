"""The appearance of pages: of accounts, of visitors, and in the page itself."""

import re

import pytest

from ingot_contracts.web import APPEARANCE, Appearance, PageFrame

from ..world import ANN

DARK = Appearance("dark", "compact", 8)
MARKED = '<html lang="en" data-theme="dark" data-density="compact" data-tab-width="8">'
PLAIN = '<html lang="en">'


async def _html(pages, caller=None, **headers):
    """The element of a page for a caller whose account or cookie has an appearance."""
    own = pages.callers.headers(caller) if caller else {}
    answer = await pages.client.get("/explore/users", headers=own | headers)
    assert answer.headers["cache-control"] == "private, no-cache"
    return re.search("<html[^>]*>", answer.text)[0]


async def test_pages_have_the_appearance_of_the_account(pages):
    assert await _html(pages, ANN, **{APPEARANCE: DARK.text}) == MARKED
    assert await _html(pages, ANN, **{APPEARANCE: ""}) == PLAIN


async def test_an_account_has_nothing_of_the_cookie_of_the_visitor_before(pages):
    cookie = {"cookie": f"{APPEARANCE}={DARK.text}"}
    assert await _html(pages, **cookie) == MARKED
    assert await _html(pages, ANN, **cookie, **{APPEARANCE: "system.comfortable.4"}) == PLAIN


async def test_the_next_visitor_has_nothing_of_the_account_before(pages):
    assert await _html(pages, ANN, **{APPEARANCE: DARK.text}) == MARKED
    assert await _html(pages) == PLAIN


@pytest.mark.parametrize(
    "text",
    [
        "",
        "dark",
        "dark.compact",
        "a.b.c",
        'dark" onload="x.compact.8',
        "dark.compact.8.9",
        ".." * 4000,
        "\x00..",
    ],
)
def test_an_appearance_that_cannot_be_read_adds_nothing_to_a_page(text):
    assert Appearance.parse(text).attributes in ("", ' data-density="compact" data-tab-width="8"')
    assert "onload" not in PageFrame("", "x").document("t", "m", appearance=Appearance.parse(text))


@pytest.mark.parametrize(
    ("stored", "theme"),
    [
        ("", "system"),
        ("gitea-auto", "system"),
        ("gitea-dark", "dark"),
        ("arc-green", "system"),
        ("contrast",) * 2,
    ],
)
def test_themes_that_programs_store_are_those_of_pages(stored, theme):
    assert Appearance.of(stored, "comfortable", 4).theme == theme


async def test_the_form_changes_the_account(pages, forge):
    forge.answers["/user/settings"] = {}
    changed = await pages.submit(
        "/user/settings/appearance", "Save appearance", theme="contrast", density="compact", tab_width="2"
    )
    assert changed.status_code == 303
    assert "set-cookie" not in changed.headers
    sent = {"theme": "contrast", "density": "compact", "tab_width": 2}
    assert forge.sent[-1] == ("PATCH", "/user/settings", sent)


async def test_a_visitor_keeps_the_appearance_in_a_cookie(pages, forge):
    changed = await pages.submit("/-/appearance", "Save appearance", caller=None, theme="dark")
    assert (changed.status_code, changed.headers["location"]) == (303, "/-/appearance")
    cookie = changed.headers["set-cookie"]
    assert cookie.startswith(
        f"{APPEARANCE}=dark.comfortable.4; HttpOnly; Max-Age=31536000; Path=/; SameSite=lax"
    )
    assert not forge.sent
    shown = await pages.client.get("/-/appearance", headers={"cookie": cookie.partition(";")[0]})
    assert '<option value="dark" selected>' in shown.text


async def test_another_site_cannot_change_the_appearance_of_a_visitor(pages):
    refused = await pages.post("/-/appearance", {"theme": "dark"}, origin="http://elsewhere")
    assert (refused.status_code, "set-cookie" in refused.headers) == (403, False)


async def test_a_user_is_led_from_the_form_of_visitors_to_that_of_the_account(pages):
    answer = await pages.get("/-/appearance", ANN)
    assert (answer.status_code, answer.headers["location"]) == (303, "/user/settings/appearance")
