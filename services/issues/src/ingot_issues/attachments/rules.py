"""Files of issues and comments: storing, renaming and deleting.

If an issue, comment or repository is deleted, a sweep for orphans deletes the bytes of its files.
"""

import uuid
from collections.abc import AsyncGenerator, AsyncIterable
from datetime import datetime
from typing import NamedTuple

from ingot_chassis.clock import now
from ingot_chassis.db.database import Database
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import ApiError, NotFound
from ingot_chassis.jobs.jobs import Jobs
from ingot_chassis.objects.files import FREE, FileLimits, FreeObjects, check_file_name, require_room
from ingot_chassis.objects.store import ObjectStore
from ingot_contracts.attachments import Attachment
from ingot_contracts.repos.repositories import Repository
from ingot_issues.attachments import store as attachments
from ingot_issues.attachments.store import AttachedFile, AttachmentRow, attached_files
from ingot_issues.records.rules.presenter import Presenter

OBJECTS = "attachments"
"""The prefix of the storage keys of all files."""
UNKNOWN_TYPE = "application/octet-stream"
_IMAGES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
_SNIFFED = 16


class Place(NamedTuple):
    """The owner of a file: an issue, or one of its comments."""

    repository_id: int
    issue_id: int
    comment_id: int | None = None


def object_key(repository_id: int, file_uuid: str) -> str:
    """Return the key of the object with the bytes of a file."""
    return f"{OBJECTS}/{repository_id}/{file_uuid}"


def image_type(start: bytes) -> str:
    """Return the media type of an image by its first bytes; ``UNKNOWN_TYPE`` if browsers may not show it."""
    if start[:4] == b"RIFF" and start[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for magic, kind in _IMAGES if start.startswith(magic)), UNKNOWN_TYPE)


class AttachmentEditor:
    """Use cases that change the files of issues and comments."""

    def __init__(self, database: Database, jobs: Jobs, objects: ObjectStore, limits: FileLimits) -> None:
        self._db, self._jobs, self.objects, self.limits = database, jobs, objects, limits

    async def upload(
        self,
        place: Place,
        uploader_id: int,
        name: str,
        chunks: AsyncIterable[bytes],
        length: int | None,
        *,
        file_uuid: str = "",
        created_at: datetime | None = None,
    ) -> AttachmentRow:
        """Store a file and add its row. No transaction is open during the upload of the bytes.

        For an imported file the caller sets ``file_uuid`` and ``created_at``.

        Raises Invalid, TooLarge, BadRequest, and NotFound if the issue or comment was deleted since.
        """
        check_file_name(name, self.limits)
        issue_id, comment_id = place.issue_id, place.comment_id
        async with self._db.read() as db:
            require_room(await attachments.count(db, issue_id, comment_id), self.limits)
        file_uuid, start = file_uuid or str(uuid.uuid4()), bytearray()
        key = object_key(place.repository_id, file_uuid)
        stored = await self.objects.put(
            key, _copy_start(chunks, start), max_bytes=self.limits.max_bytes, length=length
        )
        try:
            async with self._db.transaction() as tx:
                if not await attachments.lock_issue(tx, issue_id, comment_id):
                    raise NotFound
                require_room(await attachments.count(tx, issue_id, comment_id), self.limits)
                attachment_id = await attachments.add(
                    tx,
                    issue_id=issue_id,
                    comment_id=comment_id,
                    uuid=file_uuid,
                    name=name,
                    size=stored.size,
                    sha256=stored.sha256,
                    media_type=image_type(bytes(start)),
                    uploader_id=uploader_id,
                    created_at=created_at or now(),
                )
                return await self._existing(tx, issue_id, comment_id, attachment_id)
        except ApiError as refusal:
            # The object is deleted at once only if its row was certainly not committed.
            if refusal.status < 500:
                await self.objects.delete([key])
            raise

    async def rename(self, tx: Tx, row: AttachmentRow, name: str) -> AttachmentRow:
        """Rename a file and return the new row. Raises Invalid, NotFound."""
        await attachments.rename(tx, row.id, check_file_name(name, self.limits))
        return await self._existing(tx, row.issue_id, row.comment_id, row.id)

    async def delete(self, tx: Tx, row: AttachmentRow) -> None:
        """Delete the row of a file. A job deletes its bytes. Raises NotFound if it no longer exists."""
        if not await attachments.remove(tx, row.id):
            raise NotFound
        key = object_key(row.repository_id, row.uuid)
        await self._jobs.add(tx, FREE, key, FreeObjects([key]))

    async def _existing(
        self, tx: Tx, issue_id: int, comment_id: int | None, attachment_id: int
    ) -> AttachmentRow:
        row = await attachments.get(tx, issue_id, comment_id, attachment_id)
        if row is None:
            raise NotFound
        return row


async def _copy_start(chunks: AsyncIterable[bytes], start: bytearray) -> AsyncGenerator[bytes, None]:
    """Yield the chunks, and copy the first bytes of the file to ``start``."""
    async for chunk in chunks:
        if len(start) < _SNIFFED:
            start += chunk[: _SNIFFED - len(start)]
        yield chunk


def attachment_view(
    presenter: Presenter, row: AttachmentRow | AttachedFile, repository: Repository
) -> Attachment:
    """Return a file in the form of the API."""
    return Attachment(
        id=row.id,
        uuid=row.uuid,
        name=row.name,
        size=row.size,
        download_count=row.download_count,
        created_at=row.created_at.replace(microsecond=0),
        browser_download_url=f"{presenter.root}{repository.full_name}/attachments/{row.uuid}",
        digest=f"sha256:{row.sha256}",
    )


def attachment_views(presenter: Presenter, files_json: str, repository: Repository) -> list[Attachment]:
    if files_json == "[]":
        return []
    return [attachment_view(presenter, file, repository) for file in attached_files(files_json)]
