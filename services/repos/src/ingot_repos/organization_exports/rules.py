"""Exports of organizations: their start, their manifest, and their end."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from uuid import uuid4

import msgspec

from ingot_chassis.clock import now
from ingot_chassis.db.database import Database
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Conflict
from ingot_chassis.jobs.jobs import Jobs
from ingot_chassis.objects.files import FREE, FreeObjects
from ingot_contracts.identity.exports import ExportedOrganization
from ingot_contracts.identity.teams import Team
from ingot_contracts.repos.events import OrganizationExportRequested
from ingot_contracts.repos.exports import ExportedLabels, LeftOutFile
from ingot_contracts.repos.imports import ImportedLabel
from ingot_remotes.archives.organization_layout import (
    ArchivedLabel,
    ArchivedMember,
    ArchivedRepository,
    ArchivedTeam,
    LeftOutRepository,
    OrganizationManifest,
    archive_path,
)
from ingot_repos.archives import store as archives
from ingot_repos.archives.rules import exports
from ingot_repos.archives.rules.exports import OBJECTS, expiry
from ingot_repos.catalog.store import repositories
from ingot_repos.catalog.store.states import ImportState
from ingot_repos.organization_exports import store
from ingot_repos.organization_exports.store import (
    OrganizationExportRow,
    PartRow,
    PartState,
    TeamRepositoryRow,
)
from ingot_repos.placement.rules.job_kinds import job_kind
from ingot_repos.remotes.rules.reasons import reason_text

EXPORT_ORGANIZATION = "export_organization"
"""The kind of the job of an export."""
LONGEST = timedelta(days=7)
"""The longest time of an export. After it, the export has failed."""
KEYS_AT_ONCE = 1_000
REASONS: Mapping[str, str] = {
    "gone": "the repository was deleted, or has another owner now",
    "waited": "the repository was copied or moved for more than a day",
    "owner": "who began the export no longer owns the organization",
    "failed": "the archive could not be written",
    "too-large": "the archive would be larger than the limit",
}
"""Texts for reasons of exports, instead of the texts for remotes."""


class ExportOrganization(msgspec.Struct, frozen=True):
    """A job that exports an organization. The key of the job names the export."""


class OrganizationExport(msgspec.Struct, frozen=True, kw_only=True):
    """The progress of an export of an organization.

    ``repositories`` counts repositories by status. The archive lacks the failed ones. ``size`` is the size of
    the file in bytes. The file is deleted at ``expires_at``.
    """

    id: int
    status: ImportState
    repositories: dict[str, int]
    size: int
    error: str
    created_at: datetime
    finished_at: datetime | None
    expires_at: datetime | None


class ExportedRepository(msgspec.Struct, frozen=True, kw_only=True):
    """A repository in an export of its organization, by its name when the export began.

    ``status`` is waiting, running, done or failed. ``size`` is the size of its archive in bytes.
    ``left_out_files`` lists files of issues and pull requests that are missing in the archive, at most 100.
    """

    id: int
    name: str
    status: PartState
    size: int
    error: str
    left_out_files: list[LeftOutFile]


def object_key(row: OrganizationExportRow) -> str:
    """Return the storage key of the archive of an organization."""
    return f"{OBJECTS}/organization-{row.organization_id}/{row.uuid}"


def part_key(part: PartRow) -> str:
    """Return the storage key of the archive of a repository."""
    return exports.key_of(part.repository_id, part.uuid)


def text_of(reason: str) -> str:
    """Return the text for a stored reason; empty without a reason."""
    return REASONS.get(reason) or reason_text(reason)


async def begin(tx: Tx, jobs: Jobs, organization_id: int, user_id: int, shard: str) -> OrganizationExportRow:
    """Begin an export of an organization. Remove ended ones, except the latest that has an archive.

    Raises Conflict while one runs.
    """
    row = await store.add(
        tx, organization_id=organization_id, user_id=user_id, shard=shard, uuid=str(uuid4())
    )
    if row is None:
        raise Conflict("an export of the organization is running; cancel it first")
    every = await store.list_all(tx, organization_id)
    latest = next((one for one in every if one.state == ImportState.DONE), None)
    for earlier in every:
        if earlier is not latest and earlier.id != row.id:
            await remove(tx, jobs, earlier)
    await store.add_repositories(tx, row.id, organization_id)
    tx.emit(OrganizationExportRequested(organization_id=organization_id, name=row.uuid), key=organization_id)
    await jobs.add(tx, job_kind(EXPORT_ORGANIZATION, shard), row.uuid, ExportOrganization())
    return row


async def remove(tx: Tx, jobs: Jobs, row: OrganizationExportRow) -> None:
    """Delete an export, which may be running, and its archives. Do nothing if it was deleted."""
    if not await store.lock(tx, row.uuid):
        return
    await free_parts(tx, jobs, row)
    await store.remove(tx, row.uuid)
    await _free(tx, jobs, row.shard, [object_key(row)])


async def remove_all(tx: Tx, jobs: Jobs, organization_id: int) -> None:
    """Delete all exports of an organization and their archives."""
    for row in await store.list_all(tx, organization_id):
        await remove(tx, jobs, row)


async def fail(tx: Tx, jobs: Jobs, row: OrganizationExportRow, reason: str) -> None:
    """Fail a running export, and delete its archives. Do nothing if it has ended."""
    if await store.change(tx, row.uuid, state=ImportState.FAILED, reason=reason, **expiry()):
        await free_parts(tx, jobs, row)
        await _free(tx, jobs, row.shard, [object_key(row)])


async def free_parts(tx: Tx, jobs: Jobs, row: OrganizationExportRow) -> None:
    """Delete the archives of repositories, and cancel their running exports.

    The caller has locked the row of the export.
    """
    keys = defaultdict[str, list[str]](list)
    for part in await store.list_stored(tx, row.id):
        if part.state == PartState.DONE:
            keys[part.shard].append(part_key(part))
            continue
        running = await archives.get(tx, part.repository_id)
        repository = await repositories.get_unfiltered(tx, part.repository_id)
        if running is not None and repository is not None and running.uuid == part.uuid:
            await exports.remove(tx, jobs, running, repository.shard)
    await store.forget_archives(tx, row.id)
    for shard, of_shard in keys.items():
        await _free(tx, jobs, shard, of_shard)


async def _free(tx: Tx, jobs: Jobs, shard: str, keys: Sequence[str]) -> None:
    for start in range(0, len(keys), KEYS_AT_ONCE):
        some = list(keys[start : start + KEYS_AT_ONCE])
        await jobs.add(tx, job_kind(FREE, shard), some[0], FreeObjects(some))


async def expire(database: Database, jobs: Jobs, shard: str) -> None:
    """Delete the exports of a shard that have expired, and fail those that run longer than ``LONGEST``."""
    async with database.transaction() as tx:
        for row in await store.list_stale(tx, shard, now() - LONGEST):
            await fail(tx, jobs, row, "failed")
        for row in await store.list_expired(tx, shard, now()):
            await remove(tx, jobs, row)


async def store_labels(tx: Tx, jobs: Jobs, sent: ExportedLabels) -> bool:
    """Store the labels that issues sends. Return False if the export has ended."""
    row = await store.get_running(tx, sent.name)
    if row is None:
        return False
    if sent.is_too_large:
        await fail(tx, jobs, row, "too-large")
        return False
    return await store.change(tx, row.uuid, labels=msgspec.json.encode(sent.labels).decode())


async def present(db: Executor, rows: Collection[OrganizationExportRow]) -> list[OrganizationExport]:
    """Return exports in the form of the API."""
    counts = defaultdict[int, dict[str, int]](lambda: dict.fromkeys(PartState, 0))
    for one in await store.counts_of(db, [row.id for row in rows]):
        counts[one.export_id][one.state] = one.count
    return [
        OrganizationExport(
            id=row.id,
            status=row.state,
            repositories=counts[row.id],
            size=row.size,
            error=text_of(row.reason),
            created_at=row.created_at.replace(microsecond=0),
            finished_at=row.finished_at.replace(microsecond=0) if row.finished_at else None,
            expires_at=row.expires_at.replace(microsecond=0) if row.expires_at else None,
        )
        for row in rows
    ]


def present_repository(part: PartRow) -> ExportedRepository:
    return ExportedRepository(
        id=part.repository_id,
        name=part.name,
        status=part.state,
        size=part.size,
        error=text_of(part.reason),
        left_out_files=msgspec.json.decode(part.left_out_files, type=list[LeftOutFile]),
    )


def manifest_of(
    row: OrganizationExportRow,
    organization: ExportedOrganization,
    root: str,
    parts: Sequence[PartRow],
    failed: Sequence[PartRow],
    grants: Sequence[TeamRepositoryRow],
) -> OrganizationManifest:
    """Return the manifest of an archive of an organization, whose labels have arrived.

    ``parts`` are the repositories in the archive, ``failed`` the others. ``root`` is the address of the site.
    """
    of_team = defaultdict[int, list[str]](list)
    for one in grants:
        of_team[one.team_id].append(one.name)
    return OrganizationManifest(
        created_at=now(),
        url=f"{root}{organization.name}",
        name=organization.name,
        full_name=organization.full_name,
        description=organization.description,
        website=organization.website,
        location=organization.location,
        email=organization.email,
        visibility=organization.visibility,
        teams=[
            _team(team, organization.members.get(team.id, []), of_team[team.id])
            for team in organization.teams
        ],
        labels=list(_labels(row)),
        repositories=[
            ArchivedRepository(name=part.name, path=archive_path(number), sha256=part.sha256)
            for number, part in enumerate(parts, 1)
        ],
        left_out=[LeftOutRepository(name=part.name, error=text_of(part.reason)) for part in failed],
    )


def _team(team: Team, logins: Sequence[str], names: Sequence[str]) -> ArchivedTeam:
    has_all = team.includes_all_repositories or team.permission == "owner"
    return ArchivedTeam(
        name=team.name,
        description=team.description,
        permission=team.permission,
        units_map=team.units_map,
        includes_all_repositories=team.includes_all_repositories,
        can_create_org_repo=team.can_create_org_repo,
        members=[ArchivedMember(login) for login in logins],
        repositories=[] if has_all else list(names),
    )


def _labels(row: OrganizationExportRow) -> Iterator[ArchivedLabel]:
    for one in msgspec.json.decode(row.labels or "[]", type=list[ImportedLabel]):
        yield ArchivedLabel(
            name=one.name,
            color=one.color,
            description=one.description,
            exclusive=one.exclusive,
            is_archived=one.is_archived,
        )
