"""SQL for what an import brings next to git: the table ``import_source``."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from sqlalchemy import Boolean, Column, ForeignKey, Integer, String, Table, Text, update

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import TypedRow, fetch_first
from ingot_repos.catalog.store.tables import metadata

import_source = Table(
    "import_source",
    metadata,
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), primary_key=True),
    Column("service", String(10), nullable=False),
    # JSON: a list of kinds; a ``Counts`` by kind.
    Column("kinds", Text, nullable=False),
    Column("counts", Text, nullable=False, default="{}"),
    Column("map_logins", Boolean, nullable=False),
    # The commits are here, and the repository was announced.
    Column("fetched", Boolean, nullable=False, default=False),
    # Failed requests to the source since the last page.
    Column("failures", Integer, nullable=False, default=0),
)


class Counts(msgspec.Struct, frozen=True):
    """Objects of one kind: written ones, and all that the source counts, or None."""

    done: int = 0
    total: int | None = None


class SourceRow(TypedRow):
    """The data next to git that an import brings. ``kinds`` and ``counts`` are JSON."""

    repository_id: int
    service: str
    kinds: str
    counts: str
    map_logins: bool
    fetched: bool
    failures: int


async def add(
    db: Executor, repository_id: int, *, service: str, kinds: Sequence[str], map_logins: bool
) -> None:
    await db.execute(
        import_source.insert().values(
            repository_id=repository_id,
            service=service,
            kinds=msgspec.json.encode(list(kinds)).decode(),
            map_logins=map_logins,
        )
    )


async def get(db: Executor, repository_id: int) -> SourceRow | None:
    statement = import_source.select().where(import_source.c.repository_id == repository_id)
    return await fetch_first(db, statement, SourceRow)


async def change(db: Executor, repository_id: int, **values: Any) -> None:
    await db.execute(
        update(import_source).where(import_source.c.repository_id == repository_id).values(**values)
    )


def kinds_of(row: SourceRow) -> list[str]:
    return msgspec.json.decode(row.kinds, type=list[str])


def counts_of(row: SourceRow) -> dict[str, Counts]:
    return msgspec.json.decode(row.counts, type=dict[str, Counts])


async def save_counts(db: Executor, repository_id: int, counts: Mapping[str, Counts]) -> None:
    """Save the progress. The last request to the source succeeded."""
    await change(db, repository_id, counts=msgspec.json.encode(counts).decode(), failures=0)
