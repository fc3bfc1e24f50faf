"""Rendered texts: once as long as there is room, and the same as without a cache."""

import asyncio
from collections.abc import Callable

import pytest

from ingot_chassis.testing.lexers import SlowLexer
from ingot_issues.core import markdown
from ingot_issues.core.html_cache import ENTRY_BYTES, HtmlCache
from ingot_issues.core.markdown import LinkContext, render
from ingot_issues.core.rendered_texts import RenderedTexts

ROOT = "http://127.0.0.1:3000/"
TEXT = "see #12\n\n```python\ndef f(): pass\n```\n"
APP, LIB = (LinkContext.of(ROOT, path, wiki=False) for path in ("ann/app", "bob/lib"))


@pytest.fixture
def count(monkeypatch: pytest.MonkeyPatch) -> Callable[[], tuple[int, int]]:
    """How many texts were parsed, and how many blocks highlighted, since the last call."""
    calls = {"parse": 0, "tokens": 0}

    def counted(owner: object, name: str) -> None:
        original = getattr(owner, name)

        def call(*arguments: object, **options: object) -> object:
            calls[name] += 1
            return original(*arguments, **options)

        monkeypatch.setattr(owner, name, call)

    def taken() -> tuple[int, int]:
        counts = calls["parse"], calls["tokens"]
        calls.update(dict.fromkeys(calls, 0))
        return counts

    counted(markdown.PARSER, "parse")
    counted(markdown.LEXER, "tokens")
    return taken


async def test_a_text_is_rendered_once_for_each_place(count):
    texts = RenderedTexts()
    for context in (APP, LIB, None, APP, LIB, None):
        assert await texts.html(TEXT, context) == (render(TEXT, context), True)
    assert count()[0] == 3 + 6


@pytest.mark.parametrize(
    "other",
    [
        LinkContext.of("http://other/", "ann/app", wiki=False),
        LinkContext.of(ROOT, "ann/app", wiki=True),
        LinkContext(APP.root, APP.base, images=f"{ROOT}elsewhere/"),
    ],
)
async def test_everything_that_links_depend_on_tells_texts_apart(other):
    texts, text = RenderedTexts(), "#1 [[page]] ![picture](a.png)"
    assert await texts.html(text, APP) != await texts.html(text, other) == (render(text, other), True)


async def test_a_block_is_highlighted_once_for_all_texts(count):
    texts = RenderedTexts()
    for title in ("One", "Two"):
        assert 'class="k"' in (await texts.html(f"{title}\n\n{TEXT}", APP))[0]
    assert count() == (2, 1)


async def test_the_same_code_in_another_language_is_another_block():
    texts = RenderedTexts()
    for language in ("python", "text", "javascript"):
        text = f"```{language}\ndef f(): pass\n```\n"
        assert await texts.html(text, None) == (render(text, None), True)


async def test_many_threads_share_the_blocks():
    texts, long = RenderedTexts(), "word " * 1000
    html = await asyncio.gather(*(texts.html(f"{number}\n\n{TEXT}{long}", APP) for number in range(20)))
    assert html == [(render(f"{number}\n\n{TEXT}{long}", APP), True) for number in range(20)]


async def test_what_others_took_the_time_of_is_rendered_again(monkeypatch):
    texts, lexer = RenderedTexts(), SlowLexer(monkeypatch)
    other = asyncio.create_task(texts.html("```ruby\nputs 1\n```\n", APP))
    await lexer.begun()
    html, stays = await texts.html(TEXT, APP)
    assert ('class="k"' in html, stays) == (False, False)
    lexer.release()
    await other
    html, stays = await texts.html(TEXT, APP)
    assert ('class="k"' in html, stays) == (True, True)


def test_what_was_used_least_recently_goes_first():
    cache = HtmlCache(20 * (ENTRY_BYTES + 150))
    for number in range(30):
        cache.put("x" * 100, f"text {number}")
        assert cache.get("text 0") is not None
    assert cache.get("text 1") is None
    assert cache.get("text 29") is not None


def test_what_takes_much_of_the_room_is_not_kept():
    cache = HtmlCache(20_000)
    cache.put("x" * 1_900, "long")
    cache.put("x" * 1_000, "short")
    assert (cache.get("long"), cache.get("short")) == (None, "x" * 1_000)


def test_texts_that_are_no_utf8_are_told_apart():
    cache = HtmlCache(20_000)
    cache.put("one", "\ud800")
    assert (cache.get("\ud800"), cache.get("\ud801")) == ("one", None)
