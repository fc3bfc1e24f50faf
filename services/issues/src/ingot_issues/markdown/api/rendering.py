"""Routes that render markdown as HTML. Every caller may use them."""

from dataclasses import replace
from typing import Literal

import msgspec
from litestar import Response, post

from ingot_chassis.errors import Invalid, Unavailable
from ingot_chassis.http.concurrency import caller_of
from ingot_chassis.http.policy import anyone, services
from ingot_chassis.http.request_bodies import PlainText
from ingot_contracts.limits import Description, Name
from ingot_contracts.rendering import RenderedTexts, RenderTexts
from ingot_issues.access.api.request import IssuesRequest
from ingot_issues.markdown.components import MarkdownComponents
from ingot_issues.markdown.rules.csv_html import csv_html
from ingot_issues.markdown.rules.rendered_texts import BUSY, RequestBudget
from ingot_issues.markdown.rules.rendering import LARGEST, LinkContext

MOST_BYTES = 2_000_000
"""Limit of a request body: ``LARGEST`` characters take at most 12 bytes each in JSON."""
LARGEST_BODY = 10_000_000
ENDINGS = (".md", ".markdown", ".mdown", ".mkd", ".livemd")
"""Endings of Markdown files that ``/markup`` renders."""
TABLES = ".csv"
"""Ending of files that ``/markup`` renders as tables."""


class MarkdownOption(msgspec.Struct, kw_only=True):
    """A text to render. Keys may be in any letter case. Modes other than ``gfm`` are plain markdown."""

    text: str = ""
    mode: Name = ""
    context: Description = ""
    wiki: bool = False


class MarkupOption(msgspec.Struct, kw_only=True):
    """A text to render. Keys may be in any letter case.

    With an empty `mode` or `markdown`, relative targets and references do not become links. Other modes make
    links below `context`, such as `owner/name` or `owner/name/src/branch/main/docs`. `file` renders the text
    as the file `filepath`.
    """

    text: str = ""
    mode: Literal["", "markdown", "gfm", "comment", "wiki", "file"] = ""
    context: Description = ""
    filepath: Description = ""
    wiki: bool = False


@post(
    "/api/v1/markdown",
    policy=anyone(),
    operation_id="renderMarkdown",
    tags=["miscellaneous"],
    status_code=200,
    media_type="text/html",
    request_max_body_size=MOST_BYTES,
    error_statuses={413: 422},
)
async def render_markdown(request: IssuesRequest, data: MarkdownOption) -> Response[str]:
    """Render markdown as HTML."""
    root = request.public_url.rstrip("/") + "/"
    linking = LinkContext.of(root, data.context, wiki=data.wiki) if data.mode == "gfm" else None
    return await _answer(request, data.text, linking)


@post(
    "/api/v1/markup",
    policy=anyone(),
    operation_id="renderMarkup",
    tags=["miscellaneous"],
    status_code=200,
    media_type="text/html",
    request_max_body_size=MOST_BYTES,
    error_statuses={413: 422},
)
async def render_markup(request: IssuesRequest, data: MarkupOption) -> Response[str]:
    """Render a text as HTML: markdown, or the table of a CSV file."""
    if data.mode == "file" and data.filepath.lower().endswith(TABLES):
        _check_length(request, data.text)
        return Response(csv_html(data.text), media_type="text/html")
    if data.mode == "file" and not data.filepath.lower().endswith(ENDINGS):
        text = f"is not the path of a Markdown or CSV file ({', '.join((*ENDINGS, TABLES))})"
        raise Invalid.field("filepath", "unsupported", text)
    if data.mode in ("", "markdown"):
        return await _answer(request, data.text, None)
    root = request.public_url.rstrip("/") + "/"
    linking = LinkContext.of(root, data.context, wiki=data.wiki or data.mode == "wiki")
    return await _answer(request, data.text, linking.in_source())


@post(
    "/api/v1/markdown/raw",
    policy=anyone(),
    operation_id="renderMarkdownRaw",
    tags=["miscellaneous"],
    status_code=200,
    media_type="text/html",
    request_max_body_size=MOST_BYTES,
    error_statuses={413: 422},
    operation_class=PlainText,
)
async def render_markdown_raw(request: IssuesRequest) -> Response[str]:
    """Render the request body, which is plain markdown, as HTML."""
    try:
        text = (await request.raw_body()).decode()
    except UnicodeDecodeError as error:
        raise Invalid("the body is not UTF-8") from error
    return await _answer(request, text, None)


async def _answer(request: IssuesRequest, text: str, linking: LinkContext | None) -> Response[str]:
    """Return the HTML of a text as the response.

    Raises Invalid, Unavailable, and TooManyRequests for too many texts of a caller.
    """
    _check_length(request, text)
    components = request.part(MarkdownComponents)
    async with components.queue.slot(caller_of(request.principal)):
        shown = await components.rendered_texts.html(text, linking)
    if shown.reason == BUSY:
        raise Unavailable("too many texts are being rendered; try again", retry_after=1)
    return Response(shown.html, media_type="text/html")


def _check_length(request: IssuesRequest, text: str) -> None:
    signed_in = request.principal.signed_in
    largest = LARGEST if signed_in else min(request.settings.anonymous_markdown, LARGEST)
    if len(text) > largest:
        hint = "" if signed_in else "; sign in to have longer ones rendered"
        raise Invalid.field("text", "length", f"has more than {largest} characters{hint}")


@post(
    "/internal/markdown",
    policy=services("web"),
    include_in_schema=False,
    status_code=200,
    request_max_body_size=LARGEST_BODY,
)
async def render_texts(request: IssuesRequest, data: RenderTexts) -> RenderedTexts:
    """Render the texts of a page."""
    root = request.public_url.rstrip("/") + "/"
    linking = LinkContext.of(root, data.context, wiki=data.wiki)
    if data.images:
        linking = replace(linking, images=LinkContext.of(root, data.images, wiki=False).base)
    budget = RequestBudget(data.share, data.colours)
    shown = await request.part(MarkdownComponents).rendered_texts.page(data.texts, linking, budget)
    plain = [place for place, text in enumerate(shown) if not text.stays]
    return RenderedTexts(
        html=[text.html for text in shown], plain=plain, share=budget.share, colours=budget.colours
    )


routes = [render_markdown, render_markup, render_markdown_raw, render_texts]
