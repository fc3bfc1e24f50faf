"""Pages of lists: ``page`` and ``limit`` in, ``Link`` (RFC 8288) and ``X-Total-Count`` out."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import msgspec

MAX_LIMIT = 50
MAX_PAGE = 2**31


class Page(msgspec.Struct, frozen=True):
    """The part of a list that is asked for. ``number`` counts from 1."""

    number: int
    limit: int

    @property
    def offset(self) -> int:
        return (self.number - 1) * self.limit

    @classmethod
    def of(cls, query: Mapping[str, str], default_limit: int) -> "Page":
        """Read ``page`` and ``limit``; what is missing, not a number or below 1 becomes the default."""
        number = _positive(query.get("page"), 1)
        limit = _positive(query.get("limit"), default_limit)
        return cls(min(number, MAX_PAGE), min(limit, MAX_LIMIT))


def page_headers(page: Page, total: int, *, url: str, query: Sequence[tuple[str, str]]) -> dict[str, str]:
    """The headers of a page out of ``total`` visible rows. ``url`` is absolute; other parameters are kept."""
    last = max(1, -(-total // page.limit))
    others = [(key, value) for key, value in query if key not in ("page", "limit", "token", "access_token")]

    def link(number: int, rel: str) -> str:
        return (
            f'<{url}?{urlencode([*others, ("page", str(number)), ("limit", str(page.limit))])}>; rel="{rel}"'
        )

    links = []
    if page.number < last:
        links += [link(page.number + 1, "next"), link(last, "last")]
    if page.number > 1:
        links += [link(1, "first"), link(min(page.number - 1, last), "prev")]
    headers = {"X-Total-Count": str(total)}
    if links:
        headers["Link"] = ",".join(links)
    return headers


def _positive(text: Any, default: int) -> int:
    try:
        number = int(text)
    except (TypeError, ValueError):
        return default
    return number if number > 0 else default
