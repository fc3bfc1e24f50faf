"""The table of exports, and its SQL. A repository has one export at most: a new one replaces it."""

from collections.abc import Collection, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any

import msgspec
from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    String,
    Table,
    Text,
    delete,
    select,
    update,
)

from ingot_chassis.clock import now
from ingot_chassis.db.arrays import any_of
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import TypedRow, fetch_all, fetch_first
from ingot_chassis.db.tables import UtcDateTime
from ingot_chassis.db.transaction import insert
from ingot_contracts.repos.exports import LeftOutFile
from ingot_repos.catalog.store.states import ImportState
from ingot_repos.catalog.store.tables import metadata, repository


class Layout(StrEnum):
    """The layout of the file of an export."""

    ARCHIVE = "archive"
    GITEA = "gitea"


export = Table(
    "export",
    metadata,
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), primary_key=True),
    # The name of this export: of its folder, its object and its jobs.
    Column("uuid", String(36), nullable=False, unique=True),
    Column("state", String(10), nullable=False),
    # The next page of issues, as issues names it; and a ``PageCount`` by kind, as JSON.
    Column("cursor", Text, nullable=False, default=""),
    Column("counts", Text, nullable=False, default="{}"),
    Column("reason", String(20), nullable=False, default=""),
    # Of the file that is stored; and the pull requests without a patch in it, as JSON.
    Column("layout", String(10), nullable=False, server_default=Layout.ARCHIVE),
    Column("left_out", Text, nullable=False, server_default="[]"),
    # Files of texts that are not in the archive: a ``LeftOutFile`` each, as JSON.
    Column("left_out_files", Text, nullable=False, server_default="[]"),
    # The archive as an object.
    Column("size", BigInteger, nullable=False, default=0),
    Column("sha256", String(64), nullable=False, default=""),
    Column("created_at", UtcDateTime, nullable=False),
    Column("finished_at", UtcDateTime),
    Column("expires_at", UtcDateTime, index=True),
    CheckConstraint("state IN ('running', 'done', 'failed')", name="state"),
)


class PageCount(msgspec.Struct, frozen=True):
    """The number of pages of one kind, and the number of objects on them."""

    pages: int = 0
    objects: int = 0


class ExportRow(TypedRow):
    """An export. ``counts``, ``left_out`` and ``left_out_files`` are JSON."""

    repository_id: int
    uuid: str
    state: ImportState
    cursor: str
    counts: str
    reason: str
    layout: Layout
    left_out: str
    left_out_files: str
    size: int
    sha256: str
    created_at: datetime
    finished_at: datetime | None
    expires_at: datetime | None


def counts_of(row: ExportRow) -> dict[str, PageCount]:
    return msgspec.json.decode(row.counts, type=dict[str, PageCount])


def left_out_files_of(row: ExportRow) -> list[LeftOutFile]:
    return msgspec.json.decode(row.left_out_files, type=list[LeftOutFile])


async def add(tx: Executor, repository_id: int, uuid: str, layout: Layout) -> bool:
    """Add a running export. Return False if the repository has an export."""
    values = {
        "repository_id": repository_id,
        "uuid": uuid,
        "state": ImportState.RUNNING,
        "layout": layout,
        "created_at": now(),
    }
    added = await tx.execute(insert(tx, export).values(values).on_conflict_do_nothing())
    return added.rowcount == 1


async def get(db: Executor, repository_id: int) -> ExportRow | None:
    return await fetch_first(db, select(export).where(export.c.repository_id == repository_id), ExportRow)


async def get_running(db: Executor, uuid: str) -> ExportRow | None:
    """Return a running export by its uuid, or None."""
    statement = select(export).where(export.c.uuid == uuid, export.c.state == ImportState.RUNNING)
    return await fetch_first(db, statement, ExportRow)


async def change(tx: Executor, uuid: str, **values: Any) -> bool:
    """Change an export. Return False if it is not running."""
    statement = update(export).where(export.c.uuid == uuid, export.c.state == ImportState.RUNNING)
    return (await tx.execute(statement.values(**values))).rowcount == 1


async def move_cursor(tx: Executor, uuid: str, before: str, after: str, **values: Any) -> bool:
    """Move the cursor of a running export from ``before`` to ``after``, and store ``values``.

    Return False if the export is not running or has another cursor.
    """
    statement = update(export).where(
        export.c.uuid == uuid, export.c.state == ImportState.RUNNING, export.c.cursor == before
    )
    return (await tx.execute(statement.values(cursor=after, **values))).rowcount == 1


async def remove(tx: Executor, uuid: str) -> bool:
    """Delete an export. Return whether it existed."""
    return (await tx.execute(delete(export).where(export.c.uuid == uuid))).rowcount == 1


async def list_expired(db: Executor, shard: str, at: datetime) -> Sequence[ExportRow]:
    """Return the exports of a shard whose expiry is at or before ``at``."""
    statement = select(export).join(repository, repository.c.id == export.c.repository_id)
    statement = statement.where(repository.c.shard == shard, export.c.expires_at <= at)
    return await fetch_all(db, statement, ExportRow)


async def list_stale(db: Executor, shard: str, before: datetime) -> Sequence[ExportRow]:
    """Return the running exports of a shard that began at or before ``before``."""
    statement = select(export).join(repository, repository.c.id == export.c.repository_id)
    running = (export.c.state == ImportState.RUNNING) & (export.c.created_at <= before)
    return await fetch_all(db, statement.where(repository.c.shard == shard, running), ExportRow)


async def existing_uuids(db: Executor, uuids: Collection[str]) -> set[str]:
    """Return the elements of ``uuids`` that belong to exports."""
    statement = select(export.c.uuid).where(any_of(export.c.uuid, "uuids"))
    return set((await db.execute(statement, {"uuids": list(uuids)})).scalars())
