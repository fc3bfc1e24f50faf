"""SQL for what an import brings next to git: the table ``import_source``."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec
from sqlalchemy import Boolean, Column, ForeignKey, Integer, String, Table, Text, false, update

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import TypedRow, fetch_first
from ingot_chassis.db.tables import UtcDateTime
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
    # When reading began or continued last, and how many objects were done then.
    Column("reading_since", UtcDateTime),
    Column("done_before", Integer, nullable=False, default=0, server_default="0"),
    # The last failed request to the source; empty after a page. It is not asked before `paused_until`.
    Column("last_reason", String(20), nullable=False, default="", server_default=""),
    Column("paused_until", UtcDateTime),
    # An administrator began the import and trusts the source: it may name the authors of what it brings.
    Column("maps_people", Boolean, nullable=False, default=False, server_default=false()),
    # Added to the numbers of pull requests. Null before it is known, and without pull requests.
    Column("pull_offset", Integer),
    # JSON: ids of accounts by lower-case logins at the source. Empty after a done or cancelled import.
    # A failed one keeps them for a restart.
    Column("people", Text, nullable=False, default="{}", server_default="{}"),
    # The name of the uploaded archive that is imported (see ``Storage.archive_folder``).
    Column("archive", String(36)),
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
    reading_since: datetime | None
    done_before: int
    last_reason: str
    paused_until: datetime | None
    maps_people: bool
    pull_offset: int | None
    people: str
    archive: str | None


async def add(
    db: Executor,
    repository_id: int,
    *,
    service: str,
    kinds: Sequence[str],
    map_logins: bool,
    maps_people: bool,
    people: Mapping[str, int],
    archive: str | None = None,
) -> None:
    await db.execute(
        import_source.insert().values(
            repository_id=repository_id,
            service=service,
            kinds=msgspec.json.encode(list(kinds)).decode(),
            map_logins=map_logins,
            maps_people=maps_people,
            people=msgspec.json.encode(people).decode(),
            archive=archive,
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


def people_of(row: SourceRow) -> dict[str, int]:
    return msgspec.json.decode(row.people, type=dict[str, int])


def counts_of(row: SourceRow) -> dict[str, Counts]:
    return msgspec.json.decode(row.counts, type=dict[str, Counts])


async def save_counts(db: Executor, repository_id: int, counts: Mapping[str, Counts]) -> None:
    """Save the progress. The last request to the source succeeded."""
    values = {"counts": msgspec.json.encode(counts).decode(), "failures": 0, "paused_until": None}
    await change(db, repository_id, **values)


async def begin_reading(db: Executor, repository_id: int) -> None:
    """Begin or continue to read the source: the commits are here."""
    row = await get(db, repository_id)
    done = sum(count.done for count in counts_of(row).values()) if row is not None else 0
    values = {"fetched": True, "failures": 0, "paused_until": None}
    await change(db, repository_id, reading_since=now(), done_before=done, **values)


async def pause(db: Executor, repository_id: int, seconds: float, reason: str, *, failures: int) -> None:
    """Record that the source is not asked for a while, and why."""
    until = now() + timedelta(seconds=seconds)
    await change(db, repository_id, paused_until=until, last_reason=reason, failures=failures)
