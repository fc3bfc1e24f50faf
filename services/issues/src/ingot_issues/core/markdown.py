"""Markdown to HTML that is safe to show: parsed, with links in mode gfm, highlighted, and sanitised in every mode."""

import asyncio
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar
from urllib.parse import urljoin, urlsplit

import nh3
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict
from mdit_py_plugins.footnote import footnote_plugin

from ingot_chassis.lexer import LEXER, LexerBusy
from ingot_issues.core.html_cache import HtmlCache
from ingot_issues.core.markdown_limits import OpenTags, limit_work

LARGEST = 128 * 1024
"""Characters."""
HIGHLIGHTED = 32 * 1024
"""Characters of a block of code that is highlighted."""
HIGHLIGHT_SECONDS = 0.5
"""CPU time of highlighting for one text. Some lexers need time that grows with the square of their input."""
MOST_TARGETS = 1024 * 1024
"""Characters of the targets and titles of all links of a text; many links may use one definition."""
TARGETS_PER_CHARACTER = 32
LONGEST_CONTEXT = 255
INLINE = 2048
"""Characters of a text that is parsed in the event loop. A longer text, or one with code, is parsed in a thread."""
_FENCE = re.compile(r"```|~~~")
_Result = TypeVar("_Result")
_THREADS = ThreadPoolExecutor(max_workers=2, thread_name_prefix="markdown")

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
_MAY_REFER = re.compile(r"[#@]|\[\[|[0-9a-f]{7}|https?://|www\.")
_CLASSES = re.compile(
    r"(?:language-[\w+#.-]{1,40}|highlight|[a-z][a-z0-9]{0,2}|task-list-item|task-list-item-checkbox"
    r"|contains-task-list|footnotes(?:-(?:list|sep))?|footnote-(?:item|ref|backref)|anchor|mention)"
)
_ID = re.compile(r"user-content-[\w%.:-]{1,200}|fn(?:ref)?[0-9]{1,6}(?::[0-9]{1,6})?")

_TAGS = nh3.ALLOWED_TAGS | {"input", "section"}
_ATTRIBUTES = {
    **{tag: set(names) for tag, names in nh3.ALLOWED_ATTRIBUTES.items()},
    "*": {"class", "id"},
    "input": {"type", "checked", "disabled"},
    "a": {"href", "title", "hreflang"},
    "td": {"align"},
    "th": {"align"},
}


@dataclass(frozen=True)
class LinkContext:
    """The targets of relative links are below ``base``; ``root`` is the root of all pages. Both end with a slash.

    ``images`` is where pictures are, if they are elsewhere; it ends with a slash, too.
    """

    root: str
    base: str
    wiki: bool = False
    images: str = ""

    @classmethod
    def of(cls, root: str, path: str, *, wiki: bool) -> "LinkContext":
        """For a ``path`` such as ``owner/name``, or a whole URL below ``root``; for anything else ``base`` is the root."""
        path = path.strip().removeprefix(root).strip("/")
        if (
            len(path) > LONGEST_CONTEXT
            or "://" in path
            or any(part in (".", "..") for part in path.split("/"))
        ):
            path = ""
        return cls(root, f"{root}{path}/" if path else root, wiki)

    def link(self, target: str) -> str:
        return _join(self.base + ("wiki/" if self.wiki else ""), target)

    def image(self, target: str) -> str:
        return _join(self.images or self.base + ("wiki/raw/" if self.wiki else ""), target)

    def page(self, target: str) -> str:
        return f"{self.base}{'wiki/' if self.wiki else ''}{target.strip().replace(' ', '-')}"


async def run_without_blocking(work: Callable[[str], _Result], text: str) -> _Result:
    """``work(text)``, in a thread when it would block the event loop."""
    if len(text) <= INLINE and not _FENCE.search(text):
        return work(text)
    return await asyncio.get_running_loop().run_in_executor(_THREADS, work, text)


def render(text: str, context: LinkContext | None = None, blocks: HtmlCache | None = None) -> str:
    """HTML for ``text``; with a context, references become links. Empty for empty text.

    ``blocks`` has highlighted blocks of code, of other texts as well.
    """
    return rendered(text, context, blocks)[0]


def rendered(text: str, context: LinkContext | None, blocks: HtmlCache | None) -> tuple[str, bool]:
    """The same; and whether it stays so. Where the lexer is busy with other texts, code has no colours."""
    if not text.strip():
        return "", True
    env: dict[str, Any] = {"context": context, "blocks": blocks}
    html = _sanitise(PARSER.render(text, env))
    return html, not env.get("lexer_is_busy")


def plain_text(text: str) -> str:
    """The plain text of markdown, without code and links."""
    depth, parts = 0, []
    for block in PARSER.parse(text, {}):
        for token in block.children or ():
            depth += {"link_open": 1, "link_close": -1}.get(token.type, 0)
            parts.append(token.content if token.type == "text" and depth == 0 else " ")
        parts.append("\n")
    return "".join(parts)


def _sanitise(html: str) -> str:
    return nh3.clean(
        html,
        tags=_TAGS,
        clean_content_tags={"script", "style"},
        attributes=_ATTRIBUTES,
        attribute_filter=_attribute,
        url_schemes={"http", "https", "mailto"},
        link_rel="nofollow noopener",
    )


def _attribute(tag: str, name: str, value: str) -> str | None:
    """The value that may stay, or None: no value of an author reaches scripts or styles of the page."""
    if name == "class":
        return " ".join(part for part in value.split() if _CLASSES.fullmatch(part)) or None
    if name == "id":
        return value if _ID.fullmatch(value) else None
    if tag == "input" and name == "type":
        return "checkbox"
    return value


def _join(base: str, target: str) -> str:
    parts = urlsplit(target)
    if parts.scheme or parts.netloc or target.startswith("#"):
        return target
    return urljoin(base, target.lstrip("/"))


class _Renderer(RendererHTML):
    """Highlights code, for at most HIGHLIGHT_SECONDS of a text. Shows HTML as text when it opens too many tags."""

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
    """HTML of a code block; empty, so that the block stays plain, for an unknown language, a long block and after the time."""
    blocks: HtmlCache | None = env.get("blocks")
    if blocks is not None and (html := blocks.get(code, language)) is not None:
        return html
    spent = env.setdefault("highlight_seconds", 0.0)
    if not language or len(code) > HIGHLIGHTED or spent >= HIGHLIGHT_SECONDS:
        return ""
    try:
        answer = LEXER.tokens(code, language=language, seconds=HIGHLIGHT_SECONDS - spent)
    except LexerBusy:
        env["lexer_is_busy"] = True
        return ""
    env["highlight_seconds"] = spent + answer.seconds
    html = "".join([_token_html(kind, text) for kind, text in answer.tokens or ()])
    if blocks is not None and not (answer.tokens is None and spent):  # alone it might have had the time
        blocks.put(html, code, language)
    return html


def _token_html(kind: str, text: str) -> str:
    """A token in spans of its class, one for each line."""
    lines = [escapeHtml(line) for line in text.split("\n")]
    return "\n".join([f'<span class="{kind}">{line}</span>' if kind and line else line for line in lines])


def _resolve_links(state: Any) -> None:
    """The core rule of links: bare addresses; in mode gfm also relative targets, images and references."""
    context: LinkContext | None = state.env.get("context")
    room = min(MOST_TARGETS, TARGETS_PER_CHARACTER * len(state.src))
    for block in state.tokens:
        if block.type == "inline" and block.children:
            for token in block.children:
                room -= sum(len(str(value)) for value in token.attrs.values())
                if room < 0:
                    token.attrs = {}
            block.children = list(_link_tokens(block.children, context))


def _link_tokens(tokens: Sequence[Token], context: LinkContext | None) -> Iterable[Token]:
    depth = 0
    for token in tokens:
        depth += {"link_open": 1, "link_close": -1}.get(token.type, 0)
        if token.type == "text" and depth == 0:
            if not _MAY_REFER.search(token.content):
                yield token
                continue
            yield from _short_links(token.content, context) if context else _references(token.content, None)
        elif token.type == "image" and context:
            target = _resolve(context.image, str(token.attrGet("src") or ""))
            token.attrSet("src", target)
            yield from _link(target, [token]) if depth == 0 else [token]
        else:
            if token.type == "link_open" and context:
                token.attrSet("href", _resolve(context.link, str(token.attrGet("href") or "")))
            yield token


def _resolve(resolve: Any, target: str) -> str:
    try:
        return str(resolve(target))
    except ValueError:  # such as an unfinished IPv6 address
        return ""


def _short_links(text: str, context: LinkContext) -> Iterable[Token]:
    """``text`` with links for ``[[pages]]`` and for all other references."""
    position = 0
    for match in _SHORT_LINK.finditer(text):
        yield from _references(text[position : match.start()], context)
        shown, target = match.group(1), match.group(2) or match.group(1)
        yield from _link(context.page(target), [_text(shown)])
        position = match.end()
    yield from _references(text[position:], context)


def _references(text: str, context: LinkContext | None) -> Iterable[Token]:
    """``text`` with links for addresses; with a context also for issues, people and commits."""
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
        return f"{context.base}commit/{match['sha']}"
    base = f"{context.root}{match['repo']}/" if match["repo"] else context.base
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
    parser.use(footnote_plugin)
    limit_work(parser)
    parser.core.ruler.push("ingot_block_attributes", _add_block_attributes)
    parser.core.ruler.push("ingot_links", _resolve_links)
    return parser


def _add_block_attributes(state: Any) -> None:
    """The core rule of blocks: headings get ids, and cells the attribute ``align`` in place of a style."""
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
"""Markdown to HTML as CommonMark 0.31.2 has it, with the extensions; not safe to show before it is sanitised."""
