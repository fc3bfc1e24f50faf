"""The job that exports an organization: it begins exports of repositories, and joins their archives.

At most ``AT_ONCE`` exports of repositories run at once. Each step is one transaction. So after a job is
killed, the next run continues without loss. The archive is written straight into the object store.
"""

import asyncio
from collections.abc import AsyncGenerator, Collection, Coroutine, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any, NamedTuple, TypeVar

import msgspec
import structlog

from ingot_chassis.clock import now
from ingot_chassis.db.database import Database
from ingot_chassis.db.driver import Executor, is_outage
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Conflict, InsufficientStorage, NotFound, TooLarge, Unavailable
from ingot_chassis.jobs.jobs import Job, Jobs, LeaseLost
from ingot_chassis.jobs.workers import Work
from ingot_chassis.objects.files import StoredFiles
from ingot_chassis.objects.store import ObjectStore
from ingot_remotes.archives.organization_layout import (
    ENTRY_BYTES,
    MOST_MANIFEST_BYTES,
    archive_path,
    encode_manifest,
    write_parts,
)
from ingot_repos.archives import store as archives
from ingot_repos.archives.rules import exports
from ingot_repos.archives.rules.exports import expiry
from ingot_repos.archives.store import ExportRow, Layout, left_out_files_of
from ingot_repos.catalog.store import repositories
from ingot_repos.catalog.store.states import ImportState
from ingot_repos.clients.identity import HttpIdentity
from ingot_repos.organization_exports import rules, store
from ingot_repos.organization_exports.rules import EXPORT_ORGANIZATION, manifest_of, object_key, part_key
from ingot_repos.organization_exports.store import OrganizationExportRow, PartRow, PartState
from ingot_repos.placement.clients import Shards
from ingot_repos.presentation.rules.presenter import Presenter

log = structlog.get_logger()
_T = TypeVar("_T")

AT_ONCE = 4
"""Exports of repositories that run at once."""
PATIENCE = timedelta(days=1)
"""Time after which repositories that cannot be exported at present are left out, if all others are done."""
WATCH_SECONDS = 2.0
"""Seconds between two looks at the exports that run."""
TRIES = 3
MOST_LEFT_OUT = 100
"""Limit of files of one repository that the report names."""


class ExportStopped(Exception):
    """The export cannot go on, and a retry would not help."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class ExportEnded(Exception):
    """The export was deleted, or it has failed, while its archive was written."""


class _Contents(NamedTuple):
    """The repositories of an archive, its manifest, and the limit of its bytes."""

    parts: Sequence[PartRow]
    manifest: bytes
    most_bytes: int


class ExportFiles(StoredFiles):
    """The archives of repositories and organizations in the object store."""

    def __init__(self, database: Database, objects: ObjectStore) -> None:
        super().__init__(database, objects, exports.OBJECTS, _existing_uuids)


async def _existing_uuids(db: Executor, uuids: Collection[str]) -> set[str]:
    return await archives.existing_uuids(db, uuids) | await store.existing_uuids(db, uuids)


class OrganizationExportJobs:
    """The worker for jobs of the kind ``rules.EXPORT_ORGANIZATION``.

    Archives of an organization have at most ``max_bytes``.
    """

    def __init__(
        self,
        jobs: Jobs,
        identity: HttpIdentity,
        objects: ObjectStore,
        shards: Shards,
        presenter: Presenter,
        *,
        shard: str,
        max_bytes: int,
    ) -> None:
        self._jobs, self._db, self._identity, self._objects = jobs, jobs.database, identity, objects
        self._shards, self._presenter, self._shard = shards, presenter, shard
        self._max_bytes = max_bytes

    def work(self) -> dict[str, Work]:
        return {EXPORT_ORGANIZATION: self.run}

    async def run(self, job: Job) -> None:
        """Do the next step of an export, and queue the job again until the export has ended.

        Raises unexpected errors, so the job is retried. In the attempt ``TRIES`` they fail the export.
        """
        async with self._db.read() as db:
            row = await store.get_running(db, job.key)
        if row is None:
            return
        try:
            pause = await self._step(job, row)
        except ExportEnded:
            pause = None
        except ExportStopped as error:
            await self._fail(row, error.reason)
            pause = None
        except (LeaseLost, Unavailable, InsufficientStorage):
            raise
        except Exception as error:
            if job.attempts < TRIES or is_outage(error):
                raise
            log.exception("export of an organization failed", export=row.uuid)
            await self._fail(row, "failed")
            pause = None
        if not job.ended:
            again_at = now() + timedelta(seconds=pause) if pause is not None else None
            async with self._db.transaction() as tx:
                await self._jobs.finish(tx, job, again_at=again_at)

    async def _fail(self, row: OrganizationExportRow, reason: str) -> None:
        async with self._db.transaction() as tx:
            await rules.fail(tx, self._jobs, row, reason)

    async def _step(self, job: Job, row: OrganizationExportRow) -> float | None:
        """Return the pause in seconds before the next step, or None at the end.

        Raises ExportStopped, ExportEnded.
        """
        await self._require_right(row)
        async with self._db.transaction() as tx:
            if not await store.change(tx, row.uuid, state=ImportState.RUNNING):
                return None
            running = 0
            for part in await store.list_in_state(tx, row.id, PartState.RUNNING):
                running += await self._follow(tx, row, part)
            await store.fail_lost(tx, row.id, row.organization_id)
            for part in await store.list_startable(tx, row.id, row.organization_id, limit=AT_ONCE - running):
                await self._begin(tx, part)
                running += 1
            if not running and now() - row.created_at > PATIENCE:
                await store.fail_waiting(tx, row.id)
            reached = await store.progress(tx, row.id)
        if reached.bytes > self._max_bytes:
            raise ExportStopped("too-large")
        if running or reached.waiting or row.labels is None:
            return WATCH_SECONDS
        async with self._db.read() as db:
            parts = await store.list_in_state(db, row.id, PartState.DONE)
        await self._write(job, row, parts)
        return None

    async def _require_right(self, row: OrganizationExportRow) -> None:
        """Raise ExportStopped unless the user who began the export still owns the organization.

        Site administrators may export every organization. Raises Unavailable.
        """
        with suppress(NotFound):
            account = await self._identity.account(row.user_id)
            if account.active:
                memberships = {} if account.admin else await self._identity.memberships(row.user_id)
                membership = memberships.get(row.organization_id)
                if account.admin or (membership is not None and membership.owner):
                    return
        raise ExportStopped("owner")

    async def _begin(self, tx: Tx, part: PartRow) -> None:
        """Begin the export of a repository, unless another one has begun."""
        repository = await repositories.get_unfiltered(tx, part.repository_id)
        if repository is None:
            return
        with suppress(Conflict):  # it stays waiting
            name = await exports.begin(tx, self._jobs, repository.id, repository.shard, Layout.ARCHIVE)
            await store.change_repository(
                tx, part.id, state=PartState.RUNNING, uuid=name, shard=repository.shard
            )

    async def _follow(self, tx: Tx, row: OrganizationExportRow, part: PartRow) -> bool:
        """Return whether the export of a repository runs. Take over its archive when it is done."""
        export = await archives.get(tx, part.repository_id)
        repository = await repositories.get_unfiltered(tx, part.repository_id)
        is_same = export is not None and export.uuid == part.uuid
        if export is None or repository is None or not is_same:  # it was cancelled
            await store.change_repository(tx, part.id, state=PartState.WAITING, uuid="")
            return False
        if repository.owner_id != row.organization_id:
            await exports.remove(tx, self._jobs, export, repository.shard)
            await store.change_repository(tx, part.id, state=PartState.FAILED, uuid="", reason="gone")
            return False
        if export.state == ImportState.RUNNING:
            return True
        await self._settle(tx, part, export)
        return False

    async def _settle(self, tx: Tx, part: PartRow, export: ExportRow) -> None:
        """Record the end of the export of a repository."""
        if export.state == ImportState.FAILED:
            values = {"state": PartState.FAILED, "uuid": "", "reason": export.reason}
            await store.change_repository(tx, part.id, **values)
        elif await archives.remove(tx, export.uuid):
            left_out = msgspec.json.encode(left_out_files_of(export)[:MOST_LEFT_OUT]).decode()
            await store.change_repository(
                tx,
                part.id,
                state=PartState.DONE,
                size=export.size,
                sha256=export.sha256,
                left_out_files=left_out,
            )

    async def _write(self, job: Job, row: OrganizationExportRow, parts: Sequence[PartRow]) -> None:
        """Write and store the archive, and end the export. Then delete the archives of the repositories.

        Raises ExportStopped, ExportEnded.
        """
        contents, key = await self._contents(row, parts), object_key(row)
        chunks = write_parts(
            ((archive_path(number), self._read(part)) for number, part in enumerate(contents.parts, 1)),
            contents.manifest,
        )
        upload = self._objects.put(key, chunks, max_bytes=contents.most_bytes)
        stored = await self._while_running(row, upload)
        await self._require_right(row)
        async with self._db.transaction() as tx:
            values = {"size": stored.size, "sha256": stored.sha256, "labels": None, **expiry()}
            has_export = await store.change(tx, row.uuid, state=ImportState.DONE, **values)
            if has_export:
                await rules.free_parts(tx, self._jobs, row)
            await self._jobs.finish(tx, job)
        if not has_export:
            await self._objects.delete([key])

    async def _contents(self, row: OrganizationExportRow, parts: Sequence[PartRow]) -> _Contents:
        """Return the contents of the archive. Raises ExportStopped, Unavailable."""
        try:
            organization = await self._identity.export_organization(row.organization_id)
        except NotFound:
            raise ExportStopped("owner") from None
        except TooLarge:
            raise ExportStopped("too-large") from None
        async with self._db.read() as db:
            grants = await store.repositories_of_teams(db, row.id)
            failed = await store.list_in_state(db, row.id, PartState.FAILED)
        manifest = encode_manifest(
            manifest_of(row, organization, self._presenter.root, parts, failed, grants)
        )
        if len(manifest) > MOST_MANIFEST_BYTES:
            raise ExportStopped("too-large")
        most_bytes = sum(part.size + ENTRY_BYTES for part in parts) + len(manifest) + ENTRY_BYTES
        return _Contents(parts, manifest, most_bytes)

    async def _read(self, part: PartRow) -> AsyncGenerator[bytes, None]:
        """Yield the bytes of the archive of a repository, which another shard may have."""
        key = part_key(part)
        is_here = part.shard == self._shard
        chunks = (
            self._objects.read(key, range(part.size))
            if is_here
            else self._shards.stored_object(part.shard, key)
        )
        async for chunk in chunks:
            yield chunk

    async def _while_running(self, row: OrganizationExportRow, work: Coroutine[Any, Any, _T]) -> _T:
        """Return the result of long work. End the work if the export ends, or if this job is cancelled.

        Raises ExportEnded, and the errors of the work.
        """
        task = asyncio.create_task(work)
        try:
            while not (await asyncio.wait([task], timeout=WATCH_SECONDS))[0]:
                await self._require_running(row)
        except BaseException:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            raise
        return await task

    async def _require_running(self, row: OrganizationExportRow) -> None:
        """Raise ExportEnded if the export has ended. An unavailable database does not end it."""
        try:
            async with self._db.read() as db:
                running = await store.get_running(db, row.uuid)
        except Exception as error:
            if not is_outage(error):
                raise
            return  # the next call checks again
        if running is None:
            raise ExportEnded
