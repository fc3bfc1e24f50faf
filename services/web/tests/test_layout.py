"""The layout of pages on a phone of 360 pixels: nothing is cut, no word breaks, menus stay on the screen."""

import re
from datetime import UTC, datetime

import pytest
import pytest_asyncio

from ingot_contracts.issues.file_views import FileViews
from ingot_contracts.issues.head_comparisons import HeadComparison, HeadVersion
from ingot_contracts.repos.range_diffs import CommitPair, RangeDiff
from ingot_testing.browser import chromium, open_page
from ingot_web.pages.rules.templates import STATIC

from .code.test_files import put
from .diffs.test_parsing import CHANGED
from .forge import ANN_USER, HOME, MOMENT, issue
from .test_forms import ANSWERS, HEAD
from .webhooks.test_owners import DELIVERY, HOOK
from .world import ANN

PROGRAM = chromium()
PHONE = {"width": 360, "height": 800, "deviceScaleFactor": 1, "mobile": True}
SHEET = (STATIC / "style.css").read_text()
pytestmark = pytest.mark.skipif(PROGRAM is None, reason="needs Chromium on PATH")


@pytest_asyncio.fixture
async def show(pages, tmp_path):
    """Show a page of ann's on a phone; what it gives answers a JavaScript expression there."""
    async with open_page(str(PROGRAM), tmp_path / "browser") as tab:

        async def show(path, *, caller=ANN, status=200):
            answer = await pages.get(path, caller)
            assert answer.status_code == status, answer.text
            html = re.sub(r'<link rel="stylesheet"[^>]*>', lambda _: f"<style>{SHEET}</style>", answer.text)
            (tmp_path / "page.html").write_text(re.sub(r"<script[^>]*></script>", "", html))
            await tab.call("Emulation.setDeviceMetricsOverride", **PHONE)
            await tab.open("about:blank")
            await tab.open((tmp_path / "page.html").as_uri())
            await tab.wait_for("document.readyState === 'complete' && !!document.querySelector('main')")
            assert await tab.value("document.documentElement.scrollWidth") == PHONE["width"]
            return tab.value

        yield show


def lines_of(words):
    """An expression: on how many lines of the page those words stand."""
    return f"""(() => {{
      const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
      while (walker.nextNode()) {{
        const start = walker.currentNode.data.indexOf({words!r});
        if (start < 0) continue;
        const range = document.createRange();
        range.setStart(walker.currentNode, start);
        range.setEnd(walker.currentNode, start + {len(words)});
        return new Set([...range.getClientRects()].map(one => Math.round(one.top))).size;
      }}
    }})()"""


async def test_no_name_of_an_event_breaks_and_a_failed_delivery_says_when_it_is_tried_again(show, forge):
    waits = {"state": "pending", "attempts": 2, "status_code": 503, "error": "", "finished_at": None}
    event = {"event": "pull_request_review_approved", "action": "reviewed", "next_attempt_at": MOMENT}
    forge.answers |= {f"{HOME}/hooks/3": HOOK, f"{HOME}/hooks/3/deliveries": [DELIVERY | waits | event]}
    value = await show("/ann/demo/settings/hooks/3")
    assert await value(lines_of("pull_request_review_approved")) == 1
    assert "2 attempts, the next at 2026-01-02 03:04 UTC" in await value(
        "document.querySelector('.rows').innerText"
    )


async def test_all_tabs_and_all_settings_are_on_the_screen(show):
    value = await show("/ann/demo/settings")
    right = (
        "[...document.querySelectorAll('.tabs a, .side-tabs a')].map(one => "
        "one.getBoundingClientRect().right)"
    )
    edges = await value(right)
    assert len(edges) > 10
    assert max(edges) <= PHONE["width"]


async def test_the_button_of_the_bar_has_room_beside_its_words(show):
    value = await show("/-/nowhere/at-all/nothing", caller=None, status=404)
    padding = "getComputedStyle(document.querySelector('.bar a.button')).paddingLeft"
    assert await value(padding) == "14.4px"


async def test_the_bar_searches_for_who_is_signed_in_and_for_who_is_not(show):
    for caller in (ANN, None):
        value = await show("/explore/users", caller=caller)
        width, left, right = await value(
            """[...document.querySelectorAll(".bar details")].map(menu => {
              menu.open = true;
              const {width, left, right} = menu.querySelector("input[type=search]").getBoundingClientRect();
              return [width, left, right];
            })[0]"""
        )
        assert width > 150
        assert left > 0
        assert right < PHONE["width"]
        assert await value("document.querySelector('.bar nav').offsetHeight") < 60


async def test_menus_open_on_the_screen(show, forge):
    forge.answers |= {
        f"{HOME}/issues": [issue()],
        f"{HOME}/contents-ext": {"dir_contents": []},
        f"{HOME}/languages": {},
    }
    for path, count in (("/ann/demo/issues", 5), ("/ann/demo", 3), ("/ann/demo/issues/1", 6)):
        value = await show(path)
        edges = await value(
            """[...document.querySelectorAll("main details.menu")].map(menu => {
              menu.open = true;
              const {left, right} = menu.querySelector(":scope > div").getBoundingClientRect();
              menu.open = false;
              return [left, right];
            })"""
        )
        assert len(edges) == count
        assert [edge for edge in edges if edge[0] < 0 or edge[1] > PHONE["width"]] == []


async def test_the_mark_of_a_file_stands_in_its_head(show, forge):
    facts = {"pull_request": {"merged": False, "draft": False}, "base": {"ref": "main"}, "head": HEAD}
    path = "a/very/deep/folder/with-a-file-whose-name-is-long.py"
    forge.answers |= ANSWERS | {
        f"{HOME}/pulls/1": issue(merged=False, mergeable=True, **facts),
        f"{HOME}/pulls/1.diff": CHANGED.replace("src/a.py", path).encode(),
    }
    forge.internal = {"GET /internal/repos/ann/demo/pulls/1/file-views": FileViews()}
    value = await show("/ann/demo/pulls/1/files")
    for is_open in (True, False):
        mark, head, words = await value(
            f"""[".viewed button", ".file > summary", ".file > summary strong"].map(selector => {{
              document.querySelector(".file").open = {str(is_open).lower()};
              const {{top, bottom, left, right}} = document.querySelector(selector).getBoundingClientRect();
              return [top, bottom, left, right];
            }})"""
        )
        assert head[0] <= mark[0] < mark[1] <= head[1], is_open
        assert words[3] < mark[2] < mark[3] < head[3], is_open
    middle = (
        "document.elementFromPoint(...(({x, y}) => [x + 5, y + 5])(document.querySelector('.viewed "
        "button').getBoundingClientRect()))"
    )
    assert await value(f"{middle}.closest('.viewed') !== null"), "nothing lies above it"


async def test_who_wrote_a_line_is_named(show, forge):
    place = put(forge, "a.txt", "x\n")
    commit = {
        "sha": "1" * 40, "title": "Turn the lamp up as far as it goes",
        "author": ANN_USER | {"login": "lighthouse-keeper"}, "author_name": "Ann", "created": MOMENT,
        "previous_sha": "", "previous_path": "",
    }  # fmt: skip
    runs = [{"sha": "1" * 40, "first": 1, "count": 1}]
    forge.answers[f"{HOME}/blame/a.txt"] = {"commits": [commit], "lines": runs}
    value = await show(f"/ann/demo/blame/{place}")
    named = await value(
        "(({width, height}) => width > 20 && height > 10)(document.querySelector('.who "
        "small').getBoundingClientRect())"
    )
    assert named
    assert await value("document.querySelector('.who small').innerText.startsWith('lighthouse-keeper')")


async def test_a_time_stands_on_one_line_and_a_link_to_a_review_beside_its_words(show, forge):
    forge.answers[f"{HOME}/issues/1/timeline"] = [
        {
            "id": 1, "type": "comment", "review_id": 0,
            "user": ANN_USER | {"login": "a-lighthouse-keeper-of-the-harbour"}, "body": "x",
            "created_at": MOMENT, "ref_commit_sha": "", "ref_issue": None,
        }
    ]  # fmt: skip
    value = await show("/ann/demo/issues/1")
    assert await value(
        "[...document.querySelectorAll('main time')].every(one => one.getClientRects().length === 1)"
    )
    head = "document.querySelector('#issuecomment-1 header')"
    assert await value(
        f"{head}.querySelector('.right').getBoundingClientRect().top < "
        f"{head}.querySelector('time').getBoundingClientRect().bottom"
    )


async def test_the_difference_of_two_heads_has_the_width_of_the_page(show, forge):
    heads = [
        HeadVersion(sha=HEAD["sha"]),
        HeadVersion(sha="2" * 40, created_at=datetime(2026, 1, 2, tzinfo=UTC)),
    ]
    difference = "@@ " + "a/very/deep/folder/" * 9 + "\n" + "++" + "x" * 400
    pairs = [
        CommitPair(state="changed", old="1" * 40, new="2" * 40, title="word" * 40, difference=difference)
    ]
    path = "/internal/repos/ann/demo/pulls/1/range-diff"
    compared = HeadComparison(heads=heads, comparison=RangeDiff(pairs=pairs))
    forge.answers |= ANSWERS
    forge.internal = {f"GET {path}": compared}
    value = await show(f"/ann/demo/pulls/1/range-diff?old={'1' * 40}&new={'2' * 40}")
    row, text, side = await value(
        """[".row", ".row pre", ".row .side"].map(selector => {
          const {left, right, top, bottom} = document.querySelector(selector).getBoundingClientRect();
          return [left, right, top, bottom];
        })"""
    )
    assert text[1] - text[0] > 0.8 * (row[1] - row[0])
    assert row[0] <= text[0] < text[1] <= row[1]
    assert side[3] <= text[2]
    scrolls = "(one => one.scrollWidth > one.clientWidth)(document.querySelector('.row pre'))"
    assert await value(scrolls)
