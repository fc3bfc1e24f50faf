"""Starts, presents, repeats and cancels imports of organizations."""

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from fnmatch import fnmatchcase
from uuid import uuid4

import msgspec

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Conflict, Invalid
from ingot_chassis.jobs.jobs import Jobs
from ingot_remotes.forges.organizations import SourceRepository
from ingot_remotes.interface.source import SOURCES
from ingot_repos.catalog.store import accounts
from ingot_repos.catalog.store.states import ImportState, Visibility
from ingot_repos.imports import store as sources
from ingot_repos.imports.rules import lifecycle
from ingot_repos.imports.rules.lifecycle import NewRepeat, NewSource
from ingot_repos.imports.store import Counts
from ingot_repos.organization_imports import store
from ingot_repos.organization_imports.store import (
    ImportedTeamRow,
    ListedRow,
    ListedState,
    OrganizationImportRow,
    TeamState,
)
from ingot_repos.placement.rules.job_kinds import job_kind
from ingot_repos.presentation.rules.announcements import current_row
from ingot_repos.presentation.rules.presenter import Presenter
from ingot_repos.remotes.rules.reasons import reason_text
from ingot_repos.remotes.rules.urls import RemoteUrl, parse_remote_url

IMPORT_ORGANIZATION = "import_organization"
"""The kind of the job of a first run."""
REPEAT_ORGANIZATION = "repeat_organization"
"""The kind of the job of a repeat. Workers of earlier releases would only bring what is new."""
REASSIGN_ORGANIZATION = "reassign_organization"
"""The kind of the job that gives people what they did in all repositories of an import."""
LONGEST_NAME = 255
_BY_VISIBILITY: tuple[str, ...] = ("private", "limited", "public")
_STATUS_OF_TEAM: Mapping[TeamState, str] = {
    TeamState.LISTED: "waiting",
    TeamState.DONE: "done",
    TeamState.REFUSED: "failed",
}
_SEGMENT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
REASONS: Mapping[str, str] = {
    "taken": "the organization has a repository of this name already",
    "name": "no repository may have this name here",
    "gone": "the organization here was deleted",
    "teams": "the source does not show its teams to the owner of the credentials",
    "owner": "the repository has another owner now",
    "not-repeated": "the import of the repository cannot be repeated",
    "administrator": "who began the import is no longer an administrator who may sign in",
}
"""Texts for reasons that are not about remotes."""
TEAM_REASONS: Mapping[str, str] = {
    "taken": "the organization has a team of this name already, which keeps its rights and members",
    "name": "no team may have this name here",
    "owners": "the organization existed before the import, so its owners stay",
    "deleted": "the team was deleted here",
    "source": "the source does not show the members or the repositories of the team",
}
"""Texts for reasons why a team does not come."""


class ImportOrganization(msgspec.Struct, frozen=True):
    """The job that imports an organization."""

    import_id: int


class ReassignOrganization(msgspec.Struct, frozen=True):
    """The job that reassigns imported data of people to accounts.

    ``accounts`` has the ids of accounts by logins at the source. ``user_id`` is the administrator who made
    the request; 0 from an older release.
    """

    import_id: int
    accounts: dict[str, int]
    user_id: int = 0


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The repositories to import, by globs, and the non-git data to import, which ``source`` names.

    ``people`` and ``map_logins`` find members of teams. ``is_new``: the import created the organization.
    """

    globs: list[str]
    private: bool = False
    lfs: bool = False
    source: NewSource | None = None
    map_logins: bool = False
    people: dict[str, int] = {}
    is_new: bool = False

    def matches(self, name: str) -> bool:
        return any(fnmatchcase(name.lower(), glob.lower()) for glob in self.globs)


class ListedRepository(msgspec.Struct, frozen=True, kw_only=True):
    """A repository of an import, by its name at the source.

    ``id`` is the id of the imported repository; null before its import begins and after its deletion.
    ``status`` is the status of its own import. ``counts`` has its non-git data by kind. ``repeat`` counts the
    repeats of its import. ``conflicts`` counts objects that changed on both sides.
    """

    name: str
    id: int | None
    status: str
    phase: str = ""
    percent: int = 0
    error: str = ""
    counts: dict[str, Counts] = {}
    repeat: int = 0
    conflicts: int = 0


class ListedTeam(msgspec.Struct, frozen=True, kw_only=True):
    """A team of an import, by its name at the source. ``id`` is the id of the imported team, or null.

    ``status`` is waiting, done or failed. ``members`` counts the people who joined the imported team.
    """

    name: str
    id: int | None
    status: str
    members: int = 0
    error: str = ""


class AbsentMember(msgspec.Struct, frozen=True, kw_only=True):
    """A member of teams at the source who did not join the imported teams.

    The person has no account here, or may not join. ``teams`` counts these teams.
    """

    login: str
    id: int
    teams: int


class OrganizationImport(msgspec.Struct, frozen=True, kw_only=True):
    """The import of an organization. ``repositories`` and ``teams`` have the number for each status.

    ``is_listed``: all repositories of the source are known. ``repeat`` counts the runs after the first one.
    """

    id: int
    status: ImportState
    service: str
    original_url: str
    source: str
    organization: str
    is_listed: bool
    repositories: dict[str, int]
    teams: dict[str, int]
    error: str
    created_at: datetime
    finished_at: datetime | None
    repeat: int = 0


def options_of(row: OrganizationImportRow) -> Options:
    return msgspec.json.decode(row.options, type=Options)


def remote_of(site: str, source: str, name: str) -> RemoteUrl:
    """Return the address of a repository below the site that the administrator named. Raises Invalid.

    Addresses in responses of the source are not used, because credentials are sent to the site only.
    """
    return parse_remote_url(f"{site}/{source}/{name}.git")


def check_source(service: str, site: str, source: str) -> RemoteUrl:
    """Check the source of an import. Return an address there, for the check of the egress rules.

    Raises Invalid.
    """
    if service not in SOURCES:
        raise Invalid.field("service", "unsupported", f"is none of {', '.join(SOURCES)}")
    if not all(_SEGMENT.fullmatch(part) for part in source.split("/")) or len(source) > LONGEST_NAME:
        raise Invalid.field("source", "format", "is not the name of an organization")
    if "/" in source and service != "gitlab":
        raise Invalid.field("source", "format", "only groups of gitlab have a path")
    try:
        remote = remote_of(site, source, "x")
    except Invalid as error:
        raise Invalid.field("address", error.errors[0].code, error.errors[0].message) from None
    if remote.scheme not in ("http", "https"):
        raise Invalid.field("address", "scheme", "is not an address of http or https")
    if remote.username or remote.password:
        raise Invalid.field("address", "credentials", "may have no user name and no password")
    return remote


async def begin(tx: Tx, jobs: Jobs, shard: str, options: Options, **values: object) -> OrganizationImportRow:
    """Add an import and its job."""
    encoded = msgspec.json.encode(options).decode()
    row = await store.add(tx, shard=shard, options=encoded, **values)
    await jobs.add(tx, job_kind(IMPORT_ORGANIZATION, shard), row.id, ImportOrganization(row.id))
    return row


async def repeat(
    tx: Tx,
    jobs: Jobs,
    row: OrganizationImportRow,
    *,
    user_id: int,
    sealed: bytes | None,
    map_logins: bool,
    people: Mapping[str, int],
) -> None:
    """Repeat an import that has ended. Raises Conflict if it has not ended.

    The imports of its repositories are repeated, or restarted if they failed. New repositories are imported.
    """
    options = options_of(row)
    mapping = {"map_logins": map_logins, "people": dict(people)}
    source = options.source
    if source is not None:
        source = msgspec.structs.replace(source, maps_people=True, **mapping)
    options = msgspec.structs.replace(options, source=source, **mapping)
    values = {"user_id": user_id, "sealed": sealed, "place": "", "failures": 0}
    encoded = msgspec.json.encode(options).decode()
    if not await store.repeat(tx, row.id, options=encoded, **values):
        raise Conflict("the import has not ended")
    await jobs.add(tx, job_kind(REPEAT_ORGANIZATION, row.shard), row.id, ImportOrganization(row.id))


async def begin_again(
    tx: Tx, jobs: Jobs, presenter: Presenter, row: OrganizationImportRow, listed: ListedRow
) -> None:
    """Repeat the import of a repository, or restart one that has failed. Raises Conflict."""
    options = options_of(row)
    repository = await current_row(tx, listed.repository_id or 0)
    if listed.import_state == ImportState.DONE:
        new = NewRepeat(
            user_id=row.user_id,
            sealed=row.sealed,
            maps_people=True,
            map_logins=options.map_logins,
            people=options.people,
        )
        await lifecycle.repeat(tx, jobs, repository, new)
        return
    await lifecycle.restart(
        tx, jobs, presenter, repository, user_id=row.user_id, is_admin=True, sealed=row.sealed
    )
    people = msgspec.json.encode(options.people).decode()
    await sources.change(tx, repository.id, maps_people=True, map_logins=options.map_logins, people=people)


async def reassign(
    tx: Tx, jobs: Jobs, row: OrganizationImportRow, accounts: Mapping[str, int], *, user_id: int
) -> None:
    """Add the job that reassigns imported data to accounts, in all repositories of an import."""
    job = ReassignOrganization(row.id, dict(accounts), user_id)
    await jobs.add(tx, job_kind(REASSIGN_ORGANIZATION, row.shard), f"{row.id}:{uuid4()}", job)


async def cancel(tx: Tx, jobs: Jobs, import_id: int) -> None:
    """Cancel an import, and the running imports of its repositories. Raises Conflict if it has ended.

    Imported repositories stay.
    """
    if not await store.end(tx, import_id, ImportState.CANCELLED, "cancelled"):
        raise Conflict("the import has ended")
    for row in await store.list_unended(tx, import_id):
        if row.repository_id is not None:
            with suppress(Conflict):  # it has just ended
                await lifecycle.cancel(tx, jobs, row.repository_id)


def is_more_visible(here: Visibility, there: str) -> bool:
    """Return whether the organization here shows its repositories to more people than the source does."""
    return _BY_VISIBILITY.index(here) > _BY_VISIBILITY.index(there)


def rows_of(options: Options, listed: Collection[SourceRepository]) -> list[dict[str, object]]:
    """Return the rows for repositories of a page that match the globs."""
    names = {one.name.replace("\0", "")[:LONGEST_NAME]: one for one in listed}
    return [
        {
            "name": name,
            "description": (one.description or "").replace("\0", "")[:LONGEST_NAME],
            "private": options.private or one.private,
        }
        for name, one in names.items()
        if options.matches(name)
    ]


async def present(db: Executor, rows: Sequence[OrganizationImportRow]) -> list[OrganizationImport]:
    """Return imports for administrators, with a constant number of statements."""
    counts = defaultdict[int, dict[str, int]](dict)
    for one in await store.counts_of(db, [row.id for row in rows]):
        counts[one.import_id][one.state] = one.count
    team_counts = defaultdict[int, dict[str, int]](dict)
    for one in await store.team_counts_of(db, [row.id for row in rows]):
        team_counts[one.import_id][_STATUS_OF_TEAM[TeamState(one.state)]] = one.count
    organizations = await accounts.list_by_ids(db, {row.organization_id for row in rows})
    logins = {organization.id: organization.login for organization in organizations}
    return [
        OrganizationImport(
            id=row.id,
            status=row.state,
            service=row.service,
            original_url=f"{row.site}/{row.source}",
            source=row.source,
            organization=logins.get(row.organization_id, ""),
            is_listed=row.place is None,
            repositories=counts[row.id],
            teams=team_counts[row.id],
            error=error_text(row.reason),
            created_at=row.created_at.replace(microsecond=0),
            finished_at=row.finished_at.replace(microsecond=0) if row.finished_at else None,
            repeat=row.repeat,
        )
        for row in rows
    ]


def present_repository(row: ListedRow) -> ListedRepository:
    status = {ListedState.LISTED: "waiting", ListedState.REFUSED: "failed"}.get(row.state)
    if row.due:
        status = "waiting"
    return ListedRepository(
        name=row.name,
        id=row.repository_id,
        status=status or row.import_state or "deleted",
        phase=row.phase or "",
        percent=row.percent or 0,
        error=error_text(row.reason or row.import_reason or ""),
        counts=msgspec.json.decode(row.counts, type=dict[str, Counts]) if row.counts else {},
        repeat=row.repeat or 0,
        conflicts=row.conflicts,
    )


def present_team(row: ImportedTeamRow) -> ListedTeam:
    return ListedTeam(
        name=row.name,
        id=row.team_id,
        status=_STATUS_OF_TEAM[row.state],
        members=row.members,
        error=TEAM_REASONS.get(row.reason, ""),
    )


def error_text(reason: str) -> str:
    return REASONS.get(reason) or reason_text(reason)
