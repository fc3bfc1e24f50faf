"""The frame of all pages of a repository. The repository is requested in parallel with the page's subject."""

import re
from asyncio import gather
from collections.abc import Coroutine, Mapping
from typing import Any
from urllib.parse import quote

from litestar import Response

from ingot_chassis.errors import Denied, NotFound
from ingot_web.clients.forge import Forge, at
from ingot_web.pages.api.errors import MISSING_PAGE, TITLES
from ingot_web.pages.api.request import PAGE_SIZE, WebRequest

FOLDERS = {"branch": "heads", "tag": "tags"}
"""Folders of named refs in git."""
KINDS = (*FOLDERS, "commit")
_COMMIT = re.compile(r"[0-9a-f]{4,64}")
_FULL_ID = re.compile(r"[0-9a-fA-F]{40}([0-9a-fA-F]{24})?")
"""Ids that always name an object, never a branch or a tag."""
_SHORT_ID = re.compile(r"[0-9a-fA-F]{4,39}")

UNIT_TABS = ("issues", "pulls", "releases", "wiki")
"""Tabs of units in which the caller's level may differ from that in the code."""


class RepositoryFrame:
    """The repository in a path, for one request. ``base`` is its path for links."""

    def __init__(self, request: WebRequest) -> None:
        self.request: WebRequest = request
        self.forge: Forge = request.forge
        self._owner, self._name = request.path_params["owner"], request.path_params["repo"]
        self.repository: Any = None

    @property
    def base(self) -> str:
        """Return the path of the repository's pages, without the root of the site."""
        return at(self._owner, self._name)

    def api(self, *segments: str | int) -> str:
        """Return a path of the API below the repository."""
        return "/repos" + self.base + at(*segments)

    def owner_api(self, *segments: str | int) -> str:
        """Return a path of the API below the owner, if it is an organization."""
        return at("orgs", self._owner, *segments)

    async def load(self, *questions: Coroutine[Any, Any, Any]) -> list[Any]:
        """Request the repository and ``questions`` in parallel. Return the responses to ``questions``.

        If the caller may not see the repository, its error is raised, whatever the other responses are.
        ``repository`` is also set if only one of ``questions`` failed.
        """
        own, *answers = await gather(self.forge.get("repos", self.api()), *questions, return_exceptions=True)
        if isinstance(own, BaseException):
            raise own
        self.repository = _as_readable(own)
        self.request.scope["state"][MISSING_PAGE] = self._missing_page
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
        return answers

    def _missing_page(self) -> Response[str]:
        """Return the page for a missing item of the repository."""
        return self.render("repositories/missing.html", tab="", title=TITLES[404], status=404)

    def require_push(self, problem: str) -> None:
        """Raise Denied with ``problem`` if the caller may not push, or the repository is archived.

        Needs ``load``.
        """
        permissions = self.repository["permissions"]
        if not (permissions and permissions["push"]) or self.repository["archived"]:
            raise Denied(problem)

    def writes(self, unit: str) -> bool:
        """True if the caller may write a unit of the repository: code, issues, pulls, releases or wiki.

        Needs ``load``.
        """
        permissions, units = self.repository["permissions"], self.repository.get("units_map")
        if units:
            return bool(units.get(f"repo.{unit}") == "write")
        return bool(permissions and permissions["push"])

    def first_page(self) -> Response[bytes]:
        """Redirect to the first page that the caller may read: issues, pull requests, releases or wiki.

        Raises NotFound if the caller may read none of these pages.
        """
        for tab, switch in (
            ("issues", "has_issues"),
            ("pulls", "has_pull_requests"),
            ("releases", "has_releases"),
            ("wiki", "has_wiki"),
        ):
            if self.repository[switch]:
                return self.redirect(f"/{tab}")
        raise NotFound

    def render(
        self, template: str, *, tab: str, title: str = "", status: int = 200, **values: Any
    ) -> Response[str]:
        """Return a page of the repository."""
        name, shown = self.repository["full_name"], self.repository
        if shown.get("units_map") and tab in UNIT_TABS:
            shown = shown | {"permissions": shown["permissions"] | {"push": self.writes(tab)}}
        return self.request.render(
            template,
            status=status,
            title=f"{title} · {name}" if title else name,
            repository=shown,
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
        """Return a page with a list of the repository. ``name`` is its API path below the repository.

        ``values`` are passed to ``render``.
        """
        (listing,) = await self.load(
            self.forge.listing(service, self.api(name), page=self.request.number, limit=size, **(query or {}))
        )
        pages = self.request.pages_of(listing.total, size)
        return self.render(template, listing=listing, pages=pages, **values)

    async def missing(self) -> NotFound:
        """Return the error for a missing item. Load the repository first, so the error page has its frame.

        Raises the error of the repository.
        """
        await self.load()
        return NotFound()

    async def redirect_from_old_address(self, page: str) -> Response[bytes] | None:
        """Redirect from an old URL of ``page``, which does not contain the kind of its ref.

        Return None if the URL contains the kind. Raises NotFound.
        """
        ref = await NamedRef.of_old_address(self, 3)
        if ref is None:
            return None
        path = f"/{quote(ref.path)}" if ref.path else ""
        return self.request.redirect_with_query(f"{self.base}/{page}/{ref.kind}/{quote(ref.name)}{path}")

    def redirect(self, path: str = "") -> Response[bytes]:
        """Redirect to a page of the repository."""
        return self.request.redirect(self.base + path)


def _as_readable(repository: Any) -> Any:
    """Return the repository without the units that the caller may not read.

    Pull requests need the code, too.
    """
    units = repository.get("units_map")
    if not units:
        return repository
    reads = {unit for unit, level in units.items() if level != "none"}
    return repository | {
        "has_code": "repo.code" in reads,
        "has_issues": repository["has_issues"] and "repo.issues" in reads,
        "has_pull_requests": repository["has_pull_requests"] and {"repo.code", "repo.pulls"} <= reads,
        "has_releases": repository["has_releases"] and "repo.releases" in reads,
        "has_wiki": repository["has_wiki"] and "repo.wiki" in reads,
    }


class NamedRef:
    """A ref in a path such as ``branch/<name>/<path>``, split into name and path."""

    def __init__(self, kind: str, name: str, path: str) -> None:
        self.kind, self.name, self.path = kind, name, path

    @property
    def url(self) -> str:
        """Return the part of a URL that identifies the ref."""
        return f"{self.kind}/{self.name}"

    @property
    def full(self) -> str:
        """Return the full ref name for the API, because refs of other kinds may have the same short name."""
        folder = FOLDERS.get(self.kind)
        return f"refs/{folder}/{self.name}" if folder else self.name

    @classmethod
    async def of(cls, frame: RepositoryFrame, segments: int, *, kind: str = "") -> "NamedRef":
        """Return the ref in the path after ``segments`` segments. An empty ``kind`` is read from the path.

        Names of branches and tags may have slashes: the longest name that matches is used. Raises NotFound.
        """
        rest = frame.request.rest(segments)
        if not kind:
            kind, _, rest = rest.partition("/")
        first, slash, path = rest.partition("/")
        if kind not in KINDS or not first:
            raise await frame.missing()
        if kind == "commit":
            return cls(kind, await full_id(frame, first), path)
        if not slash:
            return cls(kind, first, path)
        name = await name_in_git(frame, kind, rest) or first
        return cls(kind, name, rest[len(name) + 1 :])

    @classmethod
    async def of_old_address(cls, frame: RepositoryFrame, segments: int) -> "NamedRef | None":
        """Return the branch, tag or commit in a path that does not contain the kind of its ref.

        None if the path contains the kind. Raises NotFound.
        """
        rest = frame.request.rest(segments)
        first, _, path = rest.partition("/")
        if first in KINDS:
            return None
        if _FULL_ID.fullmatch(first):
            return cls("commit", first, path)
        for kind in FOLDERS:
            if name := await name_in_git(frame, kind, rest):
                return cls(kind, name, rest[len(name) + 1 :])
        if not _COMMIT.fullmatch(first):
            raise await frame.missing()
        return cls("commit", first, path)


async def full_id(frame: RepositoryFrame, name: str) -> str:
    """Return the full commit id of an abbreviated id, even if a branch has this name.

    Other names are returned unchanged. Raises NotFound.
    """
    if not _SHORT_ID.fullmatch(name):
        return name
    path, parts = frame.api("git", "commits", name), dict.fromkeys(("stat", "files", "verification"), False)
    try:
        sha: str = (await frame.forge.get("repos", path, only_id=True, **parts))["sha"]
    except NotFound:
        raise await frame.missing() from None
    return sha


async def name_in_git(frame: RepositoryFrame, kind: str, rest: str) -> str:
    """Return the longest name of a branch or tag at the start of ``rest``; empty if none matches."""
    first, folder = rest.partition("/")[0], FOLDERS.get(kind)
    if folder is None:
        return ""
    refs = await frame.forge.get_if_there("repos", frame.api("git", "refs", folder, first)) or []
    names = [
        ref["ref"].removeprefix(f"refs/{folder}/") for ref in (refs if isinstance(refs, list) else [refs])
    ]
    return max((name for name in names if f"{rest}/".startswith(f"{name}/")), key=len, default="")
