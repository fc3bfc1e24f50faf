"""What all pages of a repository have: the repository itself, asked for beside what the page is about."""

import re
from asyncio import gather
from collections.abc import Coroutine, Mapping
from typing import Any

from litestar import Response

from ingot_chassis.errors import NotFound
from ingot_web.api.request import HEADERS, PAGE_SIZE, WebRequest
from ingot_web.clients.forge import Forge, at

UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
"""What XML cannot hold."""


class RepositoryFrame:
    """The repository that a path names, for one request. ``base`` is its path for links."""

    def __init__(self, request: WebRequest) -> None:
        self.request: WebRequest = request
        self.forge: Forge = request.forge
        self._owner, self._name = request.path_params["owner"], request.path_params["repo"]
        self.repository: Any = None

    @property
    def base(self) -> str:
        """The path of its pages, without the root of the site."""
        return at(self._owner, self._name)

    def api(self, *segments: str | int) -> str:
        """A path of the API below the repository."""
        return "/repos" + self.base + at(*segments)

    def owner_api(self, *segments: str | int) -> str:
        """A path of the API below the owner, if that is an organization."""
        return at("orgs", self._owner, *segments)

    async def load(self, *questions: Coroutine[Any, Any, Any]) -> list[Any]:
        """Ask for the repository and, at the same time, ``questions``; the answers to those.

        What is asked beside it never says more than the repository itself: where the caller does not see it, the page
        is its refusal. ``repository`` is there also where only another question failed.
        """
        own, *answers = await gather(self.forge.get("repos", self.api()), *questions, return_exceptions=True)
        if isinstance(own, BaseException):
            raise own
        self.repository = own
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
        return answers

    def render(
        self, template: str, *, tab: str, title: str = "", status: int = 200, **values: Any
    ) -> Response[str]:
        """A page of the repository."""
        name = self.repository["full_name"]
        return self.request.render(
            template,
            status=status,
            title=f"{title} · {name}" if title else name,
            repository=self.repository,
            base=f"{self.request.root}/{name}",
            tab=tab,
            **values,
        )

    async def list_page(
        self,
        template: str,
        service: str,
        name: str,
        *,
        size: int = PAGE_SIZE,
        query: Mapping[str, str] | None = None,
        **values: Any,
    ) -> Response[str]:
        """A page that shows one list of the repository, the one that the API has below it as ``name``.

        ``values`` go to ``render``.
        """
        (listing,) = await self.load(
            self.forge.listing(service, self.api(name), page=self.request.number, limit=size, **(query or {}))
        )
        pages = self.request.pages_of(listing.total, size)
        return self.render(template, listing=listing, pages=pages, **values)

    def feed(self, title: str, entries: list[dict[str, str]]) -> Response[str]:
        """An Atom feed; an entry has title, url, time, author and text."""
        text = self.request.components.templates.render(
            "feed.xml", title=title, entries=entries, here=self.request.scope["path"]
        )
        text = UNPRINTABLE.sub("", text)
        return Response(text, media_type="application/atom+xml", headers=HEADERS)

    def redirect(self, path: str = "") -> Response[bytes]:
        """To a page of the repository."""
        return self.request.redirect(self.base + path)


class NamedRef:
    """``branch/<name>/<path>`` and the like, as far as it is known where the name ends."""

    def __init__(self, kind: str, name: str, path: str) -> None:
        self.kind, self.name, self.path = kind, name, path

    @property
    def url(self) -> str:
        """The part of an address that names it."""
        return f"{self.kind}/{self.name}"

    @classmethod
    async def of(cls, frame: RepositoryFrame, segments: int, *, kind: str = "") -> "NamedRef":
        """The ref in the path behind its first ``segments``, whose ``kind`` is in the path if it is not given.

        Raises NotFound.

        Names of branches and tags may have slashes: of those that fit, the longest is meant.
        """
        rest = frame.request.rest(segments)
        if not kind:
            kind, _, rest = rest.partition("/")
        first, slash, path = rest.partition("/")
        if kind not in ("branch", "tag", "commit") or not first:
            raise NotFound
        if kind == "commit" or not slash:
            return cls(kind, first, path)
        folder = "heads" if kind == "branch" else "tags"
        refs = await frame.forge.get_if_there("repos", frame.api("git", "refs", folder, first)) or []
        names = [
            ref["ref"].removeprefix(f"refs/{folder}/") for ref in (refs if isinstance(refs, list) else [refs])
        ]
        fitting = [name for name in names if rest == name or rest.startswith(name + "/")]
        name = max(fitting, key=len, default=first)
        return cls(kind, name, rest[len(name) + 1 :])
