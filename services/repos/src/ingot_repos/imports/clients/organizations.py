"""Organizations of sources: the lists of their repositories.

Facts are from https://docs.gitea.com/api, https://docs.github.com/rest (version 2022-11-28), and
https://docs.gitlab.com/api/groups (version 4), where an organization is a group.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import NamedTuple, Protocol
from urllib.parse import quote

import msgspec

from ingot_contracts.identity.accounts import Visibility
from ingot_repos.imports.clients.http import SourceHttp
from ingot_repos.imports.clients.linked_pages import LinkedPages, ListPage, Query
from ingot_repos.imports.clients.source import SourceFailed

PAGE_SIZE = 50
"""The largest page of a Gitea with default settings."""
MOST_REPOSITORIES = 10_000
"""Limit of repositories of an organization, also of those that no glob matches."""
MOST_OBJECTS = 1_000
"""Limit of repositories of one page: some sources ignore the size of pages."""
_GITEA: Mapping[str, Visibility] = {"public": "public", "limited": "limited"}
_GITLAB: Mapping[str, Visibility] = {"public": "public", "internal": "limited"}
"""Visibilities of sources. Others are private."""


class SourceRepository(msgspec.Struct, frozen=True):
    """A repository of a Gitea or GitHub."""

    name: str
    description: str | None = ""
    private: bool = True


class _Project(msgspec.Struct, frozen=True):
    """A project of GitLab. ``path`` is its name in addresses. Internal ones are private here."""

    path: str
    description: str | None = ""
    visibility: str = "private"


class _Organization(msgspec.Struct, frozen=True):
    """An organization of a Gitea, or a group of GitLab."""

    visibility: str = ""


class RepositoriesPage(NamedTuple):
    """A page, and the place of the next one, empty after the last page."""

    repositories: list[SourceRepository]
    following: str


class _Place(NamedTuple):
    """A page: its place at the source, the number of repositories before it, and a digest of the last names.

    Some sources answer each page with all repositories. Then names come twice.
    """

    following: str = ""
    total: int = 0
    digest: str = ""

    @classmethod
    def parse(cls, place: str) -> "_Place":
        if not place:
            return cls()
        total, digest, following = place.split(" ", 2)
        return cls(following, int(total), digest)

    def page(self, listed: list[SourceRepository], following: str) -> RepositoriesPage:
        """Return the repositories of this page. Raises SourceFailed above the limit."""
        digest = sha256("/".join(one.name for one in listed).encode("utf-8", "replace")).hexdigest()
        if digest == self.digest:
            return RepositoriesPage([], "")
        total = self.total + len(listed)
        if total > MOST_REPOSITORIES:
            raise SourceFailed("too-many")
        return RepositoriesPage(listed, f"{total} {digest} {following}" if following else "")


class SourceOrganization(Protocol):
    """An organization of a source."""

    async def visibility(self) -> Visibility:
        """Return the visibility, private if it is not known. Raises SourceFailed, SourceBusy."""
        ...

    async def repositories(self, place: str) -> RepositoriesPage:
        """Return the page at a place, empty for the first one. Raises SourceFailed, SourceBusy.

        The last page is also one that repeats the page before it.
        """
        ...


class GiteaOrganization:
    """An organization of a Gitea, Forgejo or Ingot, with pages by their numbers.

    The repositories of a private one are not private themselves.
    """

    def __init__(self, http: SourceHttp, name: str) -> None:
        self._http, self._path = http, f"/orgs/{quote(name, safe='')}"

    async def visibility(self) -> Visibility:
        answer = (await self._http.get(self._path, {}, _Organization)).value
        return _GITEA.get(answer.visibility, "private")

    async def repositories(self, place: str) -> RepositoriesPage:
        here = _Place.parse(place)
        number = int(here.following or "1")
        query: Query = {"page": number, "limit": PAGE_SIZE}
        listed = (await self._http.get(f"{self._path}/repos", query, list[SourceRepository])).value
        if len(listed) > MOST_OBJECTS:
            raise SourceFailed("forge-answer")
        return here.page(listed, str(number + 1) if listed else "")


class GogsOrganization(GiteaOrganization):
    """An organization of a Gogs, which shows all organizations to everyone."""

    async def visibility(self) -> Visibility:
        return "public"


class GithubOrganization:
    """An organization of GitHub, which shows all organizations. Its internal repositories are private."""

    def __init__(self, http: SourceHttp, name: str) -> None:
        self._pages, self._path = LinkedPages(http), f"/orgs/{quote(name, safe='')}/repos"

    async def visibility(self) -> Visibility:
        return "public"

    async def repositories(self, place: str) -> RepositoriesPage:
        here = _Place.parse(place)
        query: Query = {"type": "all", "sort": "created", "direction": "asc"}
        where = ListPage(self._path, query, here.following)
        return here.page(*await self._pages.page(where, list[SourceRepository]))


class GitlabGroup:
    """A group of GitLab, without its subgroups."""

    def __init__(self, http: SourceHttp, path: str) -> None:
        self._pages, self._path = LinkedPages(http), f"/groups/{quote(path, safe='')}"

    async def visibility(self) -> Visibility:
        answer = (await self._pages.get(self._path, _Organization, {"with_projects": "false"})).value
        return _GITLAB.get(answer.visibility, "private")

    async def repositories(self, place: str) -> RepositoriesPage:
        here = _Place.parse(place)
        query: Query = {"with_shared": "false", "order_by": "id", "sort": "asc"}
        projects, following = await self._pages.page(
            ListPage(f"{self._path}/projects", query, here.following), list[_Project]
        )
        converted = [
            SourceRepository(one.path, one.description, one.visibility != "public") for one in projects
        ]
        return here.page(converted, following)
