"""Feeds for feed readers, as Atom and as RSS 2.0."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import format_datetime

from litestar import Response

from ingot_web.pages.api.request import HEADERS, WebRequest
from ingot_web.pages.rules.templates import Templates

UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
"""Characters that XML cannot contain."""


def atom(request: WebRequest, title: str, entries: Sequence[dict[str, str]]) -> Response[str]:
    """Return an Atom feed. An entry has title, url, time, author, text, and an id if its url is shared."""
    times = (entry["time"] for entry in entries)
    updated = max(times, key=datetime.fromisoformat, default="1970-01-01T00:00:00Z")
    return _feed(request, "atom", title, entries, updated=updated)


def rss(request: WebRequest, title: str, entries: Sequence[dict[str, str]], page: str) -> Response[str]:
    """Return an RSS feed of the page at the path ``page``. Entries are as for ``atom``."""
    return _feed(request, "rss", title, entries, page=page, rfc_822=_rfc_822)


def _rfc_822(time: str) -> str:
    return format_datetime(datetime.fromisoformat(time).astimezone(UTC), usegmt=True)


def _feed(
    request: WebRequest, kind: str, title: str, entries: Sequence[dict[str, str]], **values: object
) -> Response[str]:
    text = request.part(Templates).render(
        f"pages/{kind}.xml", title=title, entries=entries, here=request.scope["path"], **values
    )
    return Response(
        UNPRINTABLE.sub("", text), media_type=f"application/{kind}+xml; charset=utf-8", headers=HEADERS
    )
