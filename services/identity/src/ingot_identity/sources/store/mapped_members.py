"""SQL for teams and rights that accounts get from groups of sources."""

from collections.abc import Collection, Sequence

from sqlalchemy import delete, exists, select

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import TypedRow, fetch_all, fetch_first
from ingot_chassis.db.transaction import insert
from ingot_identity.access.store.teams import team
from ingot_identity.sources.store.tables import auth_source, external_identity, mapped_member


class MappedTeamRow(TypedRow):
    team_id: int
    organization_id: int


class GroupSourceRow(TypedRow):
    """The title of a source whose groups gave a team or a right."""

    title: str


async def list_teams(db: Executor, user_id: int, source_id: int) -> Sequence[MappedTeamRow]:
    """Return the teams to which the source has added the user."""
    statement = (
        select(mapped_member.c.team_id, team.c.organization_id)
        .join(team, team.c.id == mapped_member.c.team_id)
        .where(mapped_member.c.user_id == user_id, mapped_member.c.source_id == source_id)
    )
    return await fetch_all(db, statement, MappedTeamRow)


class MappedUserRow(TypedRow):
    user_id: int
    team_id: int


async def list_of_source(db: Executor, source_id: int) -> dict[int, set[int]]:
    """Return the teams to which the source has added users, by user id."""
    statement = select(mapped_member.c.user_id, mapped_member.c.team_id)
    teams = dict[int, set[int]]()
    for row in await fetch_all(db, statement.where(mapped_member.c.source_id == source_id), MappedUserRow):
        teams.setdefault(row.user_id, set()).add(row.team_id)
    return teams


async def source_of_member(db: Executor, team_ids: Collection[int], user_id: int) -> str:
    """Return the title of a source that has added the user to one of these teams, or ""."""
    statement = (
        select(auth_source.c.title)
        .join(mapped_member, mapped_member.c.source_id == auth_source.c.id)
        .where(mapped_member.c.user_id == user_id, mapped_member.c.team_id.in_(team_ids))
        .order_by(auth_source.c.id)
    )
    row = await fetch_first(db, statement, GroupSourceRow)
    return row.title if row else ""


async def source_of_column(db: Executor, account_id: int, column: str) -> str:
    """Return the title of a source whose groups gave the right ``column`` to the account, or ""."""
    statement = (
        select(auth_source.c.title)
        .join(external_identity, external_identity.c.source_id == auth_source.c.id)
        .where(external_identity.c.account_id == account_id, external_identity.c[f"gave_{column}"])
        .order_by(auth_source.c.id)
    )
    row = await fetch_first(db, statement, GroupSourceRow)
    return row.title if row else ""


async def is_marked(db: Executor, team_id: int, user_id: int) -> bool:
    """True if a source has added the user to the team."""
    statement = select(exists().where(mapped_member.c.team_id == team_id, mapped_member.c.user_id == user_id))
    return bool((await db.execute(statement)).scalar())


async def list_marked_members(db: Executor, team_id: int) -> set[int]:
    """Return the members of a team that a source has added."""
    statement = select(mapped_member.c.user_id).where(mapped_member.c.team_id == team_id)
    return set((await db.execute(statement)).scalars())


async def add(db: Executor, team_id: int, user_id: int, source_id: int) -> None:
    values = {"team_id": team_id, "user_id": user_id, "source_id": source_id}
    await db.execute(insert(db, mapped_member).values(values).on_conflict_do_nothing())


async def remove(db: Executor, team_id: int, user_id: int, source_id: int) -> None:
    await db.execute(
        delete(mapped_member).where(
            mapped_member.c.team_id == team_id,
            mapped_member.c.user_id == user_id,
            mapped_member.c.source_id == source_id,
        )
    )


async def remove_all(db: Executor, user_id: int, source_id: int) -> None:
    await db.execute(
        delete(mapped_member).where(
            mapped_member.c.user_id == user_id, mapped_member.c.source_id == source_id
        )
    )
