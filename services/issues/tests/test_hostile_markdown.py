"""Nothing that can act comes through markdown: by an allow-list over parsed HTML, and in a real browser if there is one."""

import html
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from ingot_issues.core.markdown import PARSER, Context, render

from .hostile_markdown import CORPUS, HANDLERS

ROOT = "http://127.0.0.1:3000/"
TAG_NAMES = (
    "a abbr acronym area article aside b bdi bdo blockquote br caption center cite code col colgroup data dd del "
    "details dfn div dl dt em figcaption figure footer h1 h2 h3 h4 h5 h6 header hgroup hr i img input ins kbd li "
    "map mark nav ol p pre q rp rt rtc ruby s samp section small span strike strong sub summary sup table tbody "
    "td th thead time tfoot tr tt u ul var wbr"
)
ATTRIBUTE_NAMES = (
    "href src alt title class id rel lang align type checked disabled start width height hspace vspace border cite "
    "datetime colspan rowspan headers scope char charoff valign span coords shape hreflang dir"
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
        Context.of(ROOT, "ann/app", wiki=False),
        Context.of(ROOT, "ann/app", wiki=True),
        Context.of(ROOT, "javascript:alert(1)", wiki=False),
    ]
    return [(number, render(text, context)) for number, text in enumerate(CORPUS) for context in contexts]


class Strict(HTMLParser):
    """Collects whatever is not on the list."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in TAGS:
            self.found.append(f"<{tag}>")
        for name, value in attrs:
            if name not in ATTRIBUTES:
                self.found.append(f"{tag} {name}")
            if name in ("href", "src", "cite"):
                plain = re.sub(r"[\x00-\x20\x7f]", "", html.unescape(value or ""))
                if not SAFE_ADDRESS.match(plain):
                    self.found.append(f"{name}={plain}")

    def handle_comment(self, data: str) -> None:
        self.found.append(f"<!--{data}")

    def handle_decl(self, decl: str) -> None:
        self.found.append(f"<!{decl}")

    def handle_pi(self, data: str) -> None:
        self.found.append(f"<?{data}")

    def unknown_decl(self, data: str) -> None:
        self.found.append(f"<![{data}")


def suspicious(text: str) -> list[str]:
    parser = Strict()
    parser.feed(text)
    parser.close()
    return parser.found


def test_only_what_is_on_the_list_comes_through() -> None:
    found = {CORPUS[number]: suspicious(shown) for number, shown in renderings()}
    assert {text: bad for text, bad in found.items() if bad} == {}


def test_the_list_would_notice() -> None:
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
    found = re.search(r'data-hits="(\[[^"]*\])"', done.stdout)
    assert found, done.stderr[-2000:]
    return found.group(1)


@pytest.mark.skipif(BROWSER is None, reason="no chromium on PATH")
def test_nothing_runs_in_a_browser(tmp_path: Path) -> None:
    assert hits(tmp_path, renderings()) == "[]"


@pytest.mark.skipif(BROWSER is None, reason="no chromium on PATH")
def test_the_browser_would_notice(tmp_path: Path) -> None:
    raw = [(number, text) for number, text in enumerate(CORPUS) if text == "<img src=x onerror=alert(1)>"]
    assert str(raw[0][0]) in hits(tmp_path, raw)
    assert hits(tmp_path, [(0, "<a href='javascript:alert(1)'>x</a>")]) == "[0]"
