"""The style sheet, the scripts, robots.txt, the style guide."""

import hashlib
import json
import re
from html import unescape
from pathlib import Path

import pytest

from ingot_contracts.web import ICON, STYLE, PageFrame
from ingot_web.pages.rules.accents import contrast
from ingot_web.pages.rules.templates import PACKAGE, SCRIPTS, STATIC

from ..colours import TEXT_CONTRAST, THEMES
from ..forge import ANN_USER, HOME, MOMENT, issue
from ..test_forms import COMMIT
from ..world import World


async def test_the_style_sheet_is_kept_for_ever_and_changes_its_address(world):
    page = (await world.get("/nobody/nothing")).text
    (address,) = re.findall(r'<link rel="stylesheet" href="([^"]+)"', page)
    sheet = await world.get(address)

    assert re.fullmatch(r"/-/assets/style\.css\?[0-9a-f]{12}", address)
    assert sheet.headers["content-type"].startswith("text/css")
    assert "immutable" in sheet.headers["cache-control"]
    assert "url(" not in sheet.text
    assert "@import" not in sheet.text
    plain = await world.get("/-/assets/style.css")
    assert (plain.text, plain.headers["cache-control"]) == (sheet.text, "public, max-age=600")


def _frame(page):
    """Return the frame of a page: style sheet, icon, the elements of its head and foot, and their words."""
    links = re.findall(r'<link rel="(?:stylesheet|icon)"[^>]* href="([^"?]+)', page)
    body = re.sub(r"(?<=<main)([^>]*>).*(?=</main>)", r"\1", page.partition("<body>")[2], flags=re.DOTALL)
    own = (
        r'<details class="menu end compact">(?s:.*?)</details>|<form class="search".*?</form>|<a '
        r'class="button primary"[^>]*>Sign in</a>'
    )
    body = re.sub(own, "", body)
    elements = re.findall(r"<(?:header|nav|main|footer|a|svg|path)\b[^>]*>", body)
    return links, elements, re.sub(r"<[^>]*>", " ", body).split()


@pytest.mark.parametrize("root", ["", "/git"])
async def test_services_that_answer_a_browser_themselves_have_the_frame_of_the_pages(root):
    world = World(public_url=f"http://forge{root}/", site_name="Ann & <Co>")
    page = (await world.get("/nobody/nothing")).text
    own = _frame(page)
    assert own == _frame(PageFrame(root, "Ann & <Co>").document("Sign in", "<p>words</p>"))
    assert own[0] == [root + STYLE, root + ICON]
    assert '<main id="main" class="wrap">' in own[1]
    assert "Explore" in own[2]
    assert {(await world.get(place)).status_code for place in (STYLE, ICON)} == {200}
    await world.client.aclose()


async def test_scripts_are_kept_for_ever_and_come_from_this_site_alone(world):
    page = (await world.get("/nobody/nothing")).text
    addresses = re.findall(r"<script[^>]* src=\"([^\"]+)\"", page)
    names = [address.partition("?")[0] for address in addresses]
    assert names == [f"/-/assets/{name}" for name in SCRIPTS]
    for address in addresses:
        script = await world.get(address)
        assert script.headers["content-type"].startswith("text/javascript")
        assert (script.headers["x-content-type-options"], "immutable" in script.headers["cache-control"]) == (
            "nosniff",
            True,
        )


def test_htmx_is_the_release_that_the_list_of_dependencies_names():
    listed = (Path(__file__).parents[4] / "docs/reference/dependencies.md").read_text()
    script = (STATIC / "htmx.min.js").read_bytes()
    assert f"`{hashlib.sha256(script).hexdigest()}`" in listed
    (version,) = re.findall(rb'version:"([\d.]+)"', script)
    assert f"here is {version.decode()}" in " ".join(listed.split("htmx.min.js")[1].split())
    assert "Permission to use" in (STATIC / "htmx.LICENSE.txt").read_text()


async def test_htmx_runs_no_code_of_attributes_and_asks_no_other_site(world):
    page = (await world.get("/nobody/nothing")).text
    (content,) = re.findall(r"<meta name=\"htmx-config\" content='([^']+)'", page)
    configuration = json.loads(unescape(content))
    for name in ("allowEval", "allowScriptTags", "includeIndicatorStyles", "historyEnabled"):
        assert configuration[name] is False
    assert configuration["selfRequestsOnly"] is True


@pytest.mark.parametrize("name", ["nothing.css", "..%2Fsite.py", "style.css%00"])
async def test_nothing_else_is_an_asset(world, name):
    assert (await world.get(f"/-/assets/{name}")).status_code == 404


async def test_crawlers_are_told_what_to_leave_alone(world):
    answer = await world.get("/robots.txt")

    assert answer.headers["content-type"].startswith("text/plain")
    assert "Disallow: /api/" in answer.text


async def test_a_page_says_what_it_is_to_who_links_to_it(pages, forge):
    forge.answers[f"{HOME}/issues/1"] = issue(body='It\n"flickers" <b>.')
    forge.answers[HOME]["owner"] = ANN_USER | {"avatar_url": "http://forge/avatars/1"}
    forge.answers[f"{HOME}/commits"] = [COMMIT] * 90
    shown = (await pages.get("/ann/demo/issues/1")).text
    assert '<meta property="og:title" content="Old #1 · ann/demo">' in shown
    assert '<meta property="og:description" content="It &#34;flickers&#34; &lt;b&gt;.">' in shown
    assert '<meta property="og:image" content="http://forge/avatars/1">' in shown
    assert '<link rel="canonical" href="http://forge/ann/demo/issues/1">' in shown
    later = (await pages.get("/ann/demo/commits/branch/main?page=2&author=")).text
    assert '<link rel="canonical" href="http://forge/ann/demo/commits/branch/main?page=2">' in later
    forge.answers |= {
        "/users/ann": ANN_USER
        | {"created": MOMENT, **dict.fromkeys(("description", "location", "website"), "")},
        "/users/ann/followers": [ANN_USER] * 50,
    }
    forge.failures["/orgs/ann"] = 404
    for query, named in (
        ("tab=followers&page=2&q=", "?tab=followers&amp;page=2"),
        ("tab=other", ""),
        ("", ""),
    ):
        shown = (await pages.get(f"/ann?{query}")).text
        assert f'<link rel="canonical" href="http://forge/ann{named}">' in shown


async def test_the_style_guide_is_there_where_the_setting_says_so(world):
    assert (await world.get("/-/styleguide")).status_code == 404

    shown = await World(styleguide=True).get("/-/styleguide")
    assert shown.status_code == 200
    assert "Form rows" in shown.text
    assert "The file is removed, and so are the links to it in the text." in shown.text


def test_every_part_is_in_the_style_guide():
    guide = (PACKAGE / "site/templates/styleguide.html").read_text()
    macros = PACKAGE / "pages/templates/macros.html"
    for file, name in ((macros, "m"), (PACKAGE / "diffs/templates/parts.html", "d")):
        parts = re.findall(r"^{% macro (\w+)", file.read_text(), re.MULTILINE)
        assert parts
        assert [part for part in parts if f"{name}.{part}(" not in guide] == []
    icons = re.findall(r'name == "(\w+)"', macros.read_text())
    assert icons
    assert [icon for icon in icons if f'"{icon}"' not in guide] == []


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(
    ("text", "ground"),
    [
        *((text, ground) for text in ("text", "muted", "accent", "bad", "good") for ground in ("ground",
                                                                                               "raised",
                                                                                               "sunken")),
        ("on-accent", "accent"), ("accent", "accent-ground"), ("good", "good-ground"), ("bad", "bad-ground"),
        ("merged", "merged-ground"), ("text", "add"), ("text", "del"), ("text", "add-strong"),
        ("text", "del-strong"),
        ("text", "mark"), *((f"c-{kind}", "raised") for kind in ("comment", "keyword", "string", "number",
                                                                 "name", "type")),
    ],
)  # fmt: skip
def test_every_text_can_be_read_on_its_ground(theme, text, ground):
    colours = THEMES[theme]
    assert contrast(colours[text], colours[ground]) >= TEXT_CONTRAST[theme]


@pytest.mark.parametrize("theme", THEMES)
def test_the_border_of_a_field_can_be_seen(theme):
    assert contrast(THEMES[theme]["line-strong"], THEMES[theme]["raised"]) >= 3


@pytest.mark.parametrize(
    ("one", "other", "ratio"),
    [
        ("#000000", "#ffffff", 21),
        ("#ffffff", "#000000", 21),
        ("#777777", "#ffffff", 4.48),
        ("#abcdef", "#abcdef", 1),
    ],
)
def test_contrast_is_that_of_wcag(one, other, ratio):
    assert round(contrast(one, other), 2) == ratio


def test_every_theme_has_every_colour():
    assert "text" in THEMES["light"]
    assert {frozenset(colours) for colours in THEMES.values()} == {frozenset(THEMES["light"])}


async def test_organizations_are_searched_by_the_words_of_the_form(pages, forge):
    answer = await pages.get("/explore/organizations?q=acm")

    assert "q=acm" in forge.queries["/orgs"]
    assert ('value="acm"' in answer.text, "Nothing matches" in answer.text) == (True, True)
