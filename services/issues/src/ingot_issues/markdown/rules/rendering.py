"""Markdown to safe HTML: parsed, highlighted, sanitized, and in mode gfm with links."""

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import urljoin, urlsplit

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict
from mdit_py_plugins.footnote import footnote_plugin

from ingot_chassis.lexer import LEXER
from ingot_contracts.rendering import plain_html
from ingot_issues.markdown.rules.github_dialect import add_alerts, with_emoji
from ingot_issues.markdown.rules.html_cache import HtmlCache
from ingot_issues.markdown.rules.limits import OpenTags, limit_work
from ingot_issues.markdown.rules.sanitizing import sanitize
from ingot_issues.markdown.rules.work import TooMuchWork, Work, count_work, work_of

LARGEST = 128 * 1024
"""Characters of a text."""
MOST_HTML = 768 * 1024
"""Bytes of a text's HTML."""
MOST_NODES = 40_000
"""Nodes of a text's HTML, each tag counted."""
HIGHLIGHTED = 32 * 1024
"""Characters of a highlighted code block."""
HIGHLIGHT_SECONDS = 0.2
"""Seconds of CPU for highlighting per request. The time of some lexers is quadratic in their input."""
MOST_BLOCKS, MOST_COLOURS = 200, 256 * 1024
"""Maximum number of highlighted code blocks of a text, and of characters of their HTML.

Later blocks are not highlighted.
"""
MOST_TARGETS = 256 * 1024
"""Characters of the targets and titles of all links of a text. Many links may share one definition."""
TARGETS_PER_CHARACTER = 32
LONGEST_CONTEXT = 255
LINK, TARGET = 12, 10
"""Units of work of a reference link, and of resolving a target."""

_WEB = r"""(?P<url>(?:https?://|www\.)[^\s<>]*[^\s<>?!.,:;*_~'")\]])"""
_REFERENCE = re.compile(
    r"(?<![\w/&#@.-])(?:"
    r"(?P<issue>(?P<repo>[\w.-]+/[\w.-]+)?#(?P<number>[1-9][0-9]{0,17}))(?![\w-])"
    r"|@(?P<user>[A-Za-z0-9][\w.-]{0,38}[A-Za-z0-9]|[A-Za-z0-9])(?![\w@/])"
    r"|(?P<sha>(?=[0-9a-f]*[0-9])[0-9a-f]{7,40})(?![\w.-])"
    rf"|{_WEB}"
    r")"
)
_ADDRESS = re.compile(rf"(?<![\w/&#@.-]){_WEB}")
_SHORT_LINK = re.compile(r"\[\[([^\[\]|\n]{1,255})(?:\|([^\[\]|\n]{1,255}))?\]\]")
_OWN_FRAGMENT = re.compile(r"#(?:user-content-|fn(?:ref)?[0-9])")
_MAY_REFER = re.compile(r"[#@]|\[\[|[0-9a-f]{7}|https?://|www\.")
_SOURCE = re.compile(r"(?P<repository>[^/]+/[^/]+)/src/(?P<folder>(?:branch|tag|commit)/.+)")


@dataclass(frozen=True)
class LinkContext:
    """The base URLs of links: relative links are below ``base``, pages below ``root``.

    ``images`` is the base of pictures; if empty, they are below ``base``, too. All of them end with a slash.
    """

    root: str
    base: str
    wiki: bool = False
    images: str = ""

    @classmethod
    def of(cls, root: str, path: str, *, wiki: bool) -> "LinkContext":
        """Return the context of a ``path`` such as ``owner/name``, or of a URL below ``root``.

        For any other text ``base`` is ``root``.
        """
        path = path.strip().removeprefix(root).strip("/")
        if (
            len(path) > LONGEST_CONTEXT
            or "://" in path
            or any(part in (".", "..") for part in path.split("/"))
        ):
            path = ""
        return cls(root, f"{root}{path}/" if path else root, wiki)

    @property
    def repository(self) -> str:
        """Return the base URL of links to issues and commits.

        It is the URL of the repository, even if ``base`` is a folder in it.
        """
        source = _SOURCE.match(self.base, len(self.root))
        return f"{self.root}{source['repository']}/" if source else self.base

    def in_source(self) -> "LinkContext":
        """Return the context of a file, whose pictures are raw files of the repository."""
        source = _SOURCE.match(self.base, len(self.root))
        images = f"{self.root}{source['repository']}/raw/{source['folder']}" if source else self.images
        return replace(self, images=images)

    def link(self, target: str) -> str:
        return _join(self.base + ("wiki/" if self.wiki else ""), target)

    def image(self, target: str) -> str:
        return _join(self.images or self.base + ("wiki/raw/" if self.wiki else ""), target)

    def page(self, target: str) -> str:
        return f"{self.base}{'wiki/' if self.wiki else ''}{target.strip().replace(' ', '-')}"


@dataclass
class Budget:
    """The remaining budget of all texts of a request: units of work, and CPU seconds for highlighting."""

    work: Work = field(default_factory=Work)
    highlight_seconds: float = HIGHLIGHT_SECONDS


class RenderedText(NamedTuple):
    """HTML of a text. ``reason`` says why it is plain text; empty if it is rendered.

    ``lacks_colours``: code is not highlighted because the time for highlighting was used up.
    """

    html: str
    reason: str = ""
    lacks_colours: bool = False


TOO_MUCH_MARKUP = "it has too much markup"
TOO_LARGE = f"it would be larger than {MOST_HTML // 1024} KiB or have more than {MOST_NODES:,} tags"


def render(text: str, context: LinkContext | None = None, blocks: HtmlCache | None = None) -> str:
    """Return ``text`` as HTML; empty for an empty text. With a context, references become links.

    ``blocks`` is a cache of highlighted code blocks.
    """
    return rendered(text, context, blocks, Budget()).html


def rendered(
    text: str, context: LinkContext | None, blocks: HtmlCache | None, budget: Budget
) -> RenderedText:
    """Return ``text`` as HTML like ``render``, and charge ``budget``.

    A text beyond a limit is returned as plain text.
    """
    if not text.strip():
        return RenderedText("")
    env: dict[str, Any] = {"context": context, "blocks": blocks, "budget": budget, "work": budget.work}
    resolver = None if context is None else partial(_resolve_attribute, context)
    try:
        html = PARSER.render(text, env)
    except TooMuchWork:
        return RenderedText(plain_html(text, TOO_MUCH_MARKUP), TOO_MUCH_MARKUP)
    if not _is_too_large(html) and not _is_too_large(html := sanitize(html, resolver)):
        return RenderedText(html, lacks_colours=env.get("lacks_colours", False))
    return RenderedText(plain_html(text, TOO_LARGE), TOO_LARGE)


def _is_too_large(html: str) -> bool:
    return html.count("<") > MOST_NODES or len(html.encode("utf-8", "surrogatepass")) > MOST_HTML


def plain_text(text: str, work: Work | None = None) -> str:
    """Return the plain text of markdown, without code and links; empty for a text beyond a limit."""
    depth, parts = 0, []
    try:
        blocks = PARSER.parse(text, {"work": work or Work()})
    except TooMuchWork:
        return ""
    for block in blocks:
        for token in block.children or ():
            depth += {"link_open": 1, "link_close": -1}.get(token.type, 0)
            parts.append(token.content if token.type == "text" and depth == 0 else " ")
        parts.append("\n")
    return "".join(parts)


def _join(base: str, target: str) -> str:
    """Return the absolute URL of a target. Fragments become ids of headings."""
    if target.startswith("#"):
        return target if _OWN_FRAGMENT.match(target) else f"#user-content-{target[1:]}"
    parts = urlsplit(target)
    return target if parts.scheme or parts.netloc else urljoin(base, target.lstrip("/"))


def _resolve_attribute(context: LinkContext, tag: str, target: str) -> str:
    """Return the absolute URL of a target in HTML that the author wrote; empty if it is invalid."""
    return _resolve(context.link if tag == "a" else context.image, target)


class _Renderer(RendererHTML):
    """A renderer that highlights code within a budget, and escapes HTML that opens too many tags."""

    def fence(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: Any) -> str:
        highlighting: Any = {**options, "highlight": partial(_highlight, env)}
        return super().fence(tokens, idx, OptionsDict(highlighting), env)

    def html_block(self, tokens: Sequence[Token], idx: int, _options: OptionsDict, env: Any) -> str:
        return _bounded_html(tokens[idx].content, env)

    def html_inline(self, tokens: Sequence[Token], idx: int, _options: OptionsDict, env: Any) -> str:
        return _bounded_html(tokens[idx].content, env)


def _bounded_html(html: str, env: Any) -> str:
    open_tags = env.setdefault("open_tags", OpenTags())
    return html if open_tags.accepts(html) else escapeHtml(html)


def _highlight(env: Any, code: str, language: str, _attributes: str) -> str:
    """Return the HTML of a code block; empty for an unknown language, a long block or a spent budget."""
    if not language or not code.strip() or len(code) > HIGHLIGHTED:
        return ""
    count, room = env.get("highlighted", (0, MOST_COLOURS))
    blocks: HtmlCache | None = env.get("blocks")
    html = blocks.get(code, language) if blocks is not None else None
    if html is None:
        budget: Budget = env.setdefault("budget", Budget())
        if count >= MOST_BLOCKS or room < 0:
            return ""
        seconds = budget.highlight_seconds
        answer = LEXER.tokens(code, language=language, seconds=seconds)
        budget.highlight_seconds = seconds - answer.seconds
        if answer.tokens is None and seconds < HIGHLIGHT_SECONDS:
            env["lacks_colours"] = True
            return ""
        html = "".join([_token_html(kind, text) for kind, text in answer.tokens or ()])
        if blocks is not None:
            blocks.put(html, code, language)
    env["highlighted"] = count + 1, room - len(html)
    return html if room >= len(html) else ""


def _token_html(kind: str, text: str) -> str:
    """Return the HTML of a token: spans of its class, one for each line."""
    lines = [escapeHtml(line) for line in text.split("\n")]
    return "\n".join([f'<span class="{kind}">{line}</span>' if kind and line else line for line in lines])


def _resolve_links(state: Any) -> None:
    """Resolve links: bare addresses, and in mode gfm also relative targets, images and references."""
    context: LinkContext | None = state.env.get("context")
    room = min(MOST_TARGETS, TARGETS_PER_CHARACTER * len(state.src))
    for block in state.tokens:
        if block.type == "inline" and block.children:
            for token in block.children:
                room -= sum(len(str(value)) for value in token.attrs.values())
                if room < 0:
                    token.attrs = {}
            block.children = list(_link_tokens(block.children, context, work_of(state.env)))


def _link_tokens(tokens: Sequence[Token], context: LinkContext | None, work: Work) -> Iterable[Token]:
    depth = 0
    for token in tokens:
        depth += {"link_open": 1, "link_close": -1}.get(token.type, 0)
        if token.type == "text":
            token.content = with_emoji(token.content)
        if token.type == "text" and depth == 0:
            if not _MAY_REFER.search(token.content):
                yield token
                continue
            for inserted in (
                _short_links(token.content, context) if context else _references(token.content, None)
            ):
                work.spend(LINK)
                yield inserted
        elif token.type == "image" and context:
            work.spend(TARGET)
            target = _resolve(context.image, str(token.attrGet("src") or ""))
            token.attrSet("src", target)
            yield from _link(target, [token]) if depth == 0 else [token]
        else:
            if token.type == "link_open" and context:
                work.spend(TARGET)
                token.attrSet("href", _resolve(context.link, str(token.attrGet("href") or "")))
            yield token


def _resolve(resolve: Any, target: str) -> str:
    try:
        return str(resolve(target))
    except ValueError:  # such as an unfinished IPv6 address
        return ""


def _short_links(text: str, context: LinkContext) -> Iterable[Token]:
    """Yield ``text`` with links for ``[[pages]]`` and for all other references."""
    position = 0
    for match in _SHORT_LINK.finditer(text):
        yield from _references(text[position : match.start()], context)
        shown, target = match.group(1), match.group(2) or match.group(1)
        yield from _link(context.page(target), [_text(shown)])
        position = match.end()
    yield from _references(text[position:], context)


def _references(text: str, context: LinkContext | None) -> Iterable[Token]:
    """Yield ``text`` with links for addresses, and with a context also for issues, people and commits."""
    position = 0
    for match in (_REFERENCE if context else _ADDRESS).finditer(text):
        if match.start() > position:
            yield _text(text[position : match.start()])
        yield from _link(_target(match, context), [_text(_link_text(match))])
        position = match.end()
    if position < len(text):
        yield _text(text[position:])


def _target(match: re.Match[str], context: LinkContext | None) -> str:
    if context is None or match["url"]:
        return match["url"] if "://" in match["url"] else f"http://{match['url']}"
    if match["user"]:
        return context.root + match["user"]
    if match["sha"]:
        return f"{context.repository}commit/{match['sha']}"
    base = f"{context.root}{match['repo']}/" if match["repo"] else context.repository
    return f"{base}issues/{match['number']}"


def _link_text(match: re.Match[str]) -> str:
    sha = match.groupdict().get("sha")
    return sha[:10] if sha else match.group()


def _link(target: str, inside: Iterable[Token]) -> Iterable[Token]:
    yield Token("link_open", "a", 1, attrs={"href": target})
    yield from inside
    yield Token("link_close", "a", -1)


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)


def _parser() -> MarkdownIt:
    parser = MarkdownIt(
        "commonmark",
        {"html": True, "linkify": False, "typographer": False, "tasklists": True},
        renderer_cls=_Renderer,
    )
    parser.enable(["table", "strikethrough"])
    count_work(parser)
    parser.use(footnote_plugin)
    add_alerts(parser)
    limit_work(parser)
    parser.core.ruler.push("ingot_block_attributes", _add_block_attributes)
    parser.core.ruler.push("ingot_links", _resolve_links)
    return parser


def _add_block_attributes(state: Any) -> None:
    """Add attributes to blocks: ids to headings, and ``align`` instead of a style to cells."""
    slugs: Counter[str] = Counter()
    for token, following in itertools.pairwise(state.tokens):
        if token.type == "heading_open":
            slug = re.sub(r"[^\w -]", "", following.content.strip().lower()).replace(" ", "-")[:180]
            token.attrSet(
                "id", f"user-content-{slug}-{slugs[slug]}" if slugs[slug] else f"user-content-{slug}"
            )
            slugs[slug] += 1
        elif token.type in ("th_open", "td_open") and token.attrGet("style"):
            token.attrSet("align", str(token.attrGet("style")).removeprefix("text-align:"))


PARSER = _parser()
"""Parses markdown by CommonMark 0.31.2, with extensions. Its HTML is unsafe until it is sanitized."""
