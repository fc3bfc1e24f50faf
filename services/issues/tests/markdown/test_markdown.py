"""Markdown: links in mode gfm, bounded work, and nothing dangerous in any mode.

The last is checked by a list of allowed tags and attributes, and in a browser if there is one.
"""

import html
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import httpx
import pytest

from ingot_chassis.lexer import LEXER
from ingot_issues.markdown.rules.html_cache import HtmlCache
from ingot_issues.markdown.rules.rendering import (
    MOST_BLOCKS,
    MOST_COLOURS,
    PARSER,
    Budget,
    LinkContext,
    render,
)
from ingot_issues.markdown.rules.rendering import rendered as rendered_within

from .markdown_corpus import CORPUS, HANDLERS

ROOT = "http://127.0.0.1:3000/"


def rendered(text: str, *, mode: str = "gfm", context: str = "/ann/app", wiki: bool = False) -> str:
    return render(text, LinkContext.of(ROOT, context, wiki=wiki) if mode == "gfm" else None)


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
def test_references_become_links(text, target):
    assert f'href="{ROOT}{target}"' in rendered(text)
    assert f'href="{ROOT}{target}"' not in rendered(text, mode="markdown")


@pytest.mark.parametrize("text", ["`#12`", "[#12](x)", "a#12", "@bob@x", "deadbeef", "1234567x", "#0"])
def test_other_text_becomes_no_link(text):
    html = rendered(text)
    assert "/issues/" not in html
    assert "/commit/" not in html


@pytest.mark.parametrize(
    ("text", "expected"),
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
def test_the_usual_syntax_is_rendered(text, expected):
    assert expected in rendered(text)


def test_wiki_links_lead_into_the_wiki():
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
        '<a href="/x" hx-delete="/x" data-hx-post="/x" hx-trigger="load" hx-on:click="alert(1)">x</a>',
        "![x](data:text/html,<script>)",
        "<b class='evil modal' id='login'>x</b>",
        "```<script>\nx\n```",
        '<a href="jav&#x09;ascript:alert(1)">x</a>',
    ],
)
def test_nothing_dangerous_comes_through(text, mode):
    html = (rendered(text, mode=mode)).lower()
    for bad in (
        "<script",
        'href="jav',
        "hx-",
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
def test_a_strange_context_leads_nowhere_else(context):
    assert f'href="{ROOT}' in rendered("#1", context=context)


async def test_raw_renders_the_body_as_it_is(world):
    async def raw(content: bytes) -> httpx.Response:
        return await world.http.post(
            "/api/v1/markdown/raw", content=content, headers={"content-type": "text/plain"}
        )

    assert (await raw(b"*hi* #1")).text == "<p><em>hi</em> #1</p>\n"
    assert (await raw(b"")).content == b""
    assert (await raw(b"\xff\x00")).status_code == 422


@pytest.mark.parametrize(
    "body",
    [
        {"Text": "#1", "Mode": "gfm", "Context": "/ann/app"},
        {"text": "#1", "mode": "gfm", "CONTEXT": "ann/app/"},
    ],
)
async def test_keys_come_in_any_case(world, body):
    answer = await world.call("POST", "//markdown", body, as_=0)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert f'href="{ROOT}ann/app/issues/1"' in answer.text


MARKUP = {
    "Text": "[a](b.md) ![p](p.png) #1",
    "Context": "ann/app/src/branch/main/docs",
    "FilePath": "docs/x.md",
}


@pytest.mark.parametrize("mode", ["gfm", "comment", "file"])
async def test_markup_has_the_links_of_its_folder(world, mode):
    answer = await world.call("POST", "//markup", MARKUP | {"Mode": mode}, as_=0)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert f'href="{ROOT}ann/app/src/branch/main/docs/b.md"' in answer.text
    assert f'src="{ROOT}ann/app/raw/branch/main/docs/p.png"' in answer.text
    assert f'href="{ROOT}ann/app/issues/1"' in answer.text


async def test_markup_of_a_wiki_links_to_its_pages(world):
    body = {"Text": "[a](Home)", "Context": "ann/app", "Mode": "wiki"}
    assert f'href="{ROOT}ann/app/wiki/Home"' in (await world.call("POST", "//markup", body, as_=0)).text


@pytest.mark.parametrize("mode", ["", "markdown"])
async def test_markup_without_a_mode_has_no_links_of_its_own(world, mode):
    body = {"Text": "*hi* #1", "Mode": mode}
    assert (await world.call("POST", "//markup", body, as_=0)).text == "<p><em>hi</em> #1</p>\n"


@pytest.mark.parametrize(
    ("text", "html"),
    [
        (
            "a,<b>\n1",
            (
                '<table class="data-table"><tr><th class="line-num">1</th><th>a</th><th>&lt;b&gt;</th></tr>'
                '<tr><td class="line-num">2</td><td>1</td></tr></table>\n'
            ),
        ),
        ("", ""),
    ],
)
async def test_markup_of_a_csv_file_is_a_table(world, text, html):
    body = {"Text": text, "Mode": "file", "FilePath": "docs/Table.CSV"}
    answer = await world.call("POST", "//markup", body, as_=0)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert answer.text == html


async def test_markup_of_a_csv_file_with_too_many_cells_is_its_text(world):
    body = {"Text": "<i>," * 20_001, "Mode": "file", "FilePath": "a.csv"}
    answer = await world.call("POST", "//markup", body)
    assert "more than 20,000 cells" in answer.text
    assert "<pre>&lt;i&gt;,&lt;i&gt;" in answer.text


@pytest.mark.parametrize(
    ("body", "field"), [({"Mode": "latex"}, "mode"), ({"Mode": "file", "FilePath": "a.rst"}, "filepath")]
)
async def test_markup_that_cannot_be_rendered_is_refused(world, body, field):
    answer = await world.call("POST", "//markup", {"Text": "x"} | body, as_=0)
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, field)


async def test_empty_text_is_an_empty_body(world):
    answer = await world.call("POST", "//markdown", {"Text": ""}, as_=0)
    assert (answer.status_code, answer.content) == (200, b"")


async def test_long_texts_are_rendered_as_well(world):
    answer = await world.call("POST", "//markdown", {"text": "*hi*\n\n" * 2_000}, as_=0)
    assert answer.text.count("<em>") == 2_000


async def test_too_long_a_text_is_refused(world):
    answer = await world.call("POST", "//markdown", {"text": "a" * 200_000}, as_=0)
    assert answer.status_code == 422


@pytest.mark.parametrize(
    ("text", "context"),
    [
        ("[a]: /" + "u" * 2_000 + "\n\n" + "[a] " * 6_000, ""),
        ("[a]: /u '" + "t" * 2_000 + "'\n\n" + "[a] " * 6_000, "ann/app"),
        ("#1 " * 4_000, "a" * 10_000),
    ],
)
def test_one_definition_is_not_repeated_without_end(text, context):
    assert len(rendered(text, context=context)) < 64 * len(text)


HOSTILE_CODE = "```ini\na" + " " * 20_000 + "b\n```\n"
"""One match of its lexer takes minutes."""


def test_code_that_takes_long_to_highlight_is_shown_plain_and_takes_the_time_of_what_follows():
    code = "```python\ndef f(): pass\n```\n"
    assert rendered(code * 2).count('class="k"') == 4
    html = rendered(HOSTILE_CODE + code)
    assert "<span" not in html
    assert "def f(): pass" in html


def test_code_that_lacked_time_gets_its_colours_later():
    code, blocks = "```python\ndef f(): pass\n```\n", HtmlCache(1_000_000)
    html, _, lacks_colours = rendered_within(code, None, blocks, Budget(highlight_seconds=0))
    assert (lacks_colours, "<span" in html) == (True, False)
    html, _, lacks_colours = rendered_within(code, None, blocks, Budget())
    assert (lacks_colours, 'class="k"' in html) == (False, True)


def test_so_many_blocks_of_a_text_are_highlighted():
    code = "".join(f"```python\ndef f{number}(): pass\n```\n" for number in range(MOST_BLOCKS + 5))
    budget = Budget(highlight_seconds=60)
    html = rendered_within(code, None, HtmlCache(1_000_000), budget).html
    assert html.count('<span class="k">def</span>') == MOST_BLOCKS
    assert html.count("def f") == 5


def test_so_much_html_of_code_has_colours():
    code = "```python\n" + "a = 1\n" * 1_000 + "```\n"
    html = rendered_within(code * 4, None, HtmlCache(10_000_000), Budget(highlight_seconds=60)).html
    assert html.count('<span class="mi">1</span>') == 3_000
    assert html.count("a = 1") == 1_000
    assert MOST_COLOURS / 2 < len(html) < MOST_COLOURS * 1.5


def test_such_code_is_tried_once(monkeypatch):
    blocks = HtmlCache(1_000_000)
    assert "<span" not in render(HOSTILE_CODE, None, blocks)
    monkeypatch.setattr(LEXER, "tokens", None)
    assert "<span" not in render(HOSTILE_CODE, None, blocks)


HOSTILE = [
    "[", "![", "](", "[](", "[[", "[a](", "[a]: b\n", "]", "x[^1] ", "[^1]: x\n", "*a _b ", "***", "**a *b",
    "_a",
    "~", "~~a", "> ", "- ", "1. ", "- [ ] x\n", "\t", "`", "`a", "```\n", "<a ", "<!--", "<a href='", "&",
    "\\",
    "# a\n", "x\n===\n", "| a |\n|---|\n", ":", "http://", "www.", "a@", "@a ", "#1 ", "ann/app#",
    "0123456a ",
]  # fmt: skip
"""Repetitive inputs that parsers scan again and again."""


def steps(text: str) -> int:
    """Return how many functions are called and left for rendering, Python's and C's."""
    return counted_by(sys.setprofile, text)


def counted_by(watch: Callable[[Any], None], text: str) -> int:
    """Return the number of events of ``sys.setprofile`` or ``sys.settrace`` while a text is rendered."""
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
def test_ten_times_the_text_is_ten_times_the_work(text):
    times = max(400 // len(text), 1)
    assert steps(text * times * 10) < 12 * steps(text * times)


def test_a_list_of_tasks_is_walked_once():
    """In lines of Python: a loop calls nothing."""
    once, often = (counted_by(sys.settrace, "- [ ] x\n" * times) for times in (30, 300))
    assert often < 12 * once


TAG_NAMES = (
    "a abbr acronym area article aside b bdi bdo blockquote br caption center cite code col colgroup data "
    "dd del "
    "details dfn div dl dt em figcaption figure footer h1 h2 h3 h4 h5 h6 header hgroup hr i img input ins "
    "kbd li "
    "map mark nav ol p pre q rp rt rtc ruby s samp section small span strike strong sub summary sup table "
    "tbody "
    "td th thead time tfoot tr tt u ul var wbr picture source"
)
ATTRIBUTE_NAMES = (
    "href src alt title class id rel lang align type checked disabled start width height hspace vspace "
    "border cite "
    "datetime colspan rowspan headers scope char charoff valign span coords shape hreflang dir media srcset"
)
TAGS, ATTRIBUTES = set(TAG_NAMES.split()), set(ATTRIBUTE_NAMES.split())
SAFE_ADDRESS = re.compile(r"(?:https?://|mailto:|[#/?.]|[^:/?#]*(?:[/?#]|$))", re.IGNORECASE)
BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None
)

PAGE = """<!doctype html><html><head><meta charset="utf-8"><script>
const hits = [];
window.alert = window.confirm = window.prompt = () => {{ hits.push(window.now || "at once"); }};
addEventListener("click", event => {{
    const link = event.target.closest && event.target.closest("a");
    if (!link || !/^javascript:/i.test(link.protocol)) event.preventDefault();
}}, true);
</script></head><body>{bodies}<script>
addEventListener("load", () => {{
    for (const part of document.querySelectorAll(".part")) {{
        window.now = part.dataset.number;
        for (const node of part.querySelectorAll("*")) {{
            for (const kind of ["mouseover", "focus", "animationstart", "toggle", "error"])
                node.dispatchEvent(new Event(kind));
            if (node.click) node.click();
        }}
    }}
    setTimeout(() => document.documentElement.dataset.hits = "[" + [...new Set(hits)].join() + "]", 500);
}});
</script></body></html>"""


def renderings() -> list[tuple[int, str]]:
    """Each hostile text in every mode."""
    contexts = [
        None,
        LinkContext.of(ROOT, "ann/app", wiki=False),
        LinkContext.of(ROOT, "ann/app", wiki=True),
        LinkContext.of(ROOT, "javascript:alert(1)", wiki=False),
    ]
    return [(number, render(text, context)) for number, text in enumerate(CORPUS) for context in contexts]


class Strict(HTMLParser):
    """Collects whatever is not on the list."""

    def __init__(self) -> None:
        super().__init__()
        self.findings: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in TAGS:
            self.findings.append(f"<{tag}>")
        for name, value in attrs:
            if name not in ATTRIBUTES:
                self.findings.append(f"{tag} {name}")
            if name in ("href", "src", "srcset", "cite"):
                plain = re.sub(r"[\x00-\x20\x7f]", "", html.unescape(value or ""))
                if not SAFE_ADDRESS.match(plain):
                    self.findings.append(f"{name}={plain}")

    def handle_comment(self, data: str) -> None:
        self.findings.append(f"<!--{data}")

    def handle_decl(self, decl: str) -> None:
        self.findings.append(f"<!{decl}")

    def handle_pi(self, data: str) -> None:
        self.findings.append(f"<?{data}")

    def unknown_decl(self, data: str) -> None:
        self.findings.append(f"<![{data}")


def suspicious(text: str) -> list[str]:
    parser = Strict()
    parser.feed(text)
    parser.close()
    return parser.findings


def test_only_allowed_tags_and_attributes_come_through():
    findings = {CORPUS[number]: suspicious(shown) for number, shown in renderings()}
    assert {text: bad for text, bad in findings.items() if bad} == {}


def test_the_list_finds_what_is_not_allowed():
    unnoticed = [text for text in HANDLERS if text.endswith(">") and not suspicious(text)]
    assert unnoticed == []
    assert suspicious(PARSER.render("<a href='jav&#x09;ascript:alert(1)'>x</a>", {}))


def hits(folder: Path, parts: list[tuple[int, str]]) -> str:
    """The numbers of the parts that ran something in the browser, as it tells them."""
    bodies = "".join(f'<div class="part" data-number="{number}">{part}</div>' for number, part in parts)
    page = folder / "page.html"
    page.write_text(PAGE.format(bodies=bodies), "utf-8")
    command = [
        str(BROWSER), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
        "--no-first-run", "--disable-background-networking", f"--user-data-dir={folder / 'profile'}",
        "--host-resolver-rules=MAP * ~NOTFOUND", "--virtual-time-budget=10000", "--dump-dom", page.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    match = re.search(r'data-hits="(\[[^"]*\])"', done.stdout)
    assert match, done.stderr[-2000:]
    return match.group(1)


@pytest.mark.skipif(BROWSER is None, reason="no chromium on PATH")
def test_nothing_runs_in_a_browser(tmp_path):
    assert hits(tmp_path, renderings()) == "[]"


@pytest.mark.skipif(BROWSER is None, reason="no chromium on PATH")
def test_the_browser_finds_what_runs(tmp_path):
    raw = [(number, text) for number, text in enumerate(CORPUS) if text == "<img src=x onerror=alert(1)>"]
    assert str(raw[0][0]) in hits(tmp_path, raw)
    assert hits(tmp_path, [(0, "<a href='javascript:alert(1)'>x</a>")]) == "[0]"
