"""Who is in an organization, and who of them shows it."""

from collections.abc import Sequence

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Denied, Invalid
from ingot_chassis.security.principal import Membership, Principal
from ingot_contracts.identity import MembershipChanged
from ingot_identity.core import access
from ingot_identity.core.locks import lock_for_share, lock_for_update
from ingot_identity.store import members as store
from ingot_identity.store import teams
from ingot_identity.store.tables import TeamPermission


async def join(tx: Tx, organization_id: int, user_id: int) -> None:
    """Make a user a member. Locks both accounts. Raises NotFound."""
    await lock_for_update(tx, organization_id)
    await lock_for_share(tx, user_id)
    await store.add(tx, organization_id, user_id)


async def remove(tx: Tx, organization_id: int, user_id: int) -> None:
    """Take a user out of all teams and out of the organization. Raises Invalid for the last owner."""
    await lock_for_update(tx, organization_id)
    await require_another_owner(tx, organization_id, user_id)
    if await store.remove(tx, organization_id, user_id):
        await announce(tx, organization_id, user_id)


async def leave_all(tx: Tx, user_id: int) -> None:
    """Take a user out of all organizations. Raises Invalid for the last owner of one."""
    for organization_id in await store.list_organization_ids(tx, user_id):
        await remove(tx, organization_id, user_id)


async def require_another_owner(tx: Tx, organization_id: int, user_id: int) -> None:
    """Raises Invalid for the last owner of an organization, which must be locked."""
    if await teams.owner_ids(tx, organization_id, limit=2) == [user_id]:
        raise Invalid.field("username", "last_owner", "is the last owner of the organization")


async def announce(tx: Tx, organization_id: int, user_id: int) -> None:
    """Emit what ``user_id`` now is in the organization."""
    tx.emit(
        MembershipChanged(
            organization_id=organization_id,
            user_id=user_id,
            member=await store.exists(tx, organization_id, user_id),
            owner=await teams.is_owner(tx, organization_id, user_id),
            teams=await teams.ids_of(tx, organization_id, user_id),
        ),
        key=organization_id,
    )


async def set_public(
    tx: Tx, principal: Principal, organization_id: int, user_id: int, *, public: bool
) -> None:
    """Show or conceal one's own membership. Raises Denied for anybody else, and for who is no member."""
    access.require_own_membership(principal, user_id)
    if not await store.set_public(tx, organization_id, user_id, public=public):
        raise Denied("only members decide whether their own membership is public")


async def memberships_of(db: Executor, user_id: int, *, public_only: bool = False) -> dict[int, Membership]:
    """What a user is in each organization; with ``public_only`` in those where the user shows it."""
    by_organization: dict[int, list[store.MembershipRow]] = {}
    for row in await store.memberships_of(db, user_id, public_only=public_only):
        by_organization.setdefault(row.organization_id, []).append(row)
    return {organization_id: _membership(rows) for organization_id, rows in by_organization.items()}


def _membership(rows: Sequence[store.MembershipRow]) -> Membership:
    """What the rows of one organization say."""
    by_team = {
        row.team_id: row.permission for row in rows if row.team_id is not None and row.permission is not None
    }
    everywhere = {row.permission for row in rows if row.includes_all_repositories}
    return Membership(
        owner=TeamPermission.OWNER in by_team.values(),
        teams={**by_team},
        everywhere=next((one for one in reversed(TeamPermission) if one in everywhere), ""),
        creates=any(row.can_create_org_repo for row in rows),
    )
