"""Organizations of sources: the lists of their repositories.

Facts are from https://docs.gitea.com/api, https://docs.github.com/rest (version 2022-11-28), and
https://docs.gitlab.com/api/groups (version 4), where an organization is a group.
"""

from typing import NamedTuple, Protocol
from urllib.parse import quote

import msgspec

from ingot_repos.imports.clients.http import SourceHttp
from ingot_repos.imports.clients.linked_pages import LinkedPages, ListPage, Query
from ingot_repos.imports.clients.source import SourceFailed

PAGE_SIZE = 50
"""The largest page of a Gitea with default settings."""
MOST_OBJECTS = 1_000
"""Limit of repositories of one page: some sources ignore the size of pages."""


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


class RepositoriesPage(NamedTuple):
    """A page, and the place of the next one, empty after the last page."""

    repositories: list[SourceRepository]
    following: str


class SourceOrganization(Protocol):
    """An organization of a source."""

    async def repositories(self, place: str) -> RepositoriesPage:
        """Return the page at a place, empty for the first one. Raises SourceFailed, SourceBusy."""
        ...


class GiteaOrganization:
    """An organization of a Gitea, Forgejo, Gogs or Ingot. A place is the number of a page."""

    def __init__(self, http: SourceHttp, name: str) -> None:
        self._http, self._path = http, f"/orgs/{quote(name, safe='')}/repos"

    async def repositories(self, place: str) -> RepositoriesPage:
        number = int(place or "1")
        query: Query = {"page": number, "limit": PAGE_SIZE}
        listed = (await self._http.get(self._path, query, list[SourceRepository])).value
        if len(listed) > MOST_OBJECTS:
            raise SourceFailed("forge-answer")
        return RepositoriesPage(listed, str(number + 1) if listed else "")


class GithubOrganization:
    """An organization of GitHub."""

    def __init__(self, http: SourceHttp, name: str) -> None:
        self._pages, self._path = LinkedPages(http), f"/orgs/{quote(name, safe='')}/repos"

    async def repositories(self, place: str) -> RepositoriesPage:
        where = ListPage(self._path, {"type": "all", "sort": "created", "direction": "asc"}, place)
        return RepositoriesPage(*await self._pages.page(where, list[SourceRepository]))


class GitlabGroup:
    """A group of GitLab, without its subgroups."""

    def __init__(self, http: SourceHttp, path: str) -> None:
        self._pages, self._path = LinkedPages(http), f"/groups/{quote(path, safe='')}/projects"

    async def repositories(self, place: str) -> RepositoriesPage:
        query: Query = {"with_shared": "false", "order_by": "id", "sort": "asc"}
        projects, following = await self._pages.page(ListPage(self._path, query, place), list[_Project])
        converted = [
            SourceRepository(one.path, one.description, one.visibility != "public") for one in projects
        ]
        return RepositoriesPage(converted, following)
