"""SQL for membership, teams and their members."""

from typing import Any

from sqlalchemy import ColumnElement, Row, and_, delete, false, func, or_, select, update

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


async def is_public_member(db: Executor, organization_id: int, user_id: int) -> bool:
    found = await db.execute(
        select(membership.c.user_id).where(
            membership.c.organization_id == organization_id,
            membership.c.user_id == user_id,
            membership.c.public,
        )
    )
    return found.first() is not None


async def in_any(db: Executor, user_id: int) -> bool:
    found = await db.execute(
        select(membership.c.organization_id).where(membership.c.user_id == user_id).limit(1)
    )
    return found.first() is not None


async def set_public(db: Executor, organization_id: int, user_id: int, *, public: bool) -> bool:
    """Show or conceal a membership; False when there is none."""
    changed = await db.execute(
        update(membership)
        .where(membership.c.organization_id == organization_id, membership.c.user_id == user_id)
        .values(public=public)
    )
    return changed.rowcount == 1


async def remove_member(db: Executor, organization_id: int, user_id: int) -> bool:
    """Take out of the organization and its teams; False when the user was not in it."""
    teams = select(team.c.id).where(team.c.organization_id == organization_id)
    await db.execute(
        delete(team_member).where(team_member.c.user_id == user_id, team_member.c.team_id.in_(teams))
    )
    removed = await db.execute(
        delete(membership).where(
            membership.c.organization_id == organization_id, membership.c.user_id == user_id
        )
    )
    return removed.rowcount == 1


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
    db: Executor, organization_id: int, name: str, *, description: str, permission: str, units: str
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
            units=units,
        )
        .on_conflict_do_nothing()
        .returning(team.c.id)
    )
    return (await db.execute(statement)).scalar()


async def get_team(db: Executor, team_id: int) -> Row[Any] | None:
    return (await db.execute(select(team).where(team.c.id == team_id))).first()


async def team_named(db: Executor, organization_id: int, name: str) -> int | None:
    """The id of the team of that name in any letter case."""
    found = await db.execute(
        select(team.c.id).where(team.c.organization_id == organization_id, team.c.lower_name == name.lower())
    )
    return found.scalar()


async def change_team(db: Executor, team_id: int, **values: Any) -> None:
    if "name" in values:
        values["lower_name"] = values["name"].lower()
    if values:
        await db.execute(update(team).where(team.c.id == team_id).values(values))


async def remove_team(db: Executor, team_id: int) -> None:
    await db.execute(delete(team).where(team.c.id == team_id))


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


async def team_member_ids(db: Executor, team_id: int) -> list[int]:
    rows = await db.execute(select(team_member.c.user_id).where(team_member.c.team_id == team_id))
    return [row.user_id for row in rows]


async def owner_ids(db: Executor, organization_id: int, *, limit: int) -> list[int]:
    rows = await db.execute(
        select(team_member.c.user_id)
        .join(team, team.c.id == team_member.c.team_id)
        .where(team.c.organization_id == organization_id, team.c.permission == "owner")
        .limit(limit)
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


async def memberships_of(db: Executor, user_id: int, *, public_only: bool = False) -> list[Row[Any]]:
    """One row per (organization, team) of the user; team columns are None where there is no team."""
    wanted = membership.c.user_id == user_id
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
        .where(wanted & membership.c.public if public_only else wanted)
    )
    return list(rows.all())


async def team_ids_of(db: Executor, organization_id: int, user_id: int) -> list[int]:
    rows = await db.execute(
        select(team_member.c.team_id)
        .join(team, team.c.id == team_member.c.team_id)
        .where(team.c.organization_id == organization_id, team_member.c.user_id == user_id)
    )
    return [row.team_id for row in rows]


async def organizations_of(
    db: Executor, user_id: int, page: Page, *, seen_by: int | None
) -> tuple[list[Row[Any]], int]:
    """Organizations a user belongs to, by name; those that ``seen_by`` may see there (0: anybody), None: all."""
    wanted: ColumnElement[bool] = membership.c.user_id == user_id
    if seen_by is not None:
        wanted &= _shown_to(seen_by)
    joined = account.join(membership, membership.c.organization_id == account.c.id)
    rows = await db.execute(
        select(account)
        .select_from(joined)
        .where(wanted)
        .order_by(account.c.lower_login)
        .limit(page.limit)
        .offset(page.offset)
    )
    total = await db.execute(select(func.count()).select_from(joined).where(wanted))
    return list(rows.all()), int(total.scalar_one())


def _shown_to(viewer_id: int) -> ColumnElement[bool]:
    """Fellow members see every membership, others the public ones of organizations they may know."""
    own = membership.alias("own")
    fellow = (
        select(own.c.user_id)
        .where(own.c.organization_id == account.c.id, own.c.user_id == viewer_id)
        .exists()
    )
    known = account.c.visibility.in_(("public", "limited") if viewer_id else ("public",))
    return or_(fellow if viewer_id else false(), and_(membership.c.public, known))
