"""SQL for imports of organizations, and for their repositories.

A repository has no row of its own before its import begins. So the list has the names at the source.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, cast

import msgspec
from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
    UniqueConstraint,
    case,
    false,
    func,
    or_,
    select,
    update,
)

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import Slice, TypedRow, fetch_all, fetch_first, fetch_page
from ingot_chassis.db.tables import LASTING_IDS, BigId, UtcDateTime
from ingot_chassis.db.transaction import insert
from ingot_repos.catalog.store.states import ImportState
from ingot_repos.catalog.store.tables import metadata, repository
from ingot_repos.imports.store import import_conflict, import_source
from ingot_repos.remotes.store import migration

organization_import = Table(
    "organization_import",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("organization_id", BigId, nullable=False),
    Column("user_id", BigId, nullable=False),
    Column("shard", String(60), nullable=False),
    Column("state", String(10), nullable=False),
    Column("reason", String(20), nullable=False, default=""),
    Column("service", String(10), nullable=False),
    # The address of the source, and the organization there.
    Column("site", Text, nullable=False),
    Column("source", String(255), nullable=False),
    # User name and password, until the import ends.
    Column("sealed", LargeBinary),
    # JSON of `Options`, without people after the end of the import.
    Column("options", Text, nullable=False),
    # The place of the next page of the list at the source. Null: the list is complete.
    Column("place", Text, default=""),
    # The place of the next page of teams. Null: no teams are wanted, or their list is complete.
    Column("teams_place", Text),
    Column("failures", Integer, nullable=False, default=0),
    # How often it was begun again after an end.
    Column("repeat", Integer, nullable=False, default=0, server_default="0"),
    Column("created_at", UtcDateTime, nullable=False),
    Column("finished_at", UtcDateTime),
    CheckConstraint("state IN ('waiting', 'running', 'done', 'failed', 'cancelled')", name="state"),
    **LASTING_IDS,
)

listed_repository = Table(
    "organization_import_repository",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("import_id", ForeignKey("organization_import.id", ondelete="CASCADE"), nullable=False),
    Column("name", String(255), nullable=False),
    Column("description", String(255), nullable=False),
    Column("private", Boolean, nullable=False),
    Column("state", String(10), nullable=False),
    Column("reason", String(20), nullable=False, default=""),
    Column("repository_id", ForeignKey("repository.id", ondelete="SET NULL"), index=True),
    # Its own import is repeated in this run, and has not begun yet.
    Column("due", Boolean, nullable=False, default=False, server_default=false()),
    UniqueConstraint("import_id", "name"),
    CheckConstraint("state IN ('listed', 'created', 'begun', 'refused')", name="state"),
    **LASTING_IDS,
)

imported_team = Table(
    "organization_import_team",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("import_id", ForeignKey("organization_import.id", ondelete="CASCADE"), nullable=False),
    Column("source_id", BigId, nullable=False),
    Column("name", String(255), nullable=False),
    # JSON of `SourceTeam`, and of `BroughtTeam` when it came.
    Column("team", Text, nullable=False),
    Column("state", String(10), nullable=False),
    Column("reason", String(20), nullable=False, default=""),
    # The team here, and how many of its members joined it.
    Column("team_id", BigId),
    Column("members", Integer, nullable=False, default=0),
    UniqueConstraint("import_id", "source_id"),
    CheckConstraint("state IN ('listed', 'done', 'refused')", name="state"),
    **LASTING_IDS,
)

# Members of teams at the source who did not join their teams here, and in how many.
absent_member = Table(
    "organization_import_absent_member",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("import_id", ForeignKey("organization_import.id", ondelete="CASCADE"), nullable=False),
    Column("source_id", BigId, nullable=False),
    Column("login", String(255), nullable=False),
    Column("teams", Integer, nullable=False),
    UniqueConstraint("import_id", "source_id", "login"),
    **LASTING_IDS,
)

ROWS_AT_ONCE = 1_000
"""Limit of rows of one statement: a database limits its parameters."""
UNENDED = (ImportState.WAITING, ImportState.RUNNING)


class ListedState(StrEnum):
    """The state of a repository in the list.

    It exists since ``CREATED``, and identity knows its owner since ``BEGUN``.
    """

    LISTED = "listed"
    CREATED = "created"
    BEGUN = "begun"
    REFUSED = "refused"


class TeamState(StrEnum):
    """The state of a team in the list."""

    LISTED = "listed"
    DONE = "done"
    REFUSED = "refused"


class OrganizationImportRow(TypedRow):
    """An import of an organization."""

    id: int
    organization_id: int
    user_id: int
    shard: str
    state: ImportState
    reason: str
    service: str
    site: str
    source: str
    sealed: bytes | None
    options: str
    place: str | None
    teams_place: str | None
    failures: int
    repeat: int
    created_at: datetime
    finished_at: datetime | None


class ListedRow(TypedRow):
    """A repository of the list.

    ``import_state`` and the other columns of its own import are None before this import begins. They are None
    again after the repository is deleted.
    """

    id: int
    name: str
    description: str
    private: bool
    state: ListedState
    reason: str
    repository_id: int | None
    due: bool
    owner_id: int | None
    archived: bool | None
    repeat: int | None
    conflicts: int
    import_state: ImportState | None
    import_reason: str | None
    phase: str | None
    percent: int | None
    counts: str | None


class ImportedTeamRow(TypedRow):
    """A team of an import."""

    id: int
    source_id: int
    name: str
    team: str
    state: TeamState
    reason: str
    team_id: int | None
    members: int


class AbsentMemberRow(TypedRow):
    """A member of teams at the source who did not join the imported teams. ``teams`` counts these teams."""

    source_id: int
    login: str
    teams: int


class NamedRow(TypedRow):
    """The id of an imported repository, and its name at the source."""

    name: str
    repository_id: int


class CountRow(TypedRow):
    """The number of repositories or teams of one import in one state."""

    import_id: int
    state: str
    count: int


async def add(db: Executor, **values: Any) -> OrganizationImportRow:
    """Add a waiting import, and return its row."""
    statement = organization_import.insert().values(state=ImportState.WAITING, created_at=now(), **values)
    row = await fetch_first(db, statement.returning(organization_import), OrganizationImportRow)
    return cast("OrganizationImportRow", row)  # an insert has one row


async def get(db: Executor, import_id: int) -> OrganizationImportRow | None:
    statement = organization_import.select().where(organization_import.c.id == import_id)
    return await fetch_first(db, statement, OrganizationImportRow)


async def get_locked(db: Executor, import_id: int) -> OrganizationImportRow | None:
    """Return an import, or None. Other transactions cannot change it before this transaction ends."""
    statement = organization_import.select().where(organization_import.c.id == import_id)
    return await fetch_first(db, statement.with_for_update(), OrganizationImportRow)


async def list_page(db: Executor, page: Slice) -> tuple[Sequence[OrganizationImportRow], int]:
    """Return imports, the newest first, and their number."""
    return await fetch_page(
        db, select(organization_import), page, OrganizationImportRow, organization_import.c.id.desc()
    )


async def change(db: Executor, import_id: int, **values: Any) -> bool:
    """Change an import that waits or runs. Return False if it has ended."""
    table = organization_import
    statement = update(table).where(table.c.id == import_id, table.c.state.in_(UNENDED)).values(**values)
    return (await db.execute(statement)).rowcount == 1


async def change_run(db: Executor, row: OrganizationImportRow, **values: Any) -> bool:
    """Change the run of ``row``. Return False if this run has ended or the import was repeated."""
    table = organization_import
    is_run = table.c.id == row.id, table.c.repeat == row.repeat, table.c.state.in_(UNENDED)
    return (await db.execute(update(table).where(*is_run).values(**values))).rowcount == 1


async def end(db: Executor, import_id: int, state: ImportState, reason: str = "") -> bool:
    """End an import, and erase its credentials and tables of people.

    Return False if it does not exist or has ended.
    """
    row = await get(db, import_id)
    return row is not None and await end_run(db, row, state, reason)


async def end_run(db: Executor, row: OrganizationImportRow, state: ImportState, reason: str = "") -> bool:
    """End the run of ``row`` like ``end``. Return False if it has ended or the import was repeated."""
    values = {"sealed": None, "options": _without_people(row.options), "finished_at": now()}
    if not await change_run(db, row, state=state, reason=reason, **values):
        return False
    table = listed_repository
    await db.execute(update(table).where(table.c.import_id == row.id, table.c.due).values(due=False))
    return True


def _without_people(options: str) -> str:
    fields = msgspec.json.decode(options, type=dict[str, Any])
    for one in (fields, fields.get("source") or {}):
        one.pop("people", None)
    return msgspec.json.encode(fields).decode()


async def add_repositories(db: Executor, import_id: int, listed: Sequence[Mapping[str, Any]]) -> None:
    """Add repositories to the list. Skip repositories that are already in it."""
    if listed:
        values = [{"import_id": import_id, "state": ListedState.LISTED, **one} for one in listed]
        await db.execute(insert(db, listed_repository).values(values).on_conflict_do_nothing())


_CONFLICTS = (
    select(func.count())
    .where(import_conflict.c.repository_id == listed_repository.c.repository_id)
    .scalar_subquery()
    .label("conflicts")
)


def _listed(import_id: int) -> Any:
    return (
        select(
            listed_repository,
            repository.c.owner_id,
            repository.c.archived,
            migration.c.repeat,
            _CONFLICTS,
            migration.c.state.label("import_state"),
            migration.c.reason.label("import_reason"),
            migration.c.phase,
            migration.c.percent,
            import_source.c.counts,
        )
        .outerjoin(repository, repository.c.id == listed_repository.c.repository_id)
        .outerjoin(migration, migration.c.repository_id == listed_repository.c.repository_id)
        .outerjoin(import_source, import_source.c.repository_id == listed_repository.c.repository_id)
        .where(listed_repository.c.import_id == import_id)
    )


async def list_repositories(db: Executor, import_id: int, page: Slice) -> tuple[Sequence[ListedRow], int]:
    """Return a page of the list in the order of the source, and the length of the list."""
    return await fetch_page(db, _listed(import_id), page, ListedRow, listed_repository.c.id)


async def list_in_state(
    db: Executor, import_id: int, state: ListedState, *, limit: int
) -> Sequence[ListedRow]:
    statement = _listed(import_id).where(listed_repository.c.state == state)
    return await fetch_all(db, statement.order_by(listed_repository.c.id).limit(limit), ListedRow)


async def repeat(db: Executor, import_id: int, **values: Any) -> bool:
    """Begin another run of an import that has ended. Return False if it has not ended.

    Existing repositories become due. Refused repositories are listed again. Deleted ones stay deleted.
    """
    table, listed = organization_import, listed_repository
    ended = update(table).where(table.c.id == import_id, table.c.state.not_in(UNENDED))
    more = {"repeat": table.c.repeat + 1, "state": ImportState.WAITING, "reason": "", "finished_at": None}
    if (await db.execute(ended.values(**more, **values))).rowcount != 1:
        return False
    of_import = update(listed).where(listed.c.import_id == import_id)
    begun = of_import.where(listed.c.state == ListedState.BEGUN, listed.c.repository_id.is_not(None))
    await db.execute(begun.values(due=True, reason=""))
    refused = of_import.where(listed.c.state == ListedState.REFUSED)
    await db.execute(refused.values(state=ListedState.LISTED, reason=""))
    return True


async def list_due(db: Executor, import_id: int, *, limit: int) -> Sequence[ListedRow]:
    """Return due repositories, without those whose own imports wait or run."""
    is_due = listed_repository.c.due, migration.c.state.not_in(UNENDED)
    statement = _listed(import_id).where(*is_due).order_by(listed_repository.c.id)
    return await fetch_all(db, statement.limit(limit), ListedRow)


async def list_unended(db: Executor, import_id: int) -> Sequence[ListedRow]:
    """Return the repositories that the organization still owns, and whose own imports run or wait."""
    table = organization_import
    owner = select(table.c.organization_id).where(table.c.id == import_id).scalar_subquery()
    statement = _listed(import_id).where(migration.c.state.in_(UNENDED), repository.c.owner_id == owner)
    return await fetch_all(db, statement, ListedRow)


async def change_repository(db: Executor, listed_id: int, **values: Any) -> None:
    await db.execute(update(listed_repository).where(listed_repository.c.id == listed_id).values(**values))


async def refuse(db: Executor, listed_id: int, reason: str) -> None:
    """Refuse a repository. Do nothing if it was created."""
    table = listed_repository
    statement = update(table).where(table.c.id == listed_id, table.c.state == ListedState.LISTED)
    await db.execute(statement.values(state=ListedState.REFUSED, reason=reason))


async def counts_of(db: Executor, import_ids: Collection[int]) -> Sequence[CountRow]:
    """Return the numbers of repositories by state.

    The state is waiting, failed (refused) or deleted, or else the state of the repository's own import.
    """
    state = case(
        (or_(listed_repository.c.state == ListedState.LISTED, listed_repository.c.due), "waiting"),
        (listed_repository.c.state == ListedState.REFUSED, "failed"),
        else_=func.coalesce(migration.c.state, "deleted"),
    ).label("state")
    statement = (
        select(listed_repository.c.import_id, state, func.count().label("count"))
        .outerjoin(migration, migration.c.repository_id == listed_repository.c.repository_id)
        .where(listed_repository.c.import_id.in_(import_ids))
        .group_by(listed_repository.c.import_id, state)
    )
    return await fetch_all(db, statement, CountRow)


async def taken_names(db: Executor, organization_id: int, names: Collection[str]) -> set[str]:
    """Return the elements of ``names``, in lower case, that are names of the organization's repositories."""
    statement = select(repository.c.lower_name).where(
        repository.c.owner_id == organization_id,
        repository.c.lower_name.in_({name.lower() for name in names}),
    )
    return set((await db.execute(statement)).scalars())


async def repositories_of(db: Executor, import_id: int, organization_id: int) -> dict[str, int]:
    """Return the repositories of an import that the organization still owns, by lower-case names."""
    statement = (
        select(listed_repository.c.name, listed_repository.c.repository_id)
        .join(repository, repository.c.id == listed_repository.c.repository_id)
        .where(listed_repository.c.import_id == import_id, repository.c.owner_id == organization_id)
    )
    return {row.name.lower(): row.repository_id for row in await fetch_all(db, statement, NamedRow)}


async def add_teams(db: Executor, import_id: int, teams: Sequence[Mapping[str, Any]]) -> int:
    """Add teams to the list. Skip teams that are already in it. Return the number of added teams."""
    if not teams:
        return 0
    values = [{"import_id": import_id, "state": TeamState.LISTED, **one} for one in teams]
    statement = insert(db, imported_team).values(values).on_conflict_do_nothing()
    return len((await db.execute(statement.returning(imported_team.c.id))).scalars().all())


async def next_team(db: Executor, import_id: int) -> ImportedTeamRow | None:
    """Return the first team that is neither imported nor refused, or None."""
    statement = select(imported_team).where(
        imported_team.c.import_id == import_id, imported_team.c.state == TeamState.LISTED
    )
    return await fetch_first(db, statement.order_by(imported_team.c.id).limit(1), ImportedTeamRow)


async def list_teams_with(db: Executor, import_id: int, name: str) -> Sequence[ImportedTeamRow]:
    """Return imported teams that may have access to the repository with this lower-case name.

    The caller must check each team, because the name is searched in the stored text of the team.
    """
    table = imported_team
    has_it = table.c.team.contains(f'"{name}"', autoescape=True)
    has_all = table.c.team.contains('"includes_all_repositories":true', autoescape=True)
    statement = select(table).where(
        table.c.import_id == import_id, table.c.state == TeamState.DONE, or_(has_it, has_all)
    )
    return await fetch_all(db, statement.order_by(table.c.id), ImportedTeamRow)


async def end_team(db: Executor, imported_id: int, **values: Any) -> bool:
    """Change a listed team to its final state. Return False if it has a final state."""
    table = imported_team
    statement = update(table).where(table.c.id == imported_id, table.c.state == TeamState.LISTED)
    return (await db.execute(statement.values(**values))).rowcount == 1


async def list_teams(db: Executor, import_id: int, page: Slice) -> tuple[Sequence[ImportedTeamRow], int]:
    """Return a page of the teams in the order of the source, and their number."""
    statement = select(imported_team).where(imported_team.c.import_id == import_id)
    return await fetch_page(db, statement, page, ImportedTeamRow, imported_team.c.id)


async def team_counts_of(db: Executor, import_ids: Collection[int]) -> Sequence[CountRow]:
    """Return the numbers of teams by state."""
    table = imported_team
    statement = (
        select(table.c.import_id, table.c.state, func.count().label("count"))
        .where(table.c.import_id.in_(import_ids))
        .group_by(table.c.import_id, table.c.state)
    )
    return await fetch_all(db, statement, CountRow)


async def add_absent_members(db: Executor, import_id: int, people: Collection[tuple[int, str]]) -> None:
    """Add 1 to the number of teams of each person who did not join a team."""
    values = [
        {"import_id": import_id, "source_id": source_id, "login": login, "teams": 1}
        for source_id, login in people
    ]
    keys = ["import_id", "source_id", "login"]
    more = {"teams": absent_member.c.teams + 1}
    for start in range(0, len(values), ROWS_AT_ONCE):
        statement = insert(db, absent_member).values(values[start : start + ROWS_AT_ONCE])
        await db.execute(statement.on_conflict_do_update(index_elements=keys, set_=more))


async def list_absent_members(
    db: Executor, import_id: int, page: Slice
) -> tuple[Sequence[AbsentMemberRow], int]:
    """Return a page of the people who did not join teams, and their number."""
    statement = select(absent_member).where(absent_member.c.import_id == import_id)
    return await fetch_page(db, statement, page, AbsentMemberRow, absent_member.c.id)
