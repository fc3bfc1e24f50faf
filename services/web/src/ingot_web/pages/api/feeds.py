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


def feed(
    request: WebRequest, kind: str, title: str, page: str, entries: Sequence[dict[str, str]]
) -> Response[str]:
    """Return a feed of the page at the path ``page``. ``kind`` is atom or rss.

    An entry has title, url, time, author and text. It also has an id if several entries share the url.
    """
    times = (entry["time"] for entry in entries)
    text = request.part(Templates).render(
        f"pages/{kind}.xml",
        title=title,
        entries=entries,
        page=page,
        here=request.scope["path"],
        updated=max(times, key=datetime.fromisoformat, default="1970-01-01T00:00:00Z"),
        rfc_822=_rfc_822,
    )
    return Response(
        UNPRINTABLE.sub("", text), media_type=f"application/{kind}+xml; charset=utf-8", headers=HEADERS
    )


def _rfc_822(time: str) -> str:
    return format_datetime(datetime.fromisoformat(time).astimezone(UTC), usegmt=True)
