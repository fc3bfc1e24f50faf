"""SQL for memberships in organizations."""

from collections.abc import Collection, Sequence

from sqlalchemy import and_, delete, select, update

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import Slice, TypedRow, fetch_all, fetch_page
from ingot_chassis.db.transaction import insert
from ingot_identity.access.store.memberships import membership
from ingot_identity.access.store.teams import TeamPermission, team, team_member
from ingot_identity.accounts.store.tables import AccountRow, account


class MembershipRow(TypedRow):
    """An organization of a user, and one of the user's teams in it.

    The team columns are None without a team.
    """

    organization_id: int
    team_id: int | None
    permission: TeamPermission | None
    units: str
    unit_levels: str
    includes_all_repositories: bool | None
    can_create_org_repo: bool | None


async def add(db: Executor, organization_id: int, user_id: int) -> None:
    """Make ``user_id`` a member. The membership is concealed at first."""
    await db.execute(
        insert(db, membership)
        .values(organization_id=organization_id, user_id=user_id, public=False)
        .on_conflict_do_nothing()
    )


async def filter_members(db: Executor, organization_id: int, user_ids: Collection[int]) -> list[int]:
    """Return the ids of these users who are members."""
    ids = await db.execute(
        select(membership.c.user_id)
        .where(membership.c.organization_id == organization_id, membership.c.user_id.in_(user_ids))
        .order_by(membership.c.user_id)
    )
    return list(ids.scalars())


async def in_any(db: Executor, user_id: int) -> bool:
    """True if the user is a member of any organization."""
    rows = await db.execute(
        select(membership.c.organization_id).where(membership.c.user_id == user_id).limit(1)
    )
    return rows.first() is not None


async def list_organization_ids(db: Executor, user_id: int) -> list[int]:
    """Return the organizations of the user by id, which is the order to lock them in."""
    statement = select(membership.c.organization_id).where(membership.c.user_id == user_id)
    return list((await db.execute(statement.order_by(membership.c.organization_id))).scalars())


async def set_public(db: Executor, organization_id: int, user_id: int, *, public: bool) -> bool:
    """Make a membership public or not. Return False if it does not exist."""
    changed = await db.execute(
        update(membership)
        .where(membership.c.organization_id == organization_id, membership.c.user_id == user_id)
        .values(public=public)
    )
    return changed.rowcount == 1


async def remove(db: Executor, organization_id: int, user_id: int) -> bool:
    """Remove a user from the organization and its teams. Return False if the user was not a member."""
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


async def list_page(
    db: Executor, organization_id: int, page: Slice, *, public_only: bool
) -> tuple[Sequence[AccountRow], int]:
    """Return a page of the accounts of members, by name."""
    belongs = membership.c.organization_id == organization_id
    if public_only:
        belongs &= membership.c.public
    statement = select(account).join(membership, membership.c.user_id == account.c.id)
    ids = select(membership.c.organization_id, membership.c.user_id).where(belongs)
    return await fetch_page(db, statement, page, AccountRow, membership.c.lower_login, ids=ids)


async def memberships_of(db: Executor, user_id: int, *, public_only: bool = False) -> Sequence[MembershipRow]:
    """Return one row for each organization and team of the user.

    An organization without teams has one row.
    """
    own = membership.c.user_id == user_id
    statement = (
        select(
            membership.c.organization_id,
            team.c.id.label("team_id"),
            team.c.permission,
            team.c.units,
            team.c.unit_levels,
            team.c.includes_all_repositories,
            team.c.can_create_org_repo,
        )
        .select_from(membership)
        .outerjoin(
            team_member.join(team, team.c.id == team_member.c.team_id),
            and_(
                team.c.organization_id == membership.c.organization_id,
                team_member.c.user_id == membership.c.user_id,
            ),
        )
        .where(own & membership.c.public if public_only else own)
    )
    return await fetch_all(db, statement, MembershipRow)
