"""SQL for files of issues and comments.

The bytes are in the object store, under a key with the repository id and ``uuid``.
"""

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Column, ColumnElement, ForeignKey, Index, String, Table, delete, select, update

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import TypedRow, fetch_all, fetch_count, fetch_first
from ingot_chassis.db.tables import LASTING_IDS, BigId, UtcDateTime
from ingot_issues.records.store.json_rows import JsonRows
from ingot_issues.records.store.tables import comment, issue
from ingot_issues.schema import metadata

attachment = Table(
    "attachment",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("issue_id", BigId, ForeignKey("issue.id", ondelete="CASCADE"), nullable=False),
    Column("comment_id", BigId, ForeignKey("comment.id", ondelete="CASCADE"), index=True),
    Column("uuid", String(36), nullable=False, unique=True),
    Column("name", String(255), nullable=False),
    Column("size", BigId, nullable=False),
    Column("sha256", String(64), nullable=False),
    Column("media_type", String(40), nullable=False),
    Column("download_count", BigId, nullable=False, server_default="0"),
    Column("uploader_id", BigId, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Index("ix_attachment_listed", "issue_id", "comment_id", "id"),
    **LASTING_IDS,
)


class AttachmentRow(TypedRow):
    """A file of an issue, or of one of its comments."""

    id: int
    issue_id: int
    comment_id: int | None
    uuid: str
    name: str
    size: int
    sha256: str
    media_type: str
    download_count: int
    uploader_id: int
    created_at: datetime
    repository_id: int
    is_pull: bool


class AttachedFile(NamedTuple):
    """A file of an issue or comment, decoded from the JSON text that a query returns."""

    id: int
    uuid: str
    name: str
    size: int
    sha256: str
    download_count: int
    created_at: datetime


FILES_OF_ISSUE = (
    select(JsonRows(*(attachment.c[name] for name in AttachedFile._fields)))
    .where(attachment.c.issue_id == issue.c.id, attachment.c.comment_id.is_(None))
    .correlate(issue)
    .scalar_subquery()
)
FILES_OF_COMMENT = (
    select(JsonRows(*(attachment.c[name] for name in AttachedFile._fields)))
    .where(attachment.c.comment_id == comment.c.id)
    .correlate(comment)
    .scalar_subquery()
)
_FILES_DECODER = msgspec.json.Decoder(list[AttachedFile])

_SELECT = select(attachment, issue.c.repository_id, issue.c.is_pull).select_from(
    attachment.join(issue, issue.c.id == attachment.c.issue_id)
)


def attached_files(text: str) -> list[AttachedFile]:
    """Decode the files of an issue or comment from JSON. Return them oldest first."""
    files = sorted(_FILES_DECODER.decode(text))
    return [file._replace(created_at=_in_utc(file.created_at)) for file in files]


def _in_utc(moment: datetime) -> datetime:
    """Return the time in UTC. SQLite returns UTC times without a zone."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _of(issue_id: int, comment_id: int | None) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    """Return the condition for files of a comment or, without a comment, of the issue itself."""
    return attachment.c.issue_id == issue_id, attachment.c.comment_id.is_not_distinct_from(comment_id)


async def add(tx: Executor, **values: Any) -> int:
    """Insert a file and return its id."""
    added = await tx.execute(attachment.insert().values(values).returning(attachment.c.id))
    return int(added.scalar_one())


async def get(
    db: Executor, issue_id: int, comment_id: int | None, attachment_id: int
) -> AttachmentRow | None:
    statement = _SELECT.where(*_of(issue_id, comment_id), attachment.c.id == attachment_id)
    return await fetch_first(db, statement, AttachmentRow)


async def get_by_uuid(db: Executor, repository_id: int, uuid: str) -> AttachmentRow | None:
    statement = _SELECT.where(issue.c.repository_id == repository_id, attachment.c.uuid == uuid)
    return await fetch_first(db, statement, AttachmentRow)


async def list_of(db: Executor, issue_id: int, comment_id: int | None) -> Sequence[AttachmentRow]:
    """Return all files of an issue or comment, the oldest first."""
    statement = _SELECT.where(*_of(issue_id, comment_id)).order_by(attachment.c.id)
    return await fetch_all(db, statement, AttachmentRow)


async def count(db: Executor, issue_id: int, comment_id: int | None) -> int:
    return await fetch_count(db, select(attachment.c.id).where(*_of(issue_id, comment_id)))


async def existing_uuids(db: Executor, uuids: Collection[str]) -> set[str]:
    """Return the members of ``uuids`` that existing files have."""
    statement = select(attachment.c.uuid).where(attachment.c.uuid.in_(uuids))
    return set((await db.execute(statement)).scalars())


async def rename(tx: Executor, attachment_id: int, name: str) -> None:
    await tx.execute(update(attachment).where(attachment.c.id == attachment_id).values(name=name))


async def count_download(tx: Executor, attachment_id: int) -> None:
    """Add 1 to the download count of a file."""
    downloads = attachment.c.download_count
    await tx.execute(
        update(attachment).where(attachment.c.id == attachment_id).values({downloads: downloads + 1})
    )


async def remove(tx: Executor, attachment_id: int) -> bool:
    """Delete a file. Return whether it existed."""
    return (await tx.execute(delete(attachment).where(attachment.c.id == attachment_id))).rowcount == 1


async def lock_issue(tx: Executor, issue_id: int, comment_id: int | None) -> bool:
    """Lock the issue and the comment against deletion until ``tx`` ends. Return False if one is missing.

    The comment is locked first, like in a deletion. The reverse order could deadlock.
    """
    if comment_id is not None:
        existing = select(comment.c.id).where(comment.c.id == comment_id).with_for_update()
        if (await tx.execute(existing)).scalar() is None:
            return False
    statement = select(issue.c.id).where(issue.c.id == issue_id).with_for_update()
    return (await tx.execute(statement)).scalar() is not None
