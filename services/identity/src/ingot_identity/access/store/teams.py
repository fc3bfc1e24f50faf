"""Teams and their members: the tables, and the queries for access decisions."""

from enum import StrEnum

from sqlalchemy import (
    Boolean,
    Column,
    ColumnElement,
    ForeignKey,
    String,
    Table,
    UniqueConstraint,
    false,
    or_,
    select,
)

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import TypedRow, fetch_first
from ingot_chassis.db.tables import LASTING_IDS, BigId
from ingot_identity.accounts.store.tables import account, metadata


class TeamPermission(StrEnum):
    """Permissions of a team. ``OWNER`` is only for the team Owners."""

    NONE = "none"
    READ = "read"
    WRITE = "write"
    ADMIN = "admin"
    OWNER = "owner"


team = Table(
    "team",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("organization_id", ForeignKey("account.id", ondelete="CASCADE"), nullable=False),
    Column("name", String(30), nullable=False),
    Column("lower_name", String(30), nullable=False),
    Column("description", String(255), nullable=False, default=""),
    Column("permission", String(10), nullable=False),
    # Separated by commas; empty means all units.
    Column("units", String(255), nullable=False, default="", server_default=""),
    # A text of write_levels; empty where all units have the permission. Otherwise the permission is none.
    Column("unit_levels", String(20), nullable=False, default="", server_default=""),
    # Owners has both without saying so.
    Column("includes_all_repositories", Boolean, nullable=False, default=False, server_default=false()),
    Column("can_create_org_repo", Boolean, nullable=False, default=False, server_default=false()),
    UniqueConstraint("organization_id", "lower_name"),
    **LASTING_IDS,
)


class TeamRow(TypedRow):
    id: int
    organization_id: int
    name: str
    lower_name: str
    description: str
    permission: TeamPermission
    units: str
    unit_levels: str
    includes_all_repositories: bool
    can_create_org_repo: bool


team_member = Table(
    "team_member",
    metadata,
    Column("team_id", ForeignKey("team.id", ondelete="CASCADE"), primary_key=True),
    Column("user_id", ForeignKey("account.id", ondelete="CASCADE"), primary_key=True, index=True),
)


async def get(db: Executor, team_id: int) -> TeamRow | None:
    return await fetch_first(db, select(team).where(team.c.id == team_id), TeamRow)


async def get_named(db: Executor, organization: str, team_id: int) -> TeamRow | None:
    """Return the team, if it belongs to the organization of that name; else None."""
    statement = select(team).join(account, account.c.id == team.c.organization_id)
    named = account.c.lower_login == organization.lower()
    return await fetch_first(db, statement.where(team.c.id == team_id, named), TeamRow)


def has_everything() -> ColumnElement[bool]:
    """Return the condition for teams that have all repositories of their organization."""
    return or_(team.c.permission == TeamPermission.OWNER, team.c.includes_all_repositories)


async def ids_of(db: Executor, organization_id: int, user_id: int) -> list[int]:
    """Return the ids of the organization's teams that the user is in."""
    ids = await db.execute(
        select(team_member.c.team_id)
        .join(team, team.c.id == team_member.c.team_id)
        .where(team.c.organization_id == organization_id, team_member.c.user_id == user_id)
    )
    return list(ids.scalars())


async def is_owner(db: Executor, organization_id: int, user_id: int) -> bool:
    rows = await db.execute(
        select(team_member.c.user_id)
        .join(team, team.c.id == team_member.c.team_id)
        .where(
            team.c.organization_id == organization_id,
            team.c.permission == TeamPermission.OWNER,
            team_member.c.user_id == user_id,
        )
    )
    return rows.first() is not None


async def owner_ids(db: Executor, organization_id: int, *, limit: int) -> list[int]:
    ids = await db.execute(
        select(team_member.c.user_id)
        .join(team, team.c.id == team_member.c.team_id)
        .where(team.c.organization_id == organization_id, team.c.permission == TeamPermission.OWNER)
        .limit(limit)
    )
    return list(ids.scalars())
