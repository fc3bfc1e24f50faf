"""Lists of sources. Each page has the URL of the next page in the header Link (RFC 8288)."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple, TypeVar
from urllib.parse import parse_qs

import msgspec

from ingot_remotes.connections.http import Answer, SourceHttp, each
from ingot_remotes.interface.source import ABSENT, Listed, PersonKey, SourceFailed, SourcePage

PAGE_SIZE = 100
"""The largest page of GitHub and GitLab."""
REQUESTS_AT_ONCE = 4
MOST_INNER_PAGES = 100
"""Limit of pages about one issue or pull request."""
MOST_OBJECTS = 1_000
"""Limit of objects of one page."""
Query = Mapping[str, str | int]
_T = TypeVar("_T")
_U = TypeVar("_U")


class ListPage(NamedTuple):
    """A page of a list. ``place`` is the query of its link on the previous page; empty for the first page."""

    path: str
    query: Query
    place: str = ""
    size: int = PAGE_SIZE


def source_page(items: Sequence[Listed], following: str, **fields: Any) -> SourcePage:
    """Return the page with the objects of a list. ``fields`` are further fields of ``SourcePage``."""
    return SourcePage(size=len(items), first=items[0].id if items else 0, following=following, **fields)


class LinkedPages:
    """A reader of lists, with a few parallel requests. Paths are below the root of the API.

    Only the query of a link is used, so a source cannot name another host.
    """

    def __init__(self, http: SourceHttp) -> None:
        self._http, self._slots = http, asyncio.Semaphore(REQUESTS_AT_ONCE)

    async def get(self, path: str, answer: type[_T], query: Query | str = "") -> Answer[_T]:
        """Return one answer. Raises SourceFailed, SourceBusy."""
        async with self._slots:
            return await self._http.get(path, query, answer)

    async def optional(self, path: str, answer: type[_T], absent: _U) -> _T | _U:
        """Return the value of an answer, or ``absent`` if the source lacks it.

        Raises the errors of ``get``.
        """
        try:
            return (await self.get(path, answer)).value
        except SourceFailed as error:
            if error.fault not in ABSENT:
                raise
            return absent

    async def page(self, where: ListPage, answer: type[list[_T]]) -> tuple[list[_T], str]:
        """Return the objects of a page, and the place of the next page. Raises the errors of ``get``.

        The place is empty after the last page.
        """
        query = where.place or {**where.query, "per_page": where.size}
        items, _, links = await self.get(where.path, answer, query)
        following = links.get("next", "")
        if len(items) > MOST_OBJECTS or (following and following == where.place):
            raise SourceFailed("forge-answer")
        return items, following

    async def all(self, path: str, answer: type[list[_T]], query: Query | None = None) -> list[_T]:
        """Return the objects of all pages. Raises the errors of ``get``."""
        items, following = await self.first(path, answer, query, most_pages=MOST_INNER_PAGES)
        if following:
            raise SourceFailed("too-large")
        return items

    async def first(
        self, path: str, answer: type[list[_T]], query: Query | None = None, *, most_pages: int
    ) -> tuple[list[_T], str]:
        """Return the objects of the first pages and the place of the next. Raises the errors of ``get``.

        The place is empty after the last page.
        """
        items, where = list[_T](), ListPage(path, query or {})
        for _ in range(most_pages):
            page, following = await self.page(where, answer)
            items += page
            where = where._replace(place=following)
            if not following:
                break
        return items, where.place

    async def addresses(
        self, people: AbstractSet[PersonKey], read: Callable[[PersonKey], Awaitable[str | None]]
    ) -> dict[PersonKey, str]:
        """Return the addresses that people show on their profiles; empty for people who show none.

        ``read`` is called for each person whose address is not cached. Raises the errors of ``read``.
        """
        memory = self._http.memory

        async def look_up(person: PersonKey) -> None:
            memory.remember_address(person, await read(person) or "")

        remembered = people & memory.addresses.keys()
        for person in remembered:
            memory.remember_address(person, memory.addresses[person])
        await each([look_up(person) for person in sorted(people - remembered)])
        return {person: memory.addresses.get(person, "") for person in people}

    async def count(self, path: str, query: Query) -> int | None:
        """Return the number of objects, or None if the source does not return it.

        The number comes from ``X-Total``, or from the link to the last page with one object per page. Raises
        the errors of ``get``.
        """
        items, headers, links = await self.get(path, list[msgspec.Raw], {**query, "per_page": 1})
        total = headers.get("X-Total") or parse_qs(links.get("last", "")).get("page", [""])[0]
        if not total:
            return None if "next" in links else len(items)
        return int(total) if re.fullmatch("[0-9]{1,9}", total) else None
