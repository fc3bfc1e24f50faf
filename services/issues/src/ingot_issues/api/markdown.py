"""Markdown to HTML for anyone."""

from functools import partial

import msgspec
from litestar import Response, post

from ingot_chassis.errors import TooLarge
from ingot_chassis.policy import anyone
from ingot_issues.api.call import Call
from ingot_issues.core.markdown import LARGEST, Context, parsed, render

MOST_BYTES = 1_000_000


class RenderMarkdown(msgspec.Struct, kw_only=True):
    """Keys in any letter case. Modes other than ``gfm`` are plain markdown."""

    text: str = ""
    mode: str = ""
    context: str = ""
    wiki: bool = False


@post(
    "/api/v1/markdown",
    policy=anyone(),
    operation_id="renderMarkdown",
    tags=["miscellaneous"],
    status_code=200,
    request_max_body_size=MOST_BYTES,
)
async def render_markdown(request: Call, data: RenderMarkdown) -> Response[str]:
    """Render markdown as HTML."""
    root = request.public_url.rstrip("/") + "/"
    linking = Context.of(root, data.context, wiki=data.wiki) if data.mode == "gfm" else None
    return await _answer(data.text, linking)


@post(
    "/api/v1/markdown/raw",
    policy=anyone(),
    operation_id="renderMarkdownRaw",
    tags=["miscellaneous"],
    status_code=200,
    request_max_body_size=MOST_BYTES,
)
async def render_markdown_raw(request: Call) -> Response[str]:
    """Render the body, as it is, as HTML."""
    return await _answer((await request.raw_body()).decode("utf-8", "replace"), None)


async def _answer(text: str, linking: Context | None) -> Response[str]:
    if len(text) > LARGEST:
        raise TooLarge(f"the text has more than {LARGEST} characters")
    html = await parsed(partial(render, context=linking), text)
    return Response(html, media_type="text/html")


routes = [render_markdown, render_markdown_raw]
