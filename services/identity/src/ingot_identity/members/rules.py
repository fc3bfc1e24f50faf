"""Members of an organization, and the visibility of memberships."""

from collections.abc import Collection, Sequence

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Conflict, Denied, Invalid
from ingot_chassis.security.principal import Membership, Principal
from ingot_contracts.identity.events import MembershipChanged
from ingot_identity.access import rules as access
from ingot_identity.access.store import memberships
from ingot_identity.access.store import teams as team_rows
from ingot_identity.access.store.teams import TeamPermission
from ingot_identity.accounts.rules.locks import lock_for_share, lock_for_update
from ingot_identity.members import store
from ingot_identity.sources.store import mapped_members


async def join(tx: Tx, organization_id: int, user_id: int) -> None:
    """Make a user a member. Locks both accounts. Raises NotFound."""
    await lock_for_update(tx, organization_id)
    await lock_for_share(tx, user_id)
    await store.add(tx, organization_id, user_id)


async def remove(tx: Tx, organization_id: int, user_id: int) -> None:
    """Remove a user from all teams and from the organization. Raises Invalid for the last owner."""
    await lock_for_update(tx, organization_id)
    await require_another_owner(tx, organization_id, user_id)
    if await store.remove(tx, organization_id, user_id):
        await announce(tx, organization_id, user_id)


async def remove_by_hand(tx: Tx, organization_id: int, user_id: int) -> None:
    """Remove a user like ``remove``. Raises Conflict if groups of a source made the user a member."""
    await lock_for_update(tx, organization_id)
    await require_not_mapped(tx, await team_rows.ids_of(tx, organization_id, user_id), user_id)
    await remove(tx, organization_id, user_id)


async def require_not_mapped(tx: Tx, team_ids: Collection[int], user_id: int) -> None:
    """Raise Conflict if groups of a source put the user into one of these teams."""
    if title := await mapped_members.source_of_member(tx, team_ids, user_id):
        raise Conflict(f"the groups of {title} put this user into the team; change them there")


async def require_another_owner(tx: Tx, organization_id: int, user_id: int) -> None:
    """Raise Invalid for the last owner of an organization, which must be locked."""
    if await team_rows.owner_ids(tx, organization_id, limit=2) == [user_id]:
        raise Invalid.field("username", "last_owner", "is the last owner of the organization")


async def announce(tx: Tx, organization_id: int, user_id: int) -> None:
    """Emit the current membership of ``user_id`` in the organization."""
    tx.emit(
        MembershipChanged(
            organization_id=organization_id,
            user_id=user_id,
            member=await memberships.exists(tx, organization_id, user_id),
            owner=await team_rows.is_owner(tx, organization_id, user_id),
            teams=await team_rows.ids_of(tx, organization_id, user_id),
        ),
        key=organization_id,
    )


async def set_public(
    tx: Tx, principal: Principal, organization_id: int, user_id: int, *, public: bool
) -> None:
    """Make the caller's own membership public or concealed. Raises Denied for other users and non-members."""
    access.require_own_membership(principal, user_id)
    if not await store.set_public(tx, organization_id, user_id, public=public):
        raise Denied("only members decide whether their own membership is public")


async def memberships_of(db: Executor, user_id: int, *, public_only: bool = False) -> dict[int, Membership]:
    """Return the memberships of a user by organization.

    With ``public_only``, return only public memberships.
    """
    by_organization: dict[int, list[store.MembershipRow]] = {}
    for row in await store.memberships_of(db, user_id, public_only=public_only):
        by_organization.setdefault(row.organization_id, []).append(row)
    return {organization_id: _membership(rows) for organization_id, rows in by_organization.items()}


def _membership(rows: Sequence[store.MembershipRow]) -> Membership:
    """Return the membership that the rows of one organization describe."""
    in_teams = [row for row in rows if row.team_id is not None]
    return Membership(
        owner=any(row.permission == TeamPermission.OWNER for row in in_teams),
        teams={row.team_id: access.permission_of_teams([row]) for row in in_teams if row.team_id},
        everywhere=access.permission_of_teams([row for row in in_teams if row.includes_all_repositories]),
        creates=any(row.can_create_org_repo for row in in_teams),
    )
