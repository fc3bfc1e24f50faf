"""SQL for the non-git data of imports: its progress, the last known state of the source, and conflicts."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal

import msgspec
from sqlalchemy import (
    Boolean,
    Column,
    ForeignKey,
    Integer,
    String,
    Table,
    Text,
    delete,
    false,
    func,
    select,
    update,
)

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import Slice, TypedRow, fetch_all, fetch_first, fetch_page
from ingot_chassis.db.tables import BigId, UtcDateTime
from ingot_chassis.db.transaction import insert
from ingot_contracts.repos.imports import ConflictKind, ImportConflict
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
    # When the last run began, and the time behind which a repeat reads changes. Null in earlier releases.
    Column("started_at", UtcDateTime),
    Column("since", UtcDateTime),
    # JSON: an ``UnmappedRule`` for each rule that names people without an account here.
    Column("unmapped_rules", Text, nullable=False, default="[]", server_default="[]"),
    # JSON: an ``OfferedKey`` for each deploy key of an archive.
    Column("deploy_keys", Text, nullable=False, default="[]", server_default="[]"),
)

# What the source had at the last run: the commit of a ref, or JSON of a release.
import_base = Table(
    "import_base",
    metadata,
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), primary_key=True),
    Column("kind", String(10), primary_key=True),
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),
)

# What the last repeat could not change, because it changed here, too. `fields` is JSON.
import_conflict = Table(
    "import_conflict",
    metadata,
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), primary_key=True),
    Column("kind", String(10), primary_key=True),
    Column("number", BigId, primary_key=True, autoincrement=False),
    Column("name", Text, primary_key=True),
    Column("fields", Text, nullable=False),
)
MANY = 1_000
"""Rows of one statement."""
BaseKind = Literal["ref", "wiki", "release"]


class Counts(msgspec.Struct, frozen=True):
    """The number of written objects of one kind, and their number at the source; None if it is unknown."""

    done: int = 0
    total: int | None = None


class UnmappedRule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that allows people without an account here, or teams. ``logins`` are logins at the source.

    ``teams`` are names of teams at the source, which are not allowed here. ``missing`` names what the rule
    demands at the source and not here. ``others`` counts omitted people, teams and demands.
    ``is_left_out``: the rule is not imported, so it protects nothing. Its pattern is not valid here, there
    are too many rules, or the source hides it.
    """

    kind: Literal["branch", "tag"]
    pattern: str
    logins: list[str] = []
    teams: list[str] = []
    missing: list[str] = []
    others: int = 0
    is_left_out: bool = False


class OfferedKey(msgspec.Struct, frozen=True, kw_only=True):
    """A deploy key of the imported repository. It gives no access until an administrator adds it."""

    title: str
    key: str
    fingerprint: str
    read_only: bool


class SourceRow(TypedRow):
    """The non-git data that an import copies. ``kinds`` and ``counts`` are JSON."""

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
    started_at: datetime | None
    since: datetime | None


class ReportRow(TypedRow):
    """Protection rules and deploy keys that an import only shows, both as JSON. They may be long."""

    unmapped_rules: str
    deploy_keys: str


class ConflictRow(TypedRow):
    """An object that changed on both sides. ``fields`` is JSON."""

    kind: ConflictKind
    number: int
    name: str
    fields: str


class _BaseRow(TypedRow):
    """A ref or release of the source at the last run."""

    name: str
    value: str


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
    deploy_keys: Sequence[OfferedKey] = (),
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
            deploy_keys=msgspec.json.encode(deploy_keys).decode(),
            started_at=now(),
        )
    )


async def get(db: Executor, repository_id: int) -> SourceRow | None:
    """Return the row without the columns of ``ReportRow``: an import reads it for each release."""
    columns = (one for one in import_source.c if one.name not in ReportRow.__annotations__)
    statement = select(*columns).where(import_source.c.repository_id == repository_id)
    return await fetch_first(db, statement, SourceRow)


async def get_report(db: Executor, repository_id: int) -> ReportRow | None:
    columns = (import_source.c.unmapped_rules, import_source.c.deploy_keys)
    statement = select(*columns).where(import_source.c.repository_id == repository_id)
    return await fetch_first(db, statement, ReportRow)


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


def unmapped_rules_of(row: ReportRow) -> list[UnmappedRule]:
    return msgspec.json.decode(row.unmapped_rules, type=list[UnmappedRule])


def deploy_keys_of(row: ReportRow) -> list[OfferedKey]:
    return msgspec.json.decode(row.deploy_keys, type=list[OfferedKey])


async def save_counts(db: Executor, repository_id: int, counts: Mapping[str, Counts]) -> None:
    """Save the progress after a successful request to the source. This ends a pause and resets failures."""
    values = {"counts": msgspec.json.encode(counts).decode(), "failures": 0, "paused_until": None}
    await change(db, repository_id, **values)


async def begin_reading(db: Executor, repository_id: int) -> None:
    """Record that the commits are fetched, and that reading of the source begins or continues."""
    row = await get(db, repository_id)
    done = sum(count.done for count in counts_of(row).values()) if row is not None else 0
    values = {"fetched": True, "failures": 0, "paused_until": None}
    await change(db, repository_id, reading_since=now(), done_before=done, **values)


async def pause(db: Executor, repository_id: int, seconds: float, reason: str, *, failures: int) -> None:
    """Record the reason of a pause, in which no requests are sent to the source."""
    until = now() + timedelta(seconds=seconds)
    await change(db, repository_id, paused_until=until, last_reason=reason, failures=failures)


async def bases(db: Executor, repository_id: int, kind: BaseKind) -> dict[str, str]:
    """Return the values of refs or releases at the last run, by name."""
    columns = (import_base.c.name, import_base.c.value)
    statement = select(*columns).where(
        import_base.c.repository_id == repository_id, import_base.c.kind == kind
    )
    return {row.name: row.value for row in await fetch_all(db, statement, _BaseRow)}


async def save_bases(db: Executor, repository_id: int, kind: BaseKind, values: Mapping[str, str]) -> None:
    rows = [
        {"repository_id": repository_id, "kind": kind, "name": name, "value": value}
        for name, value in values.items()
    ]
    statement = insert(db, import_base)
    keys = ["repository_id", "kind", "name"]
    upsert = statement.on_conflict_do_update(index_elements=keys, set_={"value": statement.excluded.value})
    for start in range(0, len(rows), MANY):
        await db.execute(upsert, rows[start : start + MANY])


async def add_conflicts(db: Executor, repository_id: int, conflicts: Sequence[ImportConflict]) -> None:
    """Record conflicts. A new conflict of the same object replaces the fields of the earlier one."""
    if not conflicts:
        return
    rows = {
        (one.kind, one.number, one.name): {
            "repository_id": repository_id,
            "kind": one.kind,
            "number": one.number,
            "name": one.name,
            "fields": msgspec.json.encode(one.fields).decode(),
        }
        for one in conflicts
    }
    statement = insert(db, import_conflict)
    keys = ["repository_id", "kind", "number", "name"]
    upsert = statement.on_conflict_do_update(index_elements=keys, set_={"fields": statement.excluded.fields})
    await db.execute(upsert, [*rows.values()])


async def remove_conflicts(db: Executor, repository_id: int) -> None:
    await db.execute(delete(import_conflict).where(import_conflict.c.repository_id == repository_id))


async def list_conflicts(db: Executor, repository_id: int, page: Slice) -> tuple[Sequence[ConflictRow], int]:
    """List conflicts by kind, number and name."""
    order = (import_conflict.c.kind, import_conflict.c.number, import_conflict.c.name)
    columns = (*order, import_conflict.c.fields)
    statement = select(*columns).where(import_conflict.c.repository_id == repository_id)
    return await fetch_page(db, statement, page, ConflictRow, *order)


async def has_conflicts(db: Executor, repository_id: int, kinds: Collection[ConflictKind]) -> bool:
    statement = select(import_conflict.c.kind).where(
        import_conflict.c.repository_id == repository_id, import_conflict.c.kind.in_(kinds)
    )
    return (await db.execute(statement.limit(1))).first() is not None


async def count_conflicts(db: Executor, repository_id: int) -> int:
    statement = select(func.count()).where(import_conflict.c.repository_id == repository_id)
    return int((await db.execute(statement)).scalar_one())
