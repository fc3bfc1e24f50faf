"""Uploaded files: rules for their names, and deletion of their bytes.

A file is stored first and gets its row afterwards. The bytes of a deleted file are deleted by a job. Bytes
without a row after a day are orphans, which a sweep deletes.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from datetime import timedelta

import msgspec
import structlog

from ingot_chassis.clock import now
from ingot_chassis.db.database import Database
from ingot_chassis.db.driver import Executor
from ingot_chassis.errors import ApiError, Invalid
from ingot_chassis.jobs.jobs import Job
from ingot_chassis.jobs.workers import Work
from ingot_chassis.objects.store import ObjectStore

log = structlog.get_logger()

FREE = "free_objects"
MOST_NAME_BYTES = 255
"""Maximum bytes of a name: the limit of file systems on which users save files."""
ORPHAN_AGE = timedelta(days=1)
"""Age of an orphan. Uploads take less time, so an older object without a row never gets one."""
SWEEP_SECONDS = 86_400.0

ExistingUuids = Callable[[Executor, Collection[str]], Awaitable[set[str]]]
"""Returns the uuids that have rows."""


class FreeObjects(msgspec.Struct, frozen=True):
    """A job that deletes the objects of deleted files."""

    keys: list[str]


class FileLimits(msgspec.Struct, frozen=True):
    """Limits of uploads: bytes of a file, and ``most`` files per object.

    A name must end in one of ``endings``. If there are none, all types are allowed.
    """

    max_bytes: int
    most: int
    endings: tuple[str, ...] = ()


def check_file_name(name: str, limits: FileLimits) -> str:
    """Return the name if a file may have it. Raises Invalid."""
    if not name:
        raise Invalid.field("name", "required", "is required")
    if len(name.encode("utf-8", "surrogatepass")) > MOST_NAME_BYTES:
        raise Invalid.field("name", "length", f"may have at most {MOST_NAME_BYTES} bytes")
    if name in (".", "..") or not name.isprintable() or "/" in name or "\\" in name or name != name.strip():
        raise Invalid.field(
            "name", "characters", "must be a file name, without slashes and control characters"
        )
    if limits.endings and not name.lower().endswith(limits.endings):
        raise Invalid.field("name", "type", f"must end in one of {', '.join(limits.endings)}")
    return name


def require_room(count: int, limits: FileLimits) -> None:
    """Raise Invalid if ``count``, the number of existing files, has reached the limit."""
    if count >= limits.most:
        raise Invalid.field("attachment", "too_many", f"there are {count} files already")


class StoredFiles:
    """The objects below ``prefix``. Their keys end in the uuids of their rows."""

    def __init__(
        self, database: Database, objects: ObjectStore, prefix: str, existing_uuids: ExistingUuids
    ) -> None:
        self._db, self._objects, self._prefix = database, objects, prefix
        self._existing_uuids = existing_uuids

    def work(self) -> dict[str, Work]:
        return {FREE: self.free}

    async def free(self, job: Job) -> None:
        """Delete the bytes of deleted files. Idempotent."""
        await self._objects.delete(msgspec.json.decode(job.payload, type=FreeObjects).keys)

    async def sweep_for_ever(self) -> None:
        """Sweep at the start and then every day, until cancelled."""
        while True:
            try:
                await self.sweep()
            except ApiError as error:
                log.warning("orphans were not swept", prefix=self._prefix, error=error.message)
            await asyncio.sleep(SWEEP_SECONDS)

    async def sweep(self, older_than: timedelta = ORPHAN_AGE) -> None:
        """Delete objects without a row that are older than ``older_than``, and unfinished files of that age.

        Objects without a row remain if the process died before it added the row. They also remain if the row
        was deleted together with its parent.
        """
        await self._objects.remove_unfinished(older_than.total_seconds())
        before = now() - older_than
        async for page in self._objects.list(self._prefix):
            old = {one.key.rpartition("/")[2]: one.key for one in page if one.modified_at < before}
            if old:
                async with self._db.read() as db:
                    existing = await self._existing_uuids(db, list(old))
                orphans = [key for uuid, key in old.items() if uuid not in existing]
                log.info("orphans were found", prefix=self._prefix, orphans=len(orphans))
                await self._objects.delete(orphans)
