"""SQL for membership, teams and their members."""

from typing import Any

from sqlalchemy import Row, and_, delete, func, select

from ingot_chassis.database import Executor, insert
from ingot_chassis.paging import Page
from ingot_identity.store.tables import account, membership, team, team_member


async def add_member(db: Executor, organization_id: int, user_id: int) -> None:
    """Make ``user_id`` a member; concealed, as everybody is at first."""
    await db.execute(
        insert(db, membership)
        .values(organization_id=organization_id, user_id=user_id, public=False)
        .on_conflict_do_nothing()
    )


async def is_member(db: Executor, organization_id: int, user_id: int) -> bool:
    found = await db.execute(
        select(membership.c.user_id).where(
            membership.c.organization_id == organization_id, membership.c.user_id == user_id
        )
    )
    return found.first() is not None


async def is_owner(db: Executor, organization_id: int, user_id: int) -> bool:
    found = await db.execute(
        select(team_member.c.user_id)
        .join(team, team.c.id == team_member.c.team_id)
        .where(
            team.c.organization_id == organization_id,
            team.c.permission == "owner",
            team_member.c.user_id == user_id,
        )
    )
    return found.first() is not None


async def add_team(
    db: Executor, organization_id: int, name: str, *, description: str, permission: str
) -> int | None:
    """Insert a team; its id, or None when the organization has one of that name in any letter case."""
    statement = (
        insert(db, team)
        .values(
            organization_id=organization_id,
            name=name,
            lower_name=name.lower(),
            description=description,
            permission=permission,
        )
        .on_conflict_do_nothing()
        .returning(team.c.id)
    )
    return (await db.execute(statement)).scalar()


async def get_team(db: Executor, team_id: int) -> Row[Any] | None:
    return (await db.execute(select(team).where(team.c.id == team_id))).first()


async def list_teams(db: Executor, organization_id: int, page: Page) -> tuple[list[Row[Any]], int]:
    """Owners first, then by name."""
    rows = await db.execute(
        select(team)
        .where(team.c.organization_id == organization_id)
        .order_by(team.c.permission != "owner", team.c.lower_name)
        .limit(page.limit)
        .offset(page.offset)
    )
    total = await db.execute(
        select(func.count()).select_from(team).where(team.c.organization_id == organization_id)
    )
    return list(rows.all()), int(total.scalar_one())


async def add_team_member(db: Executor, team_id: int, user_id: int) -> None:
    await db.execute(
        insert(db, team_member).values(team_id=team_id, user_id=user_id).on_conflict_do_nothing()
    )


async def remove_team_member(db: Executor, team_id: int, user_id: int) -> None:
    await db.execute(
        delete(team_member).where(team_member.c.team_id == team_id, team_member.c.user_id == user_id)
    )


async def lock_team(db: Executor, team_id: int) -> Row[Any] | None:
    """The team, held until the transaction ends, so that its last member cannot leave twice at once."""
    return (await db.execute(select(team).where(team.c.id == team_id).with_for_update())).first()


async def team_member_ids(db: Executor, team_id: int, *, limit: int) -> list[int]:
    rows = await db.execute(
        select(team_member.c.user_id).where(team_member.c.team_id == team_id).limit(limit)
    )
    return [row.user_id for row in rows]


async def list_team_members(db: Executor, team_id: int, page: Page) -> tuple[list[Row[Any]], int]:
    """Accounts of the members, in the order in which they joined the service."""
    mine = team_member.c.team_id == team_id
    rows = await db.execute(
        select(account)
        .join(team_member, team_member.c.user_id == account.c.id)
        .where(mine)
        .order_by(account.c.id)
        .limit(page.limit)
        .offset(page.offset)
    )
    total = await db.execute(select(func.count()).select_from(team_member).where(mine))
    return list(rows.all()), int(total.scalar_one())


async def list_members(
    db: Executor, organization_id: int, page: Page, *, public_only: bool
) -> tuple[list[Row[Any]], int]:
    """Accounts of the members, by name."""
    wanted = membership.c.organization_id == organization_id
    if public_only:
        wanted &= membership.c.public
    rows = await db.execute(
        select(account)
        .join(membership, membership.c.user_id == account.c.id)
        .where(wanted)
        .order_by(account.c.lower_login)
        .limit(page.limit)
        .offset(page.offset)
    )
    total = await db.execute(select(func.count()).select_from(membership).where(wanted))
    return list(rows.all()), int(total.scalar_one())


async def memberships_of(db: Executor, user_id: int) -> list[Row[Any]]:
    """One row per (organization, team) of the user; team columns are None where there is no team."""
    rows = await db.execute(
        select(membership.c.organization_id, team.c.id.label("team_id"), team.c.permission)
        .select_from(membership)
        .outerjoin(
            team_member.join(team, team.c.id == team_member.c.team_id),
            and_(
                team.c.organization_id == membership.c.organization_id,
                team_member.c.user_id == membership.c.user_id,
            ),
        )
        .where(membership.c.user_id == user_id)
    )
    return list(rows.all())


async def team_ids_of(db: Executor, organization_id: int, user_id: int) -> list[int]:
    rows = await db.execute(
        select(team_member.c.team_id)
        .join(team, team.c.id == team_member.c.team_id)
        .where(team.c.organization_id == organization_id, team_member.c.user_id == user_id)
    )
    return [row.team_id for row in rows]


async def organizations_of(db: Executor, user_id: int, page: Page) -> tuple[list[Row[Any]], int]:
    """Organizations a user belongs to, by name."""
    rows = await db.execute(
        select(account)
        .join(membership, membership.c.organization_id == account.c.id)
        .where(membership.c.user_id == user_id)
        .order_by(account.c.lower_login)
        .limit(page.limit)
        .offset(page.offset)
    )
    total = await db.execute(
        select(func.count()).select_from(membership).where(membership.c.user_id == user_id)
    )
    return list(rows.all()), int(total.scalar_one())
