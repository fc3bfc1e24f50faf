"""Contract of issues for rendering: texts of a page as HTML.

Texts above the budget are shown as plain text.
"""

from html import escape
from typing import Annotated

import msgspec

MOST_TEXTS = 120
"""Texts per rendering request."""
PLAIN_CHARACTERS = 128 * 1024
"""Maximum characters of a text that is shown as plain text. The rest is omitted."""
EXCERPT_CHARACTERS = 2_000
"""Characters of a plain text on a page that has too much text."""
FULL_PAGE = "the page has too much text; reload it for more"
"""The reason for plain text on a page that has too much text."""


class RenderTexts(msgspec.Struct, frozen=True, kw_only=True):
    """A request to render Markdown of users.

    Relative links are below the path ``context``, such as ``owner/name``, pictures below ``images``. With
    ``wiki``, both are below the wiki of the repository ``context``. ``share`` and ``colours`` are the
    remaining budgets of the page for rendering and highlighting, from 0 to 1.
    """

    texts: Annotated[list[str], msgspec.Meta(max_length=MOST_TEXTS)]
    context: str = ""
    images: str = ""
    wiki: bool = False
    share: Annotated[float, msgspec.Meta(ge=0, le=1)] = 1
    colours: Annotated[float, msgspec.Meta(ge=0, le=1)] = 1


class RenderedTexts(msgspec.Struct, frozen=True, kw_only=True):
    """Sanitized HTML in the order of the texts.

    ``plain`` has indexes of texts that exceeded a budget; a retry may render them. ``share`` and ``colours``
    are the remaining budgets for other texts of the page.
    """

    html: list[str]
    plain: list[int] = []
    share: Annotated[float, msgspec.Meta(ge=0, le=1)] = 1
    colours: Annotated[float, msgspec.Meta(ge=0, le=1)] = 1


def plain_html(text: str, reason: str, most: int = PLAIN_CHARACTERS) -> str:
    """Return the first ``most`` characters of ``text``, escaped, after a note with the reason."""
    shown = "This text is shown as it is written"
    if len(text) > most:
        shown = f"The first {most:,} characters of this text are shown as they are written"
    return f"<p><em>{shown}: {escape(reason)}.</em></p>\n<pre>{escape(text[:most], quote=False)}</pre>\n"
