"""Users and teams by name, as rules of branches and tags name them on the wire; they are stored by id."""

import asyncio
from collections.abc import Collection, Mapping
from contextlib import suppress

import msgspec

from ingot_chassis.errors import Invalid, NotFound
from ingot_contracts.identity import Team
from ingot_repos.api.request import RepositoryRequest
from ingot_repos.store import accounts, collaborations
from ingot_repos.store.states import AccountKind

MOST_NAMES = 100
"""Users, and teams, in one list."""
MOST_TEAMS = 200
"""Teams of an organization that are asked for by name."""


class Names(msgspec.Struct, frozen=True):
    """Login and name by id; what was deleted is not in it."""

    users: Mapping[int, str]
    teams: Mapping[int, str]

    def of_users(self, ids: Collection[int]) -> list[str]:
        return [self.users[id_] for id_ in ids if id_ in self.users]

    def of_teams(self, ids: Collection[int]) -> list[str]:
        return [self.teams[id_] for id_ in ids if id_ in self.teams]


async def user_ids(request: RepositoryRequest, field: str, logins: list[str]) -> list[int]:
    """The ids of users. Raises Invalid for a name that no user has."""
    async with request.db.read() as db:
        rows = await accounts.list_by_logins(db, logins)
    ids = {row.login.lower(): row.id for row in rows if row.kind == AccountKind.USER}
    for login in logins:
        if login.lower() not in ids:
            ids[login.lower()] = await _without_copy(request, field, login)
    return list(dict.fromkeys(ids[login.lower()] for login in logins))


async def _without_copy(request: RepositoryRequest, field: str, login: str) -> int:
    """The id of a user of whom there is no copy yet. Raises Invalid."""
    with suppress(NotFound):
        row = await request.components.accounts.get_by_login(login)
        if row.kind == AccountKind.USER:
            return row.id
    raise Invalid.field(field, "unknown", f"there is no user {login!r}")


async def team_ids(request: RepositoryRequest, field: str, names: list[str]) -> list[int]:
    """The ids of teams of the owner that have the repository, or in which the caller is. Raises Invalid."""
    if not names:
        return []
    repository = request.resource
    membership = request.principal.organizations.get(repository.row.owner_id)
    async with request.db.read() as db:
        granted = await collaborations.team_ids(db, repository.id)
    ids = dict.fromkeys([*(membership.teams if membership else ()), *granted])
    teams = await _teams(request, list(ids)[:MOST_TEAMS])
    if repository.row.owner_kind == AccountKind.ORGANIZATION:
        teams += await request.components.identity.teams(repository.row.owner_id, everywhere=True)
    by_name = {
        team.name.lower(): team.id for team in teams if team.organization_id == repository.row.owner_id
    }
    for name in names:
        if name.lower() not in by_name:
            raise Invalid.field(field, "unknown", f"no team {name!r} has the repository")
    return list(dict.fromkeys(by_name[name.lower()] for name in names))


async def names_of(request: RepositoryRequest, users: Collection[int], teams: Collection[int]) -> Names:
    """The names of all of these: one statement, and identity for each team."""
    async with request.db.read() as db:
        rows = await accounts.list_by_ids(db, users)
    team_list = await _teams(request, list(teams))
    return Names({row.id: row.login for row in rows}, {team.id: team.name for team in team_list})


async def _teams(request: RepositoryRequest, ids: list[int]) -> list[Team]:
    """The teams that are still there."""

    async def one(team_id: int) -> Team | None:
        with suppress(NotFound):
            return await request.components.identity.team(team_id)
        return None

    return [team for team in await asyncio.gather(*map(one, ids)) if team is not None]
