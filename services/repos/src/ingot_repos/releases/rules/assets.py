"""Release assets: upload, rename and deletion."""

import uuid
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable
from datetime import datetime

from ingot_chassis.clock import now
from ingot_chassis.db.database import Database
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import ApiError, NotFound
from ingot_chassis.jobs.jobs import Jobs
from ingot_chassis.objects.files import (
    FREE,
    FileLimits,
    FreeObjects,
    StoredFiles,
    check_file_name,
    require_room,
)
from ingot_chassis.objects.store import ObjectStore
from ingot_repos.placement.rules.job_kinds import job_kind
from ingot_repos.releases.store import assets as release_assets
from ingot_repos.releases.store import releases
from ingot_repos.releases.store.assets import AssetRow
from ingot_repos.releases.store.releases import ReleaseRow

OBJECTS = "release-assets"
"""The prefix of the storage keys of all release assets."""


BeforeUpload = Callable[[Tx, str], Awaitable[None]]
"""A step of a transaction before it adds an uploaded file. It gets the uuid of the file."""


def object_key(repository_id: int, asset_uuid: str) -> str:
    """Return the storage key of an asset."""
    return f"{OBJECTS}/{repository_id}/{asset_uuid}"


class AssetEditor:
    """An editor of release assets."""

    def __init__(self, database: Database, jobs: Jobs, objects: ObjectStore, limits: FileLimits) -> None:
        self._db, self._jobs, self._objects, self._limits = database, jobs, objects, limits

    async def upload(
        self,
        release: ReleaseRow,
        uploader_id: int,
        name: str,
        chunks: AsyncIterable[bytes],
        length: int | None,
        *,
        created_at: datetime | None = None,
        replaced: int = 0,
        before: BeforeUpload | None = None,
    ) -> AssetRow:
        """Store a file and add it to a release. Opens its own transactions.

        ``created_at`` is now by default. ``before`` is called in the transaction that adds the file. It must
        delete ``replaced`` other files. Raises Invalid, TooLarge and BadRequest, and NotFound if the release
        was deleted during the upload.
        """
        check_file_name(name, self._limits)
        async with self._db.read() as db:
            require_room(await release_assets.count(db, release.id) - replaced, self._limits)
        asset_uuid = str(uuid.uuid4())
        key = object_key(release.repository_id, asset_uuid)
        stored = await self._objects.put(key, chunks, max_bytes=self._limits.max_bytes, length=length)
        try:
            async with self._db.transaction() as tx:
                if not await releases.lock_for_update(tx, release.id):
                    raise NotFound
                if before is not None:
                    await before(tx, asset_uuid)
                require_room(await release_assets.count(tx, release.id), self._limits)
                asset_id = await release_assets.add(
                    tx,
                    release_id=release.id,
                    uuid=asset_uuid,
                    name=name,
                    size=stored.size,
                    sha256=stored.sha256,
                    uploader_id=uploader_id,
                    created_at=created_at or now(),
                )
                return await self._existing(tx, release.id, asset_id)
        except ApiError as refusal:
            # Only a file that was certainly not committed is removed at once.
            if refusal.status < 500:
                await self._objects.delete([key])
            raise

    async def rename(self, tx: Tx, row: AssetRow, name: str) -> AssetRow:
        """Rename an asset and return the new row. Raises Invalid."""
        await release_assets.rename(tx, row.id, check_file_name(name, self._limits))
        return await self._existing(tx, row.release_id, row.id)

    async def delete(self, tx: Tx, shard: str, row: AssetRow) -> None:
        """Delete an asset; a job deletes its bytes. Raises NotFound if it no longer exists."""
        if not await release_assets.remove(tx, row.id):
            raise NotFound
        await free(tx, self._jobs, shard, [row])

    async def _existing(self, tx: Tx, release_id: int, asset_id: int) -> AssetRow:
        row = await release_assets.get(tx, release_id, asset_id)
        if row is None:
            raise NotFound
        return row


async def free(tx: Tx, jobs: Jobs, shard: str, rows: Iterable[AssetRow]) -> None:
    """Schedule a job that deletes the bytes of assets that this transaction deletes."""
    keys = [object_key(row.repository_id, row.uuid) for row in rows]
    if keys:
        await jobs.add(tx, job_kind(FREE, shard), keys[0], FreeObjects(keys))


class AssetFiles(StoredFiles):
    """The bytes of release assets in the object store."""

    def __init__(self, database: Database, objects: ObjectStore) -> None:
        super().__init__(database, objects, OBJECTS, release_assets.existing_uuids)
