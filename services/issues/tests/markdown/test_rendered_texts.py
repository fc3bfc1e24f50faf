"""Rendered texts: cached while there is room, equal to uncached ones, and within the budget of a request."""

import asyncio
from collections.abc import Callable

import pytest

from ingot_contracts.rendering import EXCERPT_CHARACTERS, FULL_PAGE, PLAIN_CHARACTERS
from ingot_contracts.testing.worst_markdown import footnote_comments
from ingot_issues.markdown.rules import renderer_client
from ingot_issues.markdown.rules import rendering as markdown
from ingot_issues.markdown.rules.html_cache import ENTRY_BYTES, LARGEST_SHARE, HtmlCache
from ingot_issues.markdown.rules.rendered_texts import (
    BUSY,
    TEXT_BYTES,
    TOO_LONG,
    RenderedTexts,
    RequestBudget,
)
from ingot_issues.markdown.rules.renderer_client import RENDERER
from ingot_issues.markdown.rules.rendering import LARGEST, MOST_HTML, TOO_MUCH_MARKUP, LinkContext, render
from ingot_testing.lexers import SlowProcess

ROOT = "http://127.0.0.1:3000/"
TEXT = "see #12, *a* and [b](c)"
CODE = "```python\ndef f(): pass\n```\n"
APP, LIB = (LinkContext.of(ROOT, path, wiki=False) for path in ("ann/app", "bob/lib"))


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Return how many texts were parsed in this process since the last call."""
    calls, parse = [], markdown.PARSER.parse

    def counted(*arguments: object) -> object:
        calls.append(arguments)
        return parse(*arguments)

    def taken() -> int:
        count = len(calls)
        calls.clear()
        return count

    monkeypatch.setattr(markdown.PARSER, "parse", counted)
    return taken


async def test_a_text_is_rendered_once_for_each_place(parsed):
    texts, contexts = RenderedTexts(), (APP, LIB, None)
    for context in contexts * 2:
        assert (await texts.html(TEXT, context)).stays
    assert parsed() == 3
    assert [(await texts.html(TEXT, context)).html for context in contexts] == [
        render(TEXT, context) for context in contexts
    ]


@pytest.mark.parametrize(
    "other",
    [
        LinkContext.of("http://other/", "ann/app", wiki=False),
        LinkContext.of(ROOT, "ann/app", wiki=True),
        LinkContext(APP.root, APP.base, images=f"{ROOT}elsewhere/"),
    ],
)
@pytest.mark.parametrize(
    "text", ["#1 [[page]] ![picture](a.png)", f"#1 [[page]] ![picture](a.png)\n\n{CODE}"]
)
async def test_everything_that_links_depend_on_tells_texts_apart(other, text):
    texts = RenderedTexts()
    assert (await texts.html(text, APP)).html != (await texts.html(text, other)).html == render(text, other)


async def test_long_texts_and_code_come_from_another_process_and_are_the_same(parsed):
    texts = RenderedTexts()
    for text in (CODE, f"{TEXT}\n\n" * 1_000, "# a\n\n" * 500, "😀 #1 *a*\n" * 300):
        shown = await texts.html(text, APP)
        assert parsed() == 0
        assert shown == (render(text, APP), "", True)
        parsed()


async def test_the_same_code_in_another_language_is_another_block():
    texts = RenderedTexts()
    for language in ("python", "text", "javascript"):
        text = f"```{language}\ndef f(): pass\n```\n"
        assert (await texts.html(text, None)).html == render(text, None)


async def test_a_text_that_holds_up_the_renderer_holds_up_no_short_one(monkeypatch):
    texts, slow = RenderedTexts(), SlowProcess(monkeypatch, RENDERER)
    monkeypatch.setattr(renderer_client, "WAIT_SECONDS", 0.01)
    long = asyncio.create_task(texts.html("*a* " * 1_000, APP))
    await slow.begun()
    assert await texts.html("*a*", APP) == ("<p><em>a</em></p>\n", "", True)
    *_, (html, reason, stays) = await texts.page(["*b*", "*b* " * 1_000], APP, RequestBudget())
    assert (BUSY in html, reason, stays) == (True, BUSY, False)
    slow.release()
    assert (await long).html.count("<em>") == 1_000
    assert (await texts.html("*b* " * 1_000, APP)).html.count("<em>") == 1_000


async def test_of_many_texts_that_wait_the_last_do_not(monkeypatch):
    texts, slow = RenderedTexts(), SlowProcess(monkeypatch, RENDERER)
    monkeypatch.setattr(renderer_client, "WAIT_SECONDS", 60)
    many = [
        asyncio.create_task(texts.html(f"{n} *a* " * 1_000, APP)) for n in range(renderer_client.MOST_WAITING)
    ]
    await slow.begun()
    assert (await texts.html("*b* " * 1_000, APP)).reason == BUSY
    slow.release()
    assert {shown.reason for shown in await asyncio.gather(*many)} == {""}


async def test_a_text_that_ends_the_renderer_is_shown_as_it_is_written(monkeypatch):
    texts = RenderedTexts()
    monkeypatch.setattr("ingot_issues.markdown.rules.rendered_texts.RENDER_SECONDS", 0.000_001)
    shown = await texts.html("*a* " * 10_000, APP)
    assert (shown.stays, "took too long" in shown.html, "*a* *a*" in shown.html) == (True, True, True)
    monkeypatch.undo()
    assert (await texts.html("*c* " * 1_000, APP)).html.count("<em>") == 1_000


async def test_whatever_long_texts_cost_the_short_ones_of_a_page_are_rendered():
    bombs, short = footnote_comments(), [f"see #1, *{number}*" for number in range(40)]
    texts = RenderedTexts()
    for rendered_bombs in range(len(bombs) + 1):
        shown = await texts.page([*bombs, *short], APP, RequestBudget())
        assert [text.html for text in shown[len(bombs) :]] == [render(text, APP) for text in short]
        assert [text.stays for text in shown[: len(bombs)]].count(True) in (
            rendered_bombs,
            rendered_bombs + 1,
        )
        assert all(len(text.html) < 2 * EXCERPT_CHARACTERS for text in shown if not text.stays)
        assert {text.reason for text in shown if not text.stays} <= {FULL_PAGE}
    assert all(text.stays for text in shown), "with each view one more has its turn"
    assert all(TOO_MUCH_MARKUP in text.html for text in shown[: len(bombs)])


async def test_a_text_beyond_the_largest_is_shown_as_it_is_written():
    shown = await RenderedTexts().html("<" * (LARGEST + 1), APP)
    assert (shown.reason, shown.stays) == (TOO_LONG, True)
    assert shown.html.count("&lt;") == PLAIN_CHARACTERS
    assert "The first 131,072 characters" in shown.html


def test_the_largest_html_is_kept():
    assert (MOST_HTML + ENTRY_BYTES) * LARGEST_SHARE <= TEXT_BYTES


def test_rare_characters_take_no_more_room_than_others():
    cache = HtmlCache(20_000)
    cache.put("a" * 1_300 + "😀", "text")
    assert cache.get("text") == "a" * 1_300 + "😀"


def test_what_was_used_least_recently_goes_first():
    cache = HtmlCache(20 * (ENTRY_BYTES + 100))
    for number in range(30):
        cache.put("x" * 100, f"text {number}")
        assert cache.get("text 0") is not None
    assert cache.get("text 1") is None
    assert cache.get("text 29") is not None


def test_what_takes_much_of_the_room_is_not_kept():
    cache = HtmlCache(20_000)
    cache.put("x" * 1_500, "long")
    cache.put("x" * 1_000, "short")
    assert (cache.get("long"), cache.get("short")) == (None, "x" * 1_000)


def test_texts_that_are_no_utf8_are_told_apart():
    cache = HtmlCache(20_000)
    cache.put("one", "\ud800")
    assert (cache.get("\ud800"), cache.get("\ud801")) == ("one", None)
