"""The response about an import and its progress."""

from datetime import datetime

import msgspec

from ingot_chassis.errors import NotFound
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.access.store import deploy_keys
from ingot_repos.catalog.store.states import ImportState
from ingot_repos.imports import store as sources
from ingot_repos.imports.rules import lifecycle as imports
from ingot_repos.imports.rules import progress
from ingot_repos.imports.store import Counts, OfferedKey, UnmappedRule
from ingot_repos.remotes import store as import_rows
from ingot_repos.remotes.rules.reasons import reason_text


class Migration(msgspec.Struct):
    """The progress of an import. ``id`` is the id of the repository. ``received`` is in bytes.

    ``percent`` is the progress of the current phase. ``counts`` has the non-git data by kind: finished
    objects, and all objects at the source, or null. ``phase`` is then the current kind. ``rate`` is in
    objects per minute. ``remaining_seconds`` is an estimate; null if the source does not count its objects.

    ``error`` also names LFS objects that the remote lacks, and the error of a mirror's last sync. Until
    ``paused_until`` the import sends no requests to its source; ``error`` is then the last failed request.
    ``repeat`` counts the repeats of the import. ``conflicts`` counts objects that changed on both sides.

    ``unmapped_rules`` lists at most 100 protection rules. They name teams, and people who had no account
    here at the time of the import, at most 20 each. Rules that were not imported are first. ``deploy_keys``
    lists keys of an imported archive that the repository does not have. They give no access until an
    administrator adds them.
    """

    id: int
    status: ImportState
    phase: str
    percent: int
    received: int
    error: str
    original_url: str
    created_at: datetime
    finished_at: datetime | None
    counts: dict[str, Counts] = {}
    rate: int | None = None
    remaining_seconds: int | None = None
    paused_until: datetime | None = None
    repeat: int = 0
    conflicts: int = 0
    unmapped_rules: list[UnmappedRule] = []
    deploy_keys: list[OfferedKey] = []


async def present_migration(request: RepositoryRequest) -> Migration:
    async with request.db.read() as db:
        row = await import_rows.get(db, request.resource.id)
        source = await sources.get(db, request.resource.id)
        report = await sources.get_report(db, request.resource.id)
        keys = sources.deploy_keys_of(report) if report is not None else []
        existing = await deploy_keys.fingerprints_of(db, request.resource.id) if keys else set[str]()
        conflicts = await sources.count_conflicts(db, request.resource.id) if row and row.repeat else 0
    if row is None:
        raise NotFound
    speed = progress.speed_of(source, row.finished_at) if source is not None else progress.Speed()
    pause = source.paused_until if source is not None and row.state == ImportState.RUNNING else None
    last_error = reason_text(source.last_reason) if source is not None and pause else ""
    return Migration(
        id=row.repository_id,
        counts=sources.counts_of(source) if source is not None else {},
        rate=speed.rate,
        remaining_seconds=speed.remaining_seconds,
        paused_until=pause.replace(microsecond=0) if pause else None,
        status=row.state,
        phase=row.phase,
        percent=row.percent,
        received=row.received,
        error=imports.error_text(row) or last_error,
        original_url=row.url if "://" in row.url else "",
        created_at=row.created_at.replace(microsecond=0),
        finished_at=row.finished_at.replace(microsecond=0) if row.finished_at else None,
        repeat=row.repeat,
        conflicts=conflicts,
        deploy_keys=[one for one in keys if one.fingerprint not in existing],
        unmapped_rules=sources.unmapped_rules_of(report) if report is not None else [],
    )
