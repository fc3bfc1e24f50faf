"""Organizations of sources: the lists of their repositories, and their teams.

Based on https://docs.gitea.com/api, https://docs.github.com/rest (version 2022-11-28), and
https://docs.gitlab.com/api/groups (version 4), where an organization is a group.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import NamedTuple, Protocol, TypeVar
from urllib.parse import quote

import msgspec

from ingot_contracts.identity.accounts import Visibility
from ingot_remotes.connections.http import SourceHttp
from ingot_remotes.connections.linked_pages import LinkedPages, ListPage, Query
from ingot_remotes.forges import github_answers, gitlab_answers
from ingot_remotes.forges.gitea_answers import UserAnswer
from ingot_remotes.interface.source import PersonKey, SourceFailed
from ingot_remotes.interface.teams import (
    GITHUB_OWNERS,
    MOST_MEMBERS,
    GiteaTeam,
    GithubTeam,
    GithubTeamRepository,
    GitlabMember,
    SourceMember,
    SourceTeam,
    TeamRepository,
    TeamsPage,
    teams_of_levels,
)

PAGE_SIZE = 50
"""The largest page of a Gitea with default settings."""
MOST_REPOSITORIES = 10_000
"""Limit of repositories of an organization, also of those that no glob matches."""
MOST_OBJECTS = 1_000
"""Limit of repositories of one page: some sources ignore the size of pages."""
_GITEA: Mapping[str, Visibility] = {"public": "public", "limited": "limited"}
_GITLAB: Mapping[str, Visibility] = {"public": "public", "internal": "limited"}
"""Visibilities of sources. Others are private."""
_T = TypeVar("_T")


class SourceRepository(msgspec.Struct, frozen=True):
    """A repository of a Gitea or GitHub."""

    name: str
    description: str | None = ""
    private: bool = True


class _Project(msgspec.Struct, frozen=True):
    """A project of GitLab. ``path`` is its name in URLs. Internal projects become private here."""

    path: str
    description: str | None = ""
    visibility: str = "private"


class _Organization(msgspec.Struct, frozen=True):
    """An organization of a Gitea, or a group of GitLab."""

    visibility: str = ""


class RepositoriesPage(NamedTuple):
    """A page of repositories, and the place of the next page; empty after the last page."""

    repositories: list[SourceRepository]
    following: str


class _Place(NamedTuple):
    """A page: its place at the source, the number of repositories before it, and a digest of the page before.

    Some sources return all repositories on every page. The digest of their names detects the repetition.
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
        """Return the page with these repositories.

        It is empty and the last page if it repeats the previous page. Raises SourceFailed above the limit.
        """
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
        """Return the visibility; private if it is unknown. Raises SourceFailed, SourceBusy."""
        ...

    async def repositories(self, place: str) -> RepositoriesPage:
        """Return the page of repositories at a place, empty for the first page.

        A page that repeats the previous page is the last page. Raises SourceFailed, SourceBusy.
        """
        ...

    async def teams(self, place: str) -> TeamsPage:
        """Return the page of teams at a place, empty for the first page. Raises SourceFailed, SourceBusy."""
        ...

    async def members(self, team: SourceTeam) -> list[SourceMember]:
        """Return the members of a team. Raises SourceFailed, SourceBusy."""
        ...

    async def team_repositories(self, team: SourceTeam) -> list[TeamRepository]:
        """Return the repositories of a team that does not have all repositories.

        Raises SourceFailed, SourceBusy.
        """
        ...


class GiteaOrganization:
    """An organization of a Gitea, Forgejo or Ingot, with pages by number.

    A private organization can have public repositories.
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

    async def teams(self, place: str) -> TeamsPage:
        number = int(place or "1")
        listed = await self._page(f"{self._path}/teams", number, list[GiteaTeam])
        return TeamsPage([one.team() for one in listed], str(number + 1) if listed else "")

    async def members(self, team: SourceTeam) -> list[SourceMember]:
        users = await self._all(f"/teams/{team.key}/members", list[UserAnswer])
        return [SourceMember(one.id, one.login, one.email or "") for one in users]

    async def team_repositories(self, team: SourceTeam) -> list[TeamRepository]:
        listed = await self._all(f"/teams/{team.key}/repos", list[SourceRepository])
        return [TeamRepository(one.name) for one in listed]

    async def _page(self, path: str, number: int, answer: type[list[_T]]) -> list[_T]:
        query: Query = {"page": number, "limit": PAGE_SIZE}
        listed = (await self._http.get(path, query, answer)).value
        if len(listed) > MOST_OBJECTS:
            raise SourceFailed("forge-answer")
        return listed

    async def _all(self, path: str, answer: type[list[_T]]) -> list[_T]:
        """Return the objects of all pages. A page that repeats the previous page is the last page."""
        items, before = list[_T](), list[_T]()
        for number in range(1, MOST_MEMBERS // PAGE_SIZE + 2):
            page = await self._page(path, number, answer)
            if not page or page == before:
                return items
            items, before = items + page, page
            if len(items) > MOST_MEMBERS:
                break
        raise SourceFailed("too-many")


class GogsOrganization(GiteaOrganization):
    """An organization of Gogs. All organizations of Gogs are public, and their teams are not listed."""

    async def visibility(self) -> Visibility:
        return "public"

    async def teams(self, place: str) -> TeamsPage:  # noqa: ARG002 - there is one page
        return TeamsPage([])


class GithubOrganization:
    """An organization of GitHub. All organizations of GitHub are public.

    Its internal repositories are private.
    """

    def __init__(self, http: SourceHttp, name: str) -> None:
        self._pages, self._path = LinkedPages(http), f"/orgs/{quote(name, safe='')}"

    async def visibility(self) -> Visibility:
        return "public"

    async def repositories(self, place: str) -> RepositoriesPage:
        here = _Place.parse(place)
        query: Query = {"type": "all", "sort": "created", "direction": "asc"}
        where = ListPage(f"{self._path}/repos", query, here.following)
        return here.page(*await self._pages.page(where, list[SourceRepository]))

    async def teams(self, place: str) -> TeamsPage:
        listed, following = await self._pages.page(
            ListPage(f"{self._path}/teams", {}, place), list[GithubTeam]
        )
        owners = [] if place else [GITHUB_OWNERS]
        return TeamsPage([*owners, *(one.team() for one in listed)], following)

    async def members(self, team: SourceTeam) -> list[SourceMember]:
        is_owners = team.permission == "owner"
        path = "/members" if is_owners else f"/teams/{quote(team.key, safe='')}/members"
        query: Query = {"role": "admin"} if is_owners else {}
        users = _limited(await self._pages.all(self._path + path, list[github_answers.UserAnswer], query))
        people = {(one.id, one.login) for one in users}
        return _members(await self._pages.addresses(people, self._read_address))

    async def _read_address(self, person: PersonKey) -> str | None:
        absent = github_answers.UserAnswer(*person)
        path = f"/users/{quote(person[1], safe='')}"
        return (await self._pages.optional(path, github_answers.UserAnswer, absent)).email

    async def team_repositories(self, team: SourceTeam) -> list[TeamRepository]:
        path = f"{self._path}/teams/{quote(team.key, safe='')}/repos"
        listed = _limited(await self._pages.all(path, list[GithubTeamRepository]))
        return [TeamRepository(one.name, one.level()) for one in listed]


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

    async def teams(self, place: str) -> TeamsPage:  # noqa: ARG002 - there is one page
        return TeamsPage(teams_of_levels({one.level() for one in await self._group_members()}))

    async def members(self, team: SourceTeam) -> list[SourceMember]:
        members = _limited([one for one in await self._group_members() if one.level() == team.source_id])
        people = {(one.id, one.username) for one in members}
        return _members(await self._pages.addresses(people, self._read_address))

    async def team_repositories(self, team: SourceTeam) -> list[TeamRepository]:  # noqa: ARG002 - all
        return []

    async def _group_members(self) -> list[GitlabMember]:
        return await self._pages.all(f"{self._path}/members", list[GitlabMember])

    async def _read_address(self, person: PersonKey) -> str | None:
        absent = gitlab_answers.UserAnswer(*person)
        answer = await self._pages.optional(f"/users/{person[0]}", gitlab_answers.UserAnswer, absent)
        return answer.public_email


def _limited(items: list[_T]) -> list[_T]:
    """Return the members or repositories of a team. Raises SourceFailed above the limit."""
    if len(items) > MOST_MEMBERS:
        raise SourceFailed("too-many")
    return items


def _members(addresses: Mapping[PersonKey, str]) -> list[SourceMember]:
    return [SourceMember(*person, address) for person, address in sorted(addresses.items())]
