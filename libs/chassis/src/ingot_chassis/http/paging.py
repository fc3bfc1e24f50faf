"""Pages of lists: parameters ``page`` and ``limit``, headers ``Link`` (RFC 8288) and ``X-Total-Count``."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import msgspec

MAX_LIMIT = 50
MAX_PAGE = 2**31


class Page(msgspec.Struct, frozen=True):
    """The requested part of a list. ``number`` counts from 1."""

    number: int
    limit: int

    @property
    def offset(self) -> int:
        return (self.number - 1) * self.limit

    @classmethod
    def of(cls, query: Mapping[str, str], default_limit: int) -> "Page":
        """Read ``page`` and ``limit`` from the query.

        The default replaces a missing value, a value below 1, and other text. Values above ``MAX_PAGE`` and
        ``MAX_LIMIT`` are reduced to these limits.
        """
        number = _positive(query.get("page"), 1)
        limit = _positive(query.get("limit"), default_limit)
        return cls(min(number, MAX_PAGE), min(limit, MAX_LIMIT))


def page_headers(page: Page, total: int, *, url: str, query: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return the headers of a page of ``total`` visible rows. ``url`` is absolute.

    The headers' URLs keep the other parameters of ``query``, except credentials.
    """
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
