"""SQL for teams and their members. The members of the team Owners are the owners of the organization."""

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Column, ForeignKey, Table, delete, func, or_, select, update

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import Slice, TypedRow, fetch_all, fetch_first, fetch_page
from ingot_chassis.db.tables import BigId
from ingot_chassis.db.transaction import insert
from ingot_identity.access.store.teams import TeamPermission, TeamRow, has_everything, team, team_member
from ingot_identity.accounts.store.tables import AccountRow, account, metadata

# Teams that imports of organizations created, by the import and the id of the team in it.
imported_team = Table(
    "imported_team",
    metadata,
    Column("import_id", BigId, primary_key=True, autoincrement=False),
    Column("source_id", BigId, primary_key=True, autoincrement=False),
    Column("organization_id", ForeignKey("account.id", ondelete="CASCADE"), nullable=False, index=True),
    # Null after its deletion.
    Column("team_id", ForeignKey("team.id", ondelete="SET NULL"), index=True),
)


class ImportedTeamRow(TypedRow):
    """A team of an import."""

    team_id: int | None


async def get_imported(
    db: Executor, organization_id: int, import_id: int, source_id: int
) -> ImportedTeamRow | None:
    statement = select(imported_team.c.team_id).where(
        imported_team.c.import_id == import_id,
        imported_team.c.source_id == source_id,
        imported_team.c.organization_id == organization_id,
    )
    return await fetch_first(db, statement, ImportedTeamRow)


async def add_imported(
    db: Executor, organization_id: int, import_id: int, source_id: int, team_id: int
) -> None:
    await db.execute(
        imported_team.insert().values(
            organization_id=organization_id, import_id=import_id, source_id=source_id, team_id=team_id
        )
    )


async def add(
    db: Executor,
    organization_id: int,
    name: str,
    *,
    description: str,
    permission: TeamPermission,
    units: str,
    unit_levels: str = "",
    includes_all_repositories: bool = False,
    can_create_org_repo: bool = False,
) -> int | None:
    """Insert a team. Return its id, or None if the name is taken in any letter case."""
    statement = (
        insert(db, team)
        .values(
            organization_id=organization_id,
            name=name,
            lower_name=name.lower(),
            description=description,
            permission=permission,
            units=units,
            unit_levels=unit_levels,
            includes_all_repositories=includes_all_repositories,
            can_create_org_repo=can_create_org_repo,
        )
        .on_conflict_do_nothing()
        .returning(team.c.id)
    )
    return (await db.execute(statement)).scalar()


async def id_by_name(db: Executor, organization_id: int, name: str) -> int | None:
    """Return the id of the team with this name in any letter case, or None."""
    rows = await db.execute(
        select(team.c.id).where(team.c.organization_id == organization_id, team.c.lower_name == name.lower())
    )
    return rows.scalar()


async def list_named(
    db: Executor, organization_id: int, name: str, ids: Collection[int], *, everywhere: bool
) -> Sequence[TeamRow]:
    """Return teams with this name (in any letter case) or these ids.

    ``everywhere`` adds teams with all repositories.

    Owners comes first, then the others by name.
    """
    named = or_(team.c.lower_name == name.lower(), team.c.id.in_(ids))
    if everywhere:
        named = or_(named, has_everything())
    statement = (
        select(team)
        .where(team.c.organization_id == organization_id, named)
        .order_by(team.c.permission != TeamPermission.OWNER, team.c.lower_name)
    )
    return await fetch_all(db, statement, TeamRow)


async def change(db: Executor, team_id: int, **values: Any) -> None:
    if "name" in values:
        values["lower_name"] = values["name"].lower()
    if values:
        await db.execute(update(team).where(team.c.id == team_id).values(values))


async def remove(db: Executor, team_id: int) -> None:
    await db.execute(delete(team).where(team.c.id == team_id))


_OWNERS_FIRST = (team.c.permission != TeamPermission.OWNER, team.c.lower_name)


async def list_page(db: Executor, organization_id: int, page: Slice) -> tuple[Sequence[TeamRow], int]:
    """Return a page of the teams of an organization. Owners comes first, then the others by name."""
    statement = select(team).where(team.c.organization_id == organization_id)
    return await fetch_page(db, statement, page, TeamRow, *_OWNERS_FIRST)


async def search(
    db: Executor, organization_id: int, text: str, page: Slice, *, in_description: bool
) -> tuple[Sequence[TeamRow], int]:
    """Return a page of teams whose name contains ``text``, ignoring case, and the number of all.

    ``in_description`` also searches descriptions. Owners comes first, then the others by name.
    """
    matches = team.c.lower_name.contains(text.lower(), autoescape=True)
    if in_description:
        matches |= func.lower(team.c.description).contains(text.lower(), autoescape=True)
    statement = select(team).where(team.c.organization_id == organization_id, matches)
    return await fetch_page(db, statement, page, TeamRow, *_OWNERS_FIRST)


async def list_of_user(db: Executor, user_id: int, page: Slice) -> tuple[Sequence[TeamRow], int]:
    """Return a page of the teams of a user, oldest first, and the number of all."""
    statement = (
        select(team)
        .join(team_member, team_member.c.team_id == team.c.id)
        .where(team_member.c.user_id == user_id)
    )
    return await fetch_page(db, statement, page, TeamRow, team.c.id)


async def has_member(db: Executor, team_id: int, user_id: int) -> bool:
    rows = await db.execute(
        select(team_member.c.user_id).where(
            team_member.c.team_id == team_id, team_member.c.user_id == user_id
        )
    )
    return rows.first() is not None


async def add_member(db: Executor, team_id: int, user_id: int) -> None:
    await db.execute(
        insert(db, team_member).values(team_id=team_id, user_id=user_id).on_conflict_do_nothing()
    )


async def remove_member(db: Executor, team_id: int, user_id: int) -> None:
    await db.execute(
        delete(team_member).where(team_member.c.team_id == team_id, team_member.c.user_id == user_id)
    )


async def member_ids(db: Executor, team_id: int) -> list[int]:
    ids = await db.execute(select(team_member.c.user_id).where(team_member.c.team_id == team_id))
    return list(ids.scalars())


class TeamMemberRow(TypedRow):
    """A member of a team, by login."""

    team_id: int
    login: str


async def list_all(db: Executor, organization_id: int, limit: int) -> Sequence[TeamRow]:
    """Return at most ``limit`` teams of an organization. Owners comes first, then the others by name."""
    statement = select(team).where(team.c.organization_id == organization_id).limit(limit)
    return await fetch_all(
        db, statement.order_by(team.c.permission != TeamPermission.OWNER, team.c.lower_name), TeamRow
    )


async def list_all_members(db: Executor, organization_id: int, limit: int) -> Sequence[TeamMemberRow]:
    """Return at most ``limit`` members of the teams of an organization, by login."""
    statement = (
        select(team_member.c.team_id, account.c.login)
        .join(team, team.c.id == team_member.c.team_id)
        .join(account, account.c.id == team_member.c.user_id)
        .where(team.c.organization_id == organization_id)
        .order_by(account.c.lower_login, team_member.c.team_id)
    )
    return await fetch_all(db, statement.limit(limit), TeamMemberRow)


async def list_members(db: Executor, team_id: int, page: Slice) -> tuple[Sequence[AccountRow], int]:
    """Return a page of the accounts of members, oldest account first."""
    statement = select(account).join(team_member, team_member.c.user_id == account.c.id)
    ids = select(team_member.c.team_id, team_member.c.user_id).where(team_member.c.team_id == team_id)
    return await fetch_page(db, statement, page, AccountRow, team_member.c.user_id, ids=ids)


async def list_with_repository(
    db: Executor, organization_id: int, team_ids: Collection[int]
) -> Sequence[TeamRow]:
    """Return these teams of the organization, and its teams with all repositories."""
    named = or_(team.c.id.in_(team_ids), has_everything())
    return await fetch_all(db, select(team).where(team.c.organization_id == organization_id, named), TeamRow)


async def members_of_teams(db: Executor, team_ids: Collection[int]) -> list[int]:
    """Return the users in these teams."""
    statement = select(team_member.c.user_id).where(team_member.c.team_id.in_(team_ids)).distinct()
    return list((await db.execute(statement.order_by(team_member.c.user_id))).scalars())


async def filter_members(
    db: Executor, organization_id: int, user_ids: Collection[int], team_ids: Collection[int]
) -> list[int]:
    """Return the ids of these users who are in one of these teams of the organization."""
    ids = await db.execute(
        select(team_member.c.user_id)
        .join(team, team.c.id == team_member.c.team_id)
        .where(
            team.c.organization_id == organization_id,
            team.c.id.in_(team_ids),
            team_member.c.user_id.in_(user_ids),
        )
        .distinct()
        .order_by(team_member.c.user_id)
    )
    return list(ids.scalars())
