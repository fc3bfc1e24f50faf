"""Files that users upload: which names they may have, and how the bytes of deleted ones are freed.

A file is stored first and gets its row afterwards. A deleted one leaves its bytes to a job. Bytes that have no row after a
day are orphans, which a sweep removes.
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
"""What file systems allow, where downloaders keep the file."""
ORPHAN_AGE = timedelta(days=1)
"""No upload takes longer, so an older object without a row never gets one."""
SWEEP_SECONDS = 86_400.0

ExistingUuids = Callable[[Executor, Collection[str]], Awaitable[set[str]]]
"""Which of these uuids have rows."""


class FreeObjects(msgspec.Struct, frozen=True):
    """The job that removes the objects of deleted files."""

    keys: list[str]


class FileLimits(msgspec.Struct, frozen=True):
    """What may be uploaded, and how many files one thing may have. Without ``endings`` of names all types are allowed."""

    max_bytes: int
    most: int
    endings: tuple[str, ...] = ()


def check_file_name(name: str, limits: FileLimits) -> str:
    """The name, if a file may have it. Raises Invalid."""
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
    """Raises Invalid when one thing has ``count`` files and may have no more."""
    if count >= limits.most:
        raise Invalid.field("attachment", "too_many", f"there are {count} files already")


class StoredFiles:
    """The objects below ``prefix``: their keys end in the uuids of their rows."""

    def __init__(
        self, database: Database, objects: ObjectStore, prefix: str, existing_uuids: ExistingUuids
    ) -> None:
        self._db, self._objects, self._prefix = database, objects, prefix
        self._existing_uuids = existing_uuids

    def work(self) -> dict[str, Work]:
        return {FREE: self.free}

    async def free(self, job: Job) -> None:
        """Remove the bytes of deleted files. Idempotent."""
        await self._objects.delete(msgspec.json.decode(job.payload, type=FreeObjects).keys)

    async def sweep_for_ever(self) -> None:
        """Sweep at the start and every day."""
        while True:
            try:
                await self.sweep()
            except ApiError as error:
                log.warning("orphans were not swept", prefix=self._prefix, error=error.message)
            await asyncio.sleep(SWEEP_SECONDS)

    async def sweep(self, older_than: timedelta = ORPHAN_AGE) -> None:
        """Remove what has no row: its process died before it was added, or the row went with another one."""
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
