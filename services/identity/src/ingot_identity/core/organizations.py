"""Making organizations, and who is in them."""

from typing import Any

from ingot_chassis.database import Executor, Tx
from ingot_chassis.errors import Denied, Invalid, NotFound
from ingot_chassis.principal import Membership, Principal
from ingot_contracts.identity import MembershipChanged, OrganizationCreated
from ingot_identity.core import names
from ingot_identity.core.views import Viewing
from ingot_identity.store import accounts
from ingot_identity.store import organizations as store

OWNERS = "Owners"
PERMISSIONS = ("read", "write", "admin")


async def create(tx: Tx, viewing: Viewing, *, owner_id: int, login: str, **details: Any) -> Any:
    """Create an organization with its team Owners and ``owner_id`` in it; the row. Raises Invalid."""
    names.check_login(login)
    organization_id = await accounts.add(tx, kind="organization", login=login, **details)
    if organization_id is None:
        raise Invalid.field("username", "taken", f"{login!r} is taken")
    team_id = await store.add_team(tx, organization_id, OWNERS, description="", permission="owner")
    await store.add_member(tx, organization_id, owner_id)
    if team_id is not None:
        await store.add_team_member(tx, team_id, owner_id)
    row = await accounts.get(tx, organization_id)
    tx.emit(OrganizationCreated(account=viewing.account(row), owner_id=owner_id), key=organization_id)
    await announce_membership(tx, organization_id, owner_id)
    return row


async def announce_membership(tx: Tx, organization_id: int, user_id: int) -> None:
    """Tell what ``user_id`` now is in the organization."""
    tx.emit(
        MembershipChanged(
            organization_id=organization_id,
            user_id=user_id,
            member=await store.is_member(tx, organization_id, user_id),
            owner=await store.is_owner(tx, organization_id, user_id),
            teams=await store.team_ids_of(tx, organization_id, user_id),
        ),
        key=organization_id,
    )


async def create_team(tx: Tx, organization_id: int, *, name: str, description: str, permission: str) -> Any:
    """Create a team; an unknown permission counts as read. Raises Invalid."""
    names.check_team(name)
    team_id = await store.add_team(
        tx,
        organization_id,
        name,
        description=description,
        permission=permission if permission in PERMISSIONS else "read",
    )
    if team_id is None:
        raise Invalid.field("name", "taken", f"there is a team {name!r}")
    return await store.get_team(tx, team_id)


async def add_team_member(tx: Tx, team: Any, user_id: int) -> None:
    """Put a user into a team, and so into the organization."""
    await store.add_member(tx, team.organization_id, user_id)
    await store.add_team_member(tx, team.id, user_id)
    await announce_membership(tx, team.organization_id, user_id)


async def remove_team_member(tx: Tx, team_id: int, user_id: int) -> None:
    """Take a user out of a team; they stay in the organization. The last owner cannot leave: Invalid."""
    team = await store.lock_team(tx, team_id)
    if team is None:
        raise NotFound
    if team.permission == "owner" and user_id in await _sole_member(tx, team_id):
        raise Invalid.field("username", "last_owner", "is the last owner of the organization")
    await store.remove_team_member(tx, team_id, user_id)
    await announce_membership(tx, team.organization_id, user_id)


async def _sole_member(tx: Tx, team_id: int) -> list[int]:
    members = await store.team_member_ids(tx, team_id, limit=2)
    return members if len(members) == 1 else []


async def require_member(db: Executor, who: Principal, organization_id: int) -> None:
    """Raises Denied unless ``who`` belongs to the organization, by the tables and not by their principal."""
    if not await store.is_member(db, organization_id, who.id):
        raise Denied("only for members of the organization")


async def require_owner(db: Executor, who: Principal, organization_id: int) -> None:
    """Raises Denied unless ``who`` owns the organization, by the tables."""
    if not await store.is_owner(db, organization_id, who.id):
        raise Denied("only for owners of the organization")


async def held_by(db: Executor, user_id: int) -> dict[int, Membership]:
    """What a user is in each of their organizations."""
    teams: dict[int, dict[int, str]] = {}
    for row in await store.memberships_of(db, user_id):
        own = teams.setdefault(row.organization_id, {})
        if row.team_id is not None:
            own[row.team_id] = row.permission
    return {
        organization: Membership(owner="owner" in own.values(), teams=own)
        for organization, own in teams.items()
    }
