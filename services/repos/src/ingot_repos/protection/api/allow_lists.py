"""Names and ids of users and teams in rules. The API uses names, the database stores ids."""

import asyncio
from collections.abc import Collection, Mapping
from contextlib import suppress

import msgspec

from ingot_chassis.errors import Invalid, NotFound
from ingot_contracts.identity.teams import Team
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.access.rules.account_copies import AccountCopies
from ingot_repos.access.store import collaborations
from ingot_repos.catalog.store import accounts
from ingot_repos.catalog.store.states import AccountKind
from ingot_repos.clients.identity import HttpIdentity

MOST_NAMES = 100
"""Limit of users and of teams in one list."""
MOST_TEAMS = 200
"""Limit of teams of an organization that are fetched by name."""


class Names(msgspec.Struct, frozen=True):
    """Logins and team names by id. Deleted users and teams are omitted."""

    users: Mapping[int, str]
    teams: Mapping[int, str]

    def of_users(self, ids: Collection[int]) -> list[str]:
        return [self.users[id_] for id_ in ids if id_ in self.users]

    def of_teams(self, ids: Collection[int]) -> list[str]:
        return [self.teams[id_] for id_ in ids if id_ in self.teams]


async def user_ids(request: RepositoryRequest, field: str, logins: list[str]) -> list[int]:
    """Return the ids of users. Raises Invalid for an unknown login."""
    async with request.db.read() as db:
        rows = await accounts.list_by_logins(db, logins)
    ids = {row.login.lower(): row.id for row in rows if row.kind == AccountKind.USER}
    for login in logins:
        if login.lower() not in ids:
            ids[login.lower()] = await _without_copy(request, field, login)
    return list(dict.fromkeys(ids[login.lower()] for login in logins))


async def _without_copy(request: RepositoryRequest, field: str, login: str) -> int:
    """Return the id of a user who has no local copy yet. Raises Invalid."""
    with suppress(NotFound):
        row = await request.part(AccountCopies).get_by_login(login)
        if row.kind == AccountKind.USER:
            return row.id
    raise Invalid.field(field, "unknown", f"there is no user {login!r}")


async def team_ids(request: RepositoryRequest, field: str, names: list[str]) -> list[int]:
    """Return the ids of the owner's teams with these names. Raises Invalid.

    A team must have the repository, or the caller must be its member.
    """
    if not names:
        return []
    repository = request.resource
    membership = request.principal.organizations.get(repository.row.owner_id)
    async with request.db.read() as db:
        granted = await collaborations.team_ids(db, repository.id)
    ids = dict.fromkeys([*(membership.teams if membership else ()), *granted])
    teams = await _teams(request, list(ids)[:MOST_TEAMS])
    if repository.row.owner_kind == AccountKind.ORGANIZATION:
        teams += await request.part(HttpIdentity).teams(repository.row.owner_id, everywhere=True)
    by_name = {
        team.name.lower(): team.id for team in teams if team.organization_id == repository.row.owner_id
    }
    for name in names:
        if name.lower() not in by_name:
            raise Invalid.field(field, "unknown", f"no team {name!r} has the repository")
    return list(dict.fromkeys(by_name[name.lower()] for name in names))


async def names_of(request: RepositoryRequest, users: Collection[int], teams: Collection[int]) -> Names:
    """Return the names of users and teams by id. Takes one statement, and one call to identity per team."""
    async with request.db.read() as db:
        rows = await accounts.list_by_ids(db, users)
    team_list = await _teams(request, list(teams))
    return Names({row.id: row.login for row in rows}, {team.id: team.name for team in team_list})


async def _teams(request: RepositoryRequest, ids: list[int]) -> list[Team]:
    """Return the teams with these ids. Deleted teams are omitted."""

    async def one(team_id: int) -> Team | None:
        with suppress(NotFound):
            return await request.part(HttpIdentity).team(team_id)
        return None

    return [team for team in await asyncio.gather(*map(one, ids)) if team is not None]
