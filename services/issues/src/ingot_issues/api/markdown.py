"""Markdown to HTML for anyone."""

from dataclasses import replace
from html import escape

import msgspec
from litestar import Response, post

from ingot_chassis.errors import TooLarge
from ingot_chassis.http.concurrency import caller_of
from ingot_chassis.http.policy import anyone, services
from ingot_chassis.http.request_bodies import PlainText
from ingot_contracts.issues import RenderedTexts, RenderTexts
from ingot_contracts.limits import Description, Name
from ingot_issues.api.request import IssuesRequest
from ingot_issues.core.markdown import LARGEST, LinkContext

MOST_BYTES = 1_000_000
LARGEST_BODY = 10_000_000
MOST_CHARACTERS = 4 * LARGEST
"""Of all texts of a page together; the texts after it are shown as they are written."""


class RenderMarkdown(msgspec.Struct, kw_only=True):
    """Keys in any letter case. Modes other than ``gfm`` are plain markdown."""

    text: str = ""
    mode: Name = ""
    context: Description = ""
    wiki: bool = False


@post(
    "/api/v1/markdown",
    policy=anyone(),
    operation_id="renderMarkdown",
    tags=["miscellaneous"],
    status_code=200,
    media_type="text/html",
    request_max_body_size=MOST_BYTES,
)
async def render_markdown(request: IssuesRequest, data: RenderMarkdown) -> Response[str]:
    """Render markdown as HTML."""
    root = request.public_url.rstrip("/") + "/"
    linking = LinkContext.of(root, data.context, wiki=data.wiki) if data.mode == "gfm" else None
    return await _answer(request, data.text, linking)


@post(
    "/api/v1/markdown/raw",
    policy=anyone(),
    operation_id="renderMarkdownRaw",
    tags=["miscellaneous"],
    status_code=200,
    media_type="text/html",
    request_max_body_size=MOST_BYTES,
    operation_class=PlainText,
)
async def render_markdown_raw(request: IssuesRequest) -> Response[str]:
    """Render the body, as it is, as HTML."""
    return await _answer(request, (await request.raw_body()).decode("utf-8", "replace"), None)


async def _answer(request: IssuesRequest, text: str, linking: LinkContext | None) -> Response[str]:
    """Raises TooLarge, or TooManyRequests for a caller of whom too many texts wait."""
    principal = request.principal
    largest = LARGEST if principal.signed_in else min(request.settings.anonymous_markdown, LARGEST)
    if len(text) > largest:
        hint = "" if principal.signed_in else "; sign in to have longer ones rendered"
        raise TooLarge(f"the text has more than {largest} characters{hint}")
    async with request.components.markdown_queue.slot(caller_of(principal)):
        html, _ = await request.components.rendered_texts.html(text, linking)
    return Response(html, media_type="text/html")


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
    linking = LinkContext.of(root, data.context, wiki=False)
    if data.images:
        linking = replace(linking, images=LinkContext.of(root, data.images, wiki=False).base)
    html, plain, room = [], [], MOST_CHARACTERS
    for place, text in enumerate(data.texts):
        room -= len(text)
        rendered, stays = f"<pre>{escape(text)}</pre>", len(text) > LARGEST
        if len(text) <= LARGEST and room >= 0:
            rendered, stays = await request.components.rendered_texts.html(text, linking)
        html.append(rendered)
        if not stays:
            plain.append(place)
    return RenderedTexts(html=html, plain=plain)


routes = [render_markdown, render_markdown_raw, render_texts]
