"""SQL for exports of organizations, and for their repositories.

An export of a repository becomes a part of the export of its organization when it is done: its row is
deleted, and its archive belongs to ``exported_repository``.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    String,
    Table,
    Text,
    UniqueConstraint,
    and_,
    delete,
    func,
    insert,
    literal,
    not_,
    select,
    update,
)

from ingot_chassis.clock import now
from ingot_chassis.db.arrays import any_of
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import Slice, TypedRow, fetch_all, fetch_first, fetch_page
from ingot_chassis.db.tables import LASTING_IDS, BigId, UtcDateTime, partial_index
from ingot_chassis.db.transaction import insert as insert_once
from ingot_repos.archives.store import export
from ingot_repos.catalog.store.states import ImportState, RepositoryState
from ingot_repos.catalog.store.tables import metadata, repository, team_grant

organization_export = Table(
    "organization_export",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("organization_id", BigId, nullable=False, index=True),
    Column("user_id", BigId, nullable=False),
    # The shard with the job and the archive.
    Column("shard", String(60), nullable=False),
    # The name of this export: of its job, its object and its labels.
    Column("uuid", String(36), nullable=False, unique=True),
    Column("state", String(10), nullable=False),
    Column("reason", String(20), nullable=False, default=""),
    # JSON of a list of ``ImportedLabel``. Null: issues has not sent them yet.
    Column("labels", Text),
    # The archive as an object.
    Column("size", BigInteger, nullable=False, default=0),
    Column("sha256", String(64), nullable=False, default=""),
    Column("created_at", UtcDateTime, nullable=False),
    Column("finished_at", UtcDateTime),
    Column("expires_at", UtcDateTime, index=True),
    CheckConstraint("state IN ('running', 'done', 'failed')", name="state"),
    partial_index("uq_organization_export_running", "state = 'running'", "organization_id", unique=True),
    **LASTING_IDS,
)

exported_repository = Table(
    "organization_export_repository",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("export_id", ForeignKey("organization_export.id", ondelete="CASCADE"), nullable=False),
    # Without a foreign key: the archive of a deleted repository must be found to be deleted.
    Column("repository_id", BigId, nullable=False),
    Column("name", String(255), nullable=False),
    Column("state", String(10), nullable=False),
    Column("reason", String(20), nullable=False, default=""),
    # Of its own export while it runs, and then of the archive, as an object of the shard.
    Column("uuid", String(36), nullable=False, default="", index=True),
    Column("shard", String(60), nullable=False, default=""),
    Column("size", BigInteger, nullable=False, default=0),
    Column("sha256", String(64), nullable=False, default=""),
    # Files of texts that are not in the archive: a ``LeftOutFile`` each, as JSON.
    Column("left_out_files", Text, nullable=False, default="[]"),
    UniqueConstraint("export_id", "repository_id"),
    CheckConstraint("state IN ('waiting', 'running', 'done', 'failed')", name="state"),
    **LASTING_IDS,
)


class PartState(StrEnum):
    """The state of a repository in an export of its organization.

    ``FAILED``: the archive of the organization lacks it.
    """

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class OrganizationExportRow(TypedRow):
    """An export of an organization. ``labels`` is JSON."""

    id: int
    organization_id: int
    user_id: int
    shard: str
    uuid: str
    state: ImportState
    reason: str
    labels: str | None
    size: int
    sha256: str
    created_at: datetime
    finished_at: datetime | None
    expires_at: datetime | None


class PartRow(TypedRow):
    """A repository of an export. ``left_out_files`` is JSON."""

    id: int
    export_id: int
    repository_id: int
    name: str
    state: PartState
    reason: str
    uuid: str
    shard: str
    size: int
    sha256: str
    left_out_files: str


class CountRow(TypedRow):
    """The number of repositories of one export in one state."""

    export_id: int
    state: PartState
    count: int


class ProgressRow(TypedRow):
    """The number of waiting repositories of an export, and the bytes of the archives that are done."""

    waiting: int
    bytes: int


class TeamRepositoryRow(TypedRow):
    """A repository of an export to which a team has access."""

    team_id: int
    name: str


async def add(db: Executor, **values: Any) -> OrganizationExportRow | None:
    """Add a running export, and return its row. Return None if one of the organization is running."""
    statement = insert_once(db, organization_export).values(
        state=ImportState.RUNNING, created_at=now(), **values
    )
    return await fetch_first(
        db, statement.on_conflict_do_nothing().returning(organization_export), OrganizationExportRow
    )


async def add_repositories(db: Executor, export_id: int, organization_id: int) -> None:
    """Add all repositories of the organization, the oldest first."""
    chosen = (
        select(literal(export_id), repository.c.id, repository.c.name, literal(PartState.WAITING.value))
        .where(
            repository.c.owner_id == organization_id,
            repository.c.state.not_in((RepositoryState.CREATING, RepositoryState.FAILED)),
        )
        .order_by(repository.c.id)
    )
    columns = ["export_id", "repository_id", "name", "state"]
    await db.execute(insert(exported_repository).from_select(columns, chosen))


async def get(db: Executor, organization_id: int, export_id: int) -> OrganizationExportRow | None:
    """Return an export if it belongs to the organization, or None."""
    table = organization_export
    statement = select(table).where(table.c.id == export_id, table.c.organization_id == organization_id)
    return await fetch_first(db, statement, OrganizationExportRow)


async def get_running(db: Executor, uuid: str) -> OrganizationExportRow | None:
    """Return a running export by its uuid, or None."""
    table = organization_export
    statement = select(table).where(table.c.uuid == uuid, table.c.state == ImportState.RUNNING)
    return await fetch_first(db, statement, OrganizationExportRow)


async def list_page(
    db: Executor, organization_id: int, page: Slice
) -> tuple[Sequence[OrganizationExportRow], int]:
    """Return exports of an organization, the newest first, and their number."""
    statement = select(organization_export).where(organization_export.c.organization_id == organization_id)
    return await fetch_page(db, statement, page, OrganizationExportRow, organization_export.c.id.desc())


async def list_all(db: Executor, organization_id: int) -> Sequence[OrganizationExportRow]:
    """Return all exports of an organization, the newest first."""
    table = organization_export
    statement = select(table).where(table.c.organization_id == organization_id)
    return await fetch_all(db, statement.order_by(table.c.id.desc()), OrganizationExportRow)


async def list_expired(db: Executor, shard: str, at: datetime) -> Sequence[OrganizationExportRow]:
    """Return the exports of a shard whose expiry is at or before ``at``."""
    table = organization_export
    statement = select(table).where(table.c.shard == shard, table.c.expires_at <= at)
    return await fetch_all(db, statement, OrganizationExportRow)


async def list_stale(db: Executor, shard: str, before: datetime) -> Sequence[OrganizationExportRow]:
    """Return the running exports of a shard that began at or before ``before``."""
    table = organization_export
    running = (table.c.state == ImportState.RUNNING) & (table.c.created_at <= before)
    return await fetch_all(db, select(table).where(table.c.shard == shard, running), OrganizationExportRow)


async def change(db: Executor, uuid: str, **values: Any) -> bool:
    """Change an export. Return False if it is not running.

    Other transactions that change or remove it wait until this one ends.
    """
    table = organization_export
    statement = update(table).where(table.c.uuid == uuid, table.c.state == ImportState.RUNNING)
    return (await db.execute(statement.values(**values))).rowcount == 1


async def lock(db: Executor, uuid: str) -> bool:
    """Lock an export in any state until the transaction ends. Return False if it does not exist."""
    table = organization_export
    statement = update(table).where(table.c.uuid == uuid).values(uuid=uuid)
    return (await db.execute(statement)).rowcount == 1


async def remove(db: Executor, uuid: str) -> None:
    """Delete an export and the rows of its repositories."""
    await db.execute(delete(organization_export).where(organization_export.c.uuid == uuid))


async def counts_of(db: Executor, export_ids: Collection[int]) -> Sequence[CountRow]:
    """Return the numbers of repositories by state."""
    table = exported_repository
    statement = (
        select(table.c.export_id, table.c.state, func.count().label("count"))
        .where(table.c.export_id.in_(export_ids))
        .group_by(table.c.export_id, table.c.state)
    )
    return await fetch_all(db, statement, CountRow)


async def progress(db: Executor, export_id: int) -> ProgressRow:
    """Return how far an export is. An export may have thousands of repositories."""
    table = exported_repository
    is_waiting, is_done = table.c.state == PartState.WAITING, table.c.state == PartState.DONE
    statement = select(
        func.count().filter(is_waiting).label("waiting"),
        func.coalesce(func.sum(table.c.size).filter(is_done), 0).label("bytes"),
    ).where(table.c.export_id == export_id)
    return (await fetch_all(db, statement, ProgressRow))[0]


async def list_repositories(db: Executor, export_id: int, page: Slice) -> tuple[Sequence[PartRow], int]:
    """Return a page of the repositories of an export, and their number."""
    statement = select(exported_repository).where(exported_repository.c.export_id == export_id)
    return await fetch_page(db, statement, page, PartRow, exported_repository.c.id)


async def list_in_state(db: Executor, export_id: int, state: PartState) -> Sequence[PartRow]:
    table = exported_repository
    statement = select(table).where(table.c.export_id == export_id, table.c.state == state)
    return await fetch_all(db, statement.order_by(table.c.id), PartRow)


async def list_stored(db: Executor, export_id: int) -> Sequence[PartRow]:
    """Return the repositories with an export of their own, or with an archive."""
    table = exported_repository
    statement = select(table).where(table.c.export_id == export_id, table.c.uuid != "")
    return await fetch_all(db, statement.order_by(table.c.id), PartRow)


async def list_startable(
    db: Executor, export_id: int, organization_id: int, *, limit: int
) -> Sequence[PartRow]:
    """Return waiting repositories that can be exported now: no export of them is running."""
    table = exported_repository
    statement = (
        select(table)
        .join(repository, repository.c.id == table.c.repository_id)
        .outerjoin(export, and_(export.c.repository_id == repository.c.id, export.c.state == "running"))
        .where(
            table.c.export_id == export_id,
            table.c.state == PartState.WAITING,
            repository.c.owner_id == organization_id,
            repository.c.state == RepositoryState.READY,
            export.c.uuid.is_(None),
        )
        .order_by(table.c.id)
        .limit(limit)
    )
    return await fetch_all(db, statement, PartRow)


async def fail_lost(db: Executor, export_id: int, organization_id: int) -> None:
    """Fail the waiting repositories that the organization no longer has."""
    table = exported_repository
    usable = select(repository.c.id).where(
        repository.c.id == table.c.repository_id,
        repository.c.owner_id == organization_id,
        repository.c.state != RepositoryState.FAILED,
    )
    statement = update(table).where(
        table.c.export_id == export_id, table.c.state == PartState.WAITING, not_(usable.exists())
    )
    await db.execute(statement.values(state=PartState.FAILED, reason="gone"))


async def fail_waiting(db: Executor, export_id: int) -> None:
    """Fail the repositories that still wait."""
    table = exported_repository
    waiting = (table.c.export_id == export_id) & (table.c.state == PartState.WAITING)
    await db.execute(update(table).where(waiting).values(state=PartState.FAILED, reason="waited"))


async def change_repository(db: Executor, part_id: int, **values: Any) -> None:
    await db.execute(update(exported_repository).where(exported_repository.c.id == part_id).values(**values))


async def forget_archives(db: Executor, export_id: int) -> None:
    """Forget the archives of repositories, and the exports of repositories that are running."""
    table = exported_repository
    of_export = update(table).where(table.c.export_id == export_id)
    await db.execute(of_export.where(table.c.state == PartState.RUNNING).values(state=PartState.WAITING))
    await db.execute(of_export.where(table.c.uuid != "").values(uuid=""))


async def repositories_of_teams(db: Executor, export_id: int) -> Sequence[TeamRepositoryRow]:
    """Return the exported repositories of all teams, in the order of the export."""
    table = exported_repository
    statement = (
        select(team_grant.c.team_id, table.c.name)
        .join(table, table.c.repository_id == team_grant.c.repository_id)
        .where(table.c.export_id == export_id, table.c.state == PartState.DONE)
        .order_by(table.c.id)
    )
    return await fetch_all(db, statement, TeamRepositoryRow)


async def existing_uuids(db: Executor, uuids: Collection[str]) -> set[str]:
    """Return the elements of ``uuids`` that belong to archives of organizations or of their repositories."""
    names = {"uuids": list(uuids)}
    existing = set[str]()
    for column in (organization_export.c.uuid, exported_repository.c.uuid):
        existing |= set((await db.execute(select(column).where(any_of(column, "uuids")), names)).scalars())
    return existing
