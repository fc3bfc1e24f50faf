"""Markdown: links in mode gfm, nothing dangerous in any mode, bounded work."""

import sys
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from ingot_issues.core.markdown import Context, render

from .conftest import World

ROOT = "http://127.0.0.1:3000/"


def rendered(text: str, *, mode: str = "gfm", context: str = "/ann/app", wiki: bool = False) -> str:
    return render(text, Context.of(ROOT, context, wiki=wiki) if mode == "gfm" else None)


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("see #12", "ann/app/issues/12"),
        ("see bob/lib#3", "bob/lib/issues/3"),
        ("hi @bob!", "bob"),
        ("since 0123456789abcdef", "ann/app/commit/0123456789abcdef"),
        ("[docs](docs/a.md)", "ann/app/docs/a.md"),
        ("[[Home page]]", "ann/app/Home-page"),
    ],
)
def test_references_become_links(text: str, target: str) -> None:
    assert f'href="{ROOT}{target}"' in rendered(text)
    assert f'href="{ROOT}{target}"' not in rendered(text, mode="markdown")


@pytest.mark.parametrize("text", ["`#12`", "[#12](x)", "a#12", "@bob@x", "deadbeef", "1234567x", "#0"])
def test_what_is_no_reference_stays_text(text: str) -> None:
    html = rendered(text)
    assert "/issues/" not in html
    assert "/commit/" not in html


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("|a|\n|--:|\n|1|", '<td align="right">1</td>'),
        ("~~gone~~", "<s>gone</s>"),
        ("- [x] done", 'type="checkbox"'),
        ("https://example.org/a?b", 'href="https://example.org/a?b"'),
        ("a[^1]\n\n[^1]: note", 'class="footnotes"'),
        ("# Some Title", 'id="user-content-some-title"'),
        ("```python\ndef f(): ...\n```", '<span class="k">def</span>'),
        ("![i](a.png)", f'src="{ROOT}ann/app/a.png"'),
    ],
)
def test_the_usual_syntax_is_known(text: str, found: str) -> None:
    assert found in rendered(text)


def test_wiki_links_lead_into_the_wiki() -> None:
    html = rendered("[a](b) ![i](c.png)", wiki=True)
    assert f"{ROOT}ann/app/wiki/b" in html
    assert f"{ROOT}ann/app/wiki/raw/c.png" in html


@pytest.mark.parametrize("mode", ["gfm", "markdown", ""])
@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "[x](javascript:alert(1))",
        "<a href='javascript:alert(1)'>x</a>",
        "<img src=x onerror=alert(1)>",
        "<iframe src=//evil></iframe>",
        "<p style='position:fixed'>x</p>",
        "<form action=//evil><button>x</button></form>",
        "<svg onload=alert(1)>",
        "![x](data:text/html,<script>)",
        "<b class='evil modal' id='login'>x</b>",
        "```<script>\nx\n```",
        '<a href="jav&#x09;ascript:alert(1)">x</a>',
    ],
)
def test_nothing_dangerous_comes_through(text: str, mode: str) -> None:
    html = (rendered(text, mode=mode)).lower()
    for bad in (
        "<script",
        'href="jav',
        "onerror=",
        "<iframe",
        "style=",
        "<form",
        "<svg",
        'src="data',
        "evil modal",
        'id="login"',
    ):
        assert bad not in html


@pytest.mark.parametrize(
    "context", ["../../x", "http://evil.example/x", "//evil.example", "javascript:x", "a b"]
)
def test_a_strange_context_leads_nowhere_else(context: str) -> None:
    assert f'href="{ROOT}' in rendered("#1", context=context)


async def test_raw_renders_the_body_as_it_is(world: World) -> None:
    async def raw(content: bytes) -> httpx.Response:
        return await world.http.post(
            "/api/v1/markdown/raw", content=content, headers={"content-type": "text/plain"}
        )

    assert (await raw(b"*hi* #1")).text == "<p><em>hi</em> #1</p>\n"
    assert (await raw(b"")).content == b""
    assert (await raw(b"\xff\x00")).status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        {"Text": "#1", "Mode": "gfm", "Context": "/ann/app"},
        {"text": "#1", "mode": "gfm", "CONTEXT": "ann/app/"},
    ],
)
async def test_keys_come_in_any_case(world: World, body: dict[str, str]) -> None:
    answer = await world.call("POST", "//markdown", body, as_=0)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert f'href="{ROOT}ann/app/issues/1"' in answer.text


async def test_empty_text_is_an_empty_body(world: World) -> None:
    answer = await world.call("POST", "//markdown", {"Text": ""}, as_=0)
    assert (answer.status_code, answer.content) == (200, b"")


async def test_long_texts_are_rendered_as_well(world: World) -> None:
    answer = await world.call("POST", "//markdown", {"text": "*hi*\n\n" * 2_000}, as_=0)
    assert answer.text.count("<em>") == 2_000


async def test_too_long_a_text_is_refused(world: World) -> None:
    answer = await world.call("POST", "//markdown", {"text": "a" * 200_000}, as_=0)
    assert answer.status_code == 413


@pytest.mark.parametrize(
    ("text", "context"),
    [
        ("[a]: /" + "u" * 2_000 + "\n\n" + "[a] " * 6_000, ""),
        ("[a]: /u '" + "t" * 2_000 + "'\n\n" + "[a] " * 6_000, "ann/app"),
        ("#1 " * 4_000, "a" * 10_000),
    ],
)
def test_what_is_written_once_is_not_repeated_without_end(text: str, context: str) -> None:
    assert len(rendered(text, context=context)) < 64 * len(text)


def test_code_that_takes_long_to_highlight_is_shown_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    code = "```python\ndef f(): pass\n```\n"
    assert rendered(code * 2).count('class="k"') == 4
    seconds = iter(range(1000))
    monkeypatch.setattr("time.thread_time", lambda: next(seconds))
    assert rendered(code * 2).count("def f(): pass") == 2


HOSTILE = [
    "[", "![", "](", "[](", "[[", "[a](", "[a]: b\n", "]", "x[^1] ", "[^1]: x\n", "*a _b ", "***", "**a *b", "_a",
    "~", "~~a", "> ", "- ", "1. ", "- [ ] x\n", "\t", "`", "`a", "```\n", "<a ", "<!--", "<a href='", "&", "\\",
    "# a\n", "x\n===\n", "| a |\n|---|\n", ":", "http://", "www.", "a@", "@a ", "#1 ", "ann/app#", "0123456a ",
]  # fmt: skip
"""What parsers count again and again, each to be repeated."""


def steps(text: str) -> int:
    """How many functions are called and left for rendering, Python's and C's."""
    return counted_by(sys.setprofile, text)


def counted_by(watch: Callable[[Any], None], text: str) -> int:
    """How much ``sys.setprofile`` or ``sys.settrace`` sees while a text is rendered."""
    counted = 0

    def count(*_: object) -> Any:
        nonlocal counted
        counted += 1
        return count

    watch(count)
    try:
        rendered(text)
    finally:
        watch(None)
    return counted


@pytest.mark.parametrize("text", HOSTILE)
def test_ten_times_the_text_is_ten_times_the_work(text: str) -> None:
    times = max(400 // len(text), 1)
    assert steps(text * times * 10) < 12 * steps(text * times)


def test_a_list_of_tasks_is_walked_once() -> None:
    """In lines of Python: a loop calls nothing."""
    once, often = (counted_by(sys.settrace, "- [ ] x\n" * times) for times in (30, 300))
    assert often < 12 * once
