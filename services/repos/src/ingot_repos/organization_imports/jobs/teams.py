"""Imports the teams of an organization: their rights, their members, and their repositories.

Each page of the list and each team is a step. identity finds a team by its import and its id at the source.
So a step may be repeated after its process was killed. Teams are imported before the repositories, and get
access when these are created. Otherwise assignees and reviewers could not read a repository when its issues
are imported.
"""

from collections.abc import Collection, Mapping
from contextlib import AbstractAsyncContextManager, suppress

import msgspec

from ingot_chassis.db.database import Database
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Denied
from ingot_contracts.identity.teams import MOST_IMPORTED_MEMBERS, ImportTeam
from ingot_remotes.forges.organizations import SourceOrganization
from ingot_remotes.interface.source import ABSENT, PersonKey, SourceFailed
from ingot_remotes.interface.teams import SourceMember, SourceTeam, TeamRepository, lowest
from ingot_repos.access.rules import grants
from ingot_repos.access.store import collaborations
from ingot_repos.catalog.store.states import ImportState
from ingot_repos.clients.identity import HttpIdentity
from ingot_repos.imports.rules.openings import SourceOpener
from ingot_repos.imports.rules.people import MappingRule, accounts_of
from ingot_repos.organization_imports import store
from ingot_repos.organization_imports.jobs.administrators import NotAdministrator, may_import
from ingot_repos.organization_imports.rules import LONGEST_NAME, Options, options_of
from ingot_repos.organization_imports.store import ImportedTeamRow, OrganizationImportRow, TeamState

MOST_TEAMS = 1_000


class BroughtTeam(SourceTeam, frozen=True, kw_only=True):
    """An imported team, and the lower-case names of its repositories at the source."""

    repositories: tuple[str, ...] = ()


class TeamImporter:
    """The steps of the job for teams. Its methods raise SourceFailed, SourceBusy, Unreadable, Unavailable."""

    def __init__(self, database: Database, identity: HttpIdentity, opener: SourceOpener) -> None:
        self._db, self._identity, self._opener = database, identity, opener

    async def has_next(self, row: OrganizationImportRow) -> bool:
        async with self._db.read() as db:
            return row.teams_place is not None or await store.next_team(db, row.id) is not None

    async def step(self, row: OrganizationImportRow) -> None:
        """List the next page of teams, or import the next team.

        Raises NotFound for a deleted organization, and NotAdministrator.
        """
        if row.teams_place is not None:
            await self._list(row, row.teams_place)
            return
        async with self._db.read() as db:
            following = await store.next_team(db, row.id)
        if following is not None:
            await self._bring(row, following)

    async def _list(self, row: OrganizationImportRow, place: str) -> None:
        try:
            async with self._open(row) as there:
                page = await there.teams(place)
        except SourceFailed as error:
            if error.fault not in ABSENT:
                raise
            async with self._db.transaction() as tx:
                await store.change_run(tx, row, teams_place=None, reason="teams")
            return
        rows = {
            one.source_id: {
                "source_id": one.source_id,
                "name": _clip(one.name),
                "team": msgspec.json.encode(_with_short_texts(one)).decode(),
            }
            for one in page.teams
        }
        async with self._db.transaction() as tx:
            if not await store.change_run(tx, row, failures=0):
                return
            added = await store.add_teams(tx, row.id, [*rows.values()])
            counts = sum(one.count for one in await store.team_counts_of(tx, [row.id]))
            if counts > MOST_TEAMS:
                raise SourceFailed("too-many")
            # Some sources answer each page with all teams.
            following = page.following if added else ""
            await store.change_run(tx, row, teams_place=following or None)

    async def _bring(self, row: OrganizationImportRow, listed: ImportedTeamRow) -> None:
        team, options = msgspec.json.decode(listed.team, type=SourceTeam), options_of(row)
        try:
            members, repositories = await self._read(row, team)
        except SourceFailed as error:
            if error.fault not in ABSENT:
                raise
            async with self._db.transaction() as tx:
                if await store.change_run(tx, row, failures=0):
                    await store.end_team(tx, listed.id, state=TeamState.REFUSED, reason="source")
            return
        if not await self._may_go_on(row):
            return
        if levels := [one.level for one in repositories if one.level]:
            team = team.with_level(lowest(levels))
        accounts, addresses = await self._accounts_of(row, options, members)
        team_id, reason, joined = await self._create(row, options, team, accounts.values(), addresses)
        if team_id:
            await self._grant(row, options, team, repositories, team_id)
        absent = [
            (one.id, _clip(one.login)) for one in members if accounts.get((one.id, one.login)) not in joined
        ]
        async with self._db.transaction() as tx:
            state = TeamState.DONE if team_id else TeamState.REFUSED
            names = tuple(one.name.lower() for one in repositories)
            brought = BroughtTeam(**msgspec.structs.asdict(team), repositories=names)
            values = {
                "state": state,
                "reason": reason,
                "team": msgspec.json.encode(brought).decode(),
                "team_id": team_id or None,
                "members": len(joined),
            }
            if await store.change_run(tx, row, failures=0) and await store.end_team(tx, listed.id, **values):
                await store.add_absent_members(tx, row.id, dict.fromkeys(absent))

    async def _may_go_on(self, row: OrganizationImportRow) -> bool:
        """Return False if the import has ended since ``row`` was read. Raises NotAdministrator."""
        async with self._db.read() as db:
            present = await store.get(db, row.id)
        if present is None or (present.state, present.repeat) != (ImportState.RUNNING, row.repeat):
            return False
        if not await may_import(self._identity, row.user_id):
            raise NotAdministrator
        return True

    def _open(self, row: OrganizationImportRow) -> AbstractAsyncContextManager[SourceOrganization]:
        """Open the organization at the source. All steps of an import share the people that were fetched."""
        return self._opener.open_organization(row.service, row.site, row.source, row.sealed, import_id=row.id)

    async def _read(
        self, row: OrganizationImportRow, team: SourceTeam
    ) -> tuple[list[SourceMember], list[TeamRepository]]:
        async with self._open(row) as there:
            members = await there.members(team)
            if team.includes_all_repositories or team.permission == "owner":
                return members, []
            return members, await there.team_repositories(team)

    async def _accounts_of(
        self, row: OrganizationImportRow, options: Options, members: list[SourceMember]
    ) -> tuple[dict[PersonKey, int], dict[int, str]]:
        """Return the ids of the accounts of members, by their keys at the source.

        Also return the addresses, by account id, of members who were found by their address only. Members are
        found like authors.
        """
        rule = MappingRule(row.user_id, True, options.map_logins, options.people)
        addresses = {(one.id, one.login): one.email for one in members}
        async with self._db.read() as db:
            accounts = await accounts_of(db, addresses, rule)
            by_name = await accounts_of(db, dict.fromkeys(addresses, ""), rule)
        is_named = set(by_name.values())
        by_address = {one: addresses[key] for key, one in accounts.items() if one not in is_named}
        return accounts, by_address

    async def _create(
        self,
        row: OrganizationImportRow,
        options: Options,
        team: SourceTeam,
        account_ids: Collection[int],
        addresses: Mapping[int, str],
    ) -> tuple[int, str, set[int]]:
        """Create the team at identity, unless it exists, and add members.

        Return its id, the reason why it was refused, and the ids of the accounts that joined. The id of a
        refused team is 0.
        """
        new = ImportTeam(
            import_id=row.id,
            source_id=max(team.source_id, 0),
            name=team.name,
            description=team.description,
            permission=team.permission,
            units_map=team.units_map,
            includes_all_repositories=team.includes_all_repositories,
            can_create_org_repo=team.can_create_org_repo,
            is_new=options.is_new,
            requested_by=row.user_id,
        )
        joined, team_id, reason = set[int](), 0, ""
        ordered = sorted(set(account_ids))
        for start in range(0, max(len(ordered), 1), MOST_IMPORTED_MEMBERS):
            chunk = ordered[start : start + MOST_IMPORTED_MEMBERS]
            of_chunk = {one: addresses[one] for one in chunk if one in addresses}
            part = msgspec.structs.replace(new, members=chunk, addresses=of_chunk)
            answer = await self._identity.import_team(row.organization_id, part)
            team_id, reason = answer.id, answer.reason
            if not team_id:
                break
            joined.update(answer.members)
        return team_id, reason, joined

    async def _grant(
        self,
        row: OrganizationImportRow,
        options: Options,
        team: SourceTeam,
        repositories: list[TeamRepository],
        team_id: int,
    ) -> None:
        """Give the team access to repositories that were imported before it.

        Repositories that the organization no longer owns are skipped.
        """
        if _has_all(team, options):
            return
        async with self._db.read() as db:
            brought = await store.repositories_of(db, row.id, row.organization_id)
        names = (
            brought.keys() if team.includes_all_repositories else {one.name.lower() for one in repositories}
        )
        for name in sorted(brought.keys() & names):
            with suppress(Denied):  # the repository has too many teams
                async with self._db.transaction() as tx:
                    if not await store.change_run(tx, row, failures=0):
                        return  # cancelled
                    await grants.add_team(tx, brought[name], team_id)


async def grant_teams(tx: Tx, row: OrganizationImportRow, name: str, repository_id: int) -> None:
    """Give imported teams access to a new repository if they have access to it at the source."""
    options, is_changed = options_of(row), False
    for listed in await store.list_teams_with(tx, row.id, name.lower()):
        team = msgspec.json.decode(listed.team, type=BroughtTeam)
        has_it = team.includes_all_repositories or name.lower() in team.repositories
        if listed.team_id and has_it and not _has_all(team, options):
            await collaborations.grant(tx, repository_id, listed.team_id)
            is_changed = True
    if is_changed:
        await grants.announce_access(tx, repository_id)


def _has_all(team: SourceTeam, options: Options) -> bool:
    """Return whether a team has access to all repositories of its organization without a grant."""
    return team.permission == "owner" or (team.includes_all_repositories and options.is_new)


def _with_short_texts(team: SourceTeam) -> SourceTeam:
    return msgspec.structs.replace(team, name=_clip(team.name), description=_clip(team.description))


def _clip(text: str) -> str:
    return text.replace("\0", "")[:LONGEST_NAME]
