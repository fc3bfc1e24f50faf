"""Teams of the organizations of sources, as values.

Based on https://docs.gitea.com/api, https://docs.github.com/rest/teams (version 2022-11-28), and
https://docs.gitlab.com/api/members (version 4). A group of GitLab has no teams: each level of its members
becomes a team here.
"""

from collections.abc import Collection, Mapping
from typing import Literal, NamedTuple

import msgspec

from ingot_contracts.identity.teams import OWNERS
from ingot_contracts.identity.units import UNIT_LEVELS, UNITS
from ingot_remotes.interface.answers import Id

MOST_MEMBERS = 5_000
"""Limit of members of a team, and of repositories."""
UnitsMap = dict[str, Literal["none", "read", "write"]]
_UNIT_NAMES = tuple(f"repo.{unit}" for unit in UNITS)
_UNITS_OF_GUESTS: UnitsMap = {"repo.issues": "read"}


class SourceTeam(msgspec.Struct, frozen=True, kw_only=True):
    """A team with its rights. ``key`` identifies it at the source, ``source_id`` in its organization.

    ``units_map`` has the levels of a team without the permission admin or owner.
    """

    source_id: int
    key: str
    name: str
    description: str = ""
    permission: Literal["none", "admin", "owner"] = "none"
    units_map: UnitsMap = {}
    includes_all_repositories: bool = False
    can_create_org_repo: bool = False

    def with_level(self, level: str) -> "SourceTeam":
        """Return the team with one level in all units."""
        if level == "admin":
            return msgspec.structs.replace(self, permission="admin")
        return msgspec.structs.replace(self, units_map=levels_of(dict.fromkeys(_UNIT_NAMES, level)))


class SourceMember(NamedTuple):
    """A member of a team. The address is empty if the source does not show it."""

    id: int
    login: str
    email: str


class TeamRepository(NamedTuple):
    """A repository of a team.

    ``level`` is the level of the team in it; empty if all repositories share a level.
    """

    name: str
    level: str = ""


class TeamsPage(NamedTuple):
    """A page of teams, and the place of the next page; empty after the last page."""

    teams: list[SourceTeam]
    following: str = ""


class GiteaTeam(msgspec.Struct, frozen=True):
    id: Id
    name: str
    description: str | None = ""
    permission: str = "none"
    units: list[str] | None = None
    units_map: dict[str, str] | None = None
    includes_all_repositories: bool = False
    can_create_org_repo: bool = False

    def team(self) -> SourceTeam:
        """Return the team. A team without units, and without the permission admin or owner, has no rights."""
        is_high = self.permission in ("admin", "owner")
        levels = self.units_map or dict.fromkeys(self.units or (), self.permission)
        return SourceTeam(
            source_id=self.id,
            key=str(self.id),
            name=self.name,
            description=self.description or "",
            permission=self.permission if is_high else "none",  # type: ignore[arg-type]
            units_map={} if is_high else levels_of(levels),
            includes_all_repositories=self.includes_all_repositories,
            can_create_org_repo=self.can_create_org_repo,
        )


def levels_of(units: Mapping[str, str]) -> UnitsMap:
    """Return the levels in units that exist here. The level admin becomes write.

    Only the permission admin makes a team an administrator.
    """
    levels = UnitsMap()
    for unit, level in units.items():
        if unit in _UNIT_NAMES:
            levels[unit] = "write" if level in ("write", "admin") else "read" if level == "read" else "none"
    return levels


class GithubTeam(msgspec.Struct, frozen=True):
    """A team of GitHub. Its name here is its name in URLs, because other names may have spaces."""

    id: Id
    slug: str
    description: str | None = ""

    def team(self) -> SourceTeam:
        return SourceTeam(
            source_id=self.id, key=self.slug, name=self.slug, description=self.description or ""
        )


class GithubTeamRepository(msgspec.Struct, frozen=True):
    name: str
    permissions: dict[str, bool] = {}

    def level(self) -> str:
        if self.permissions.get("admin"):
            return "admin"
        is_writer = self.permissions.get("push") or self.permissions.get("maintain")
        return "write" if is_writer else "read"


GITHUB_OWNERS = SourceTeam(source_id=0, key="", name=OWNERS, permission="owner")
_LEVELS_OF_GITLAB: Mapping[int, SourceTeam] = {
    50: SourceTeam(source_id=50, key="50", name=OWNERS, permission="owner"),
    40: SourceTeam(source_id=40, key="40", name="Maintainers", permission="admin"),
    30: SourceTeam(source_id=30, key="30", name="Developers").with_level("write"),
    20: SourceTeam(source_id=20, key="20", name="Reporters").with_level("read"),
    10: SourceTeam(source_id=10, key="10", name="Guests", units_map=_UNITS_OF_GUESTS),
}


class GitlabMember(msgspec.Struct, frozen=True):
    """A member of a group. A membership that expires is not imported, because it would not expire here."""

    id: Id
    username: str
    access_level: int
    state: str = "active"
    expires_at: str | None = None

    def level(self) -> int:
        """Return the highest level of ``_LEVELS_OF_GITLAB`` that the member has; 0 without one.

        It is 0 for a membership that is inactive or expires.
        """
        if self.state != "active" or self.expires_at:
            return 0
        return max((one for one in _LEVELS_OF_GITLAB if one <= self.access_level), default=0)


def teams_of_levels(levels: Collection[int]) -> list[SourceTeam]:
    """Return the teams for these levels of GitLab, the highest level first."""
    return [
        msgspec.structs.replace(team, includes_all_repositories=True)
        for level, team in _LEVELS_OF_GITLAB.items()
        if level in levels
    ]


def lowest(levels: Collection[str]) -> str:
    """Return the lowest of some levels."""
    return min(levels, key=UNIT_LEVELS.index)
