"""Making organizations, and who is in them."""

from typing import Any

from ingot_chassis.database import Executor, Tx
from ingot_chassis.errors import Denied, Invalid
from ingot_chassis.principal import Membership, Principal
from ingot_contracts.identity import MembershipChanged, OrganizationCreated, OrganizationEdited
from ingot_identity.core import names
from ingot_identity.core.holding import held, kept
from ingot_identity.core.views import Viewing
from ingot_identity.store import accounts
from ingot_identity.store import organizations as store

OWNERS = "Owners"


async def create(tx: Tx, viewing: Viewing, *, owner_id: int, login: str, **details: Any) -> Any:
    """Create an organization with its team Owners and ``owner_id`` in it; the row. Raises Invalid."""
    names.check_login(login)
    organization_id = await accounts.add(tx, kind="organization", login=login, **details)
    if organization_id is None:
        raise Invalid.field("username", "taken", f"{login!r} is taken")
    await furnish(tx, organization_id, owner_id)
    row = await accounts.get(tx, organization_id)
    tx.emit(OrganizationCreated(account=viewing.account(row), owner_id=owner_id), key=organization_id)
    await announce_membership(tx, organization_id, owner_id)
    return row


async def furnish(tx: Tx, organization_id: int, owner_id: int) -> None:
    """Give a new organization its team Owners, with ``owner_id`` in it; 0 is nobody. Raises NotFound."""
    if owner_id:
        await join(tx, organization_id, owner_id)
    team_id = await store.add_team(tx, organization_id, OWNERS, description="", permission="owner", units="")
    if team_id is not None and owner_id:
        await store.add_team_member(tx, team_id, owner_id)


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


async def edit(tx: Tx, viewing: Viewing, organization_id: int, changes: dict[str, Any]) -> Any:
    """Change the columns named in ``changes`` and no others; the new row. Raises NotFound."""
    await held(tx, organization_id)
    if changes:
        await accounts.change(tx, organization_id, **changes)
    row = await accounts.get(tx, organization_id)
    edited = viewing.account(row)
    tx.emit(OrganizationEdited(account=edited, previous_login=edited.login), key=organization_id)
    return row


async def join(tx: Tx, organization_id: int, user_id: int) -> None:
    """Make a user a member. Neither goes away meanwhile. Raises NotFound."""
    await held(tx, organization_id)
    await kept(tx, user_id)
    await store.add_member(tx, organization_id, user_id)


async def remove_member(tx: Tx, organization_id: int, user_id: int) -> None:
    """Take a user out of all teams and out of the organization. The last owner cannot leave: Invalid."""
    await held(tx, organization_id)
    await require_another_owner(tx, organization_id, user_id)
    if await store.remove_member(tx, organization_id, user_id):
        await announce_membership(tx, organization_id, user_id)


async def require_another_owner(tx: Tx, organization_id: int, user_id: int) -> None:
    """Somebody must be left who owns it. Raises Invalid for the last owner; the organization must be held."""
    if await store.owner_ids(tx, organization_id, limit=2) == [user_id]:
        raise Invalid.field("username", "last_owner", "is the last owner of the organization")


async def set_public(tx: Tx, who: Principal, organization_id: int, user_id: int, *, public: bool) -> None:
    """Publicize or conceal oneself. Raises Denied for anybody else, owners and administrators too."""
    if who.id != user_id or not await store.set_public(tx, organization_id, user_id, public=public):
        raise Denied("only members decide whether their own membership is public")


async def require_member(db: Executor, who: Principal, organization_id: int) -> None:
    """Raises Denied unless ``who`` belongs to the organization, by the tables and not by their principal."""
    if not await store.is_member(db, organization_id, who.id):
        raise Denied("only for members of the organization")


async def require_owner(db: Executor, who: Principal, organization_id: int) -> None:
    """Raises Denied unless ``who`` owns the organization, by the tables."""
    if not await store.is_owner(db, organization_id, who.id):
        raise Denied("only for owners of the organization")


async def held_by(db: Executor, user_id: int, *, public_only: bool = False) -> dict[int, Membership]:
    """What a user is in each of their organizations; with ``public_only`` in those where they show it."""
    teams: dict[int, dict[int, str]] = {}
    for row in await store.memberships_of(db, user_id, public_only=public_only):
        own = teams.setdefault(row.organization_id, {})
        if row.team_id is not None:
            own[row.team_id] = row.permission
    return {
        organization: Membership(owner="owner" in own.values(), teams=own)
        for organization, own in teams.items()
    }
