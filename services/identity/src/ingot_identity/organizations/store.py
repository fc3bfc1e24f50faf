"""SQL for the organizations of a user. Their rows are in the store of ``accounts``."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, exists, false, func, or_, select

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import Slice, fetch_page
from ingot_chassis.security.principal import Principal
from ingot_identity.access.store.memberships import membership, visible_levels
from ingot_identity.accounts.store import counts as list_counts
from ingot_identity.accounts.store.counts import total_of
from ingot_identity.accounts.store.searches import has_name, is_of_kind, list_accounts
from ingot_identity.accounts.store.tables import AccountKind, AccountRow, AccountVisibility, account


async def list_page(
    db: Executor, user_id: int, page: Slice, *, viewer: Principal | None
) -> tuple[Sequence[AccountRow], int]:
    """Return a page of the user's organizations that ``viewer`` may see, by name.

    A ``viewer`` of None sees all.
    """
    belongs: ColumnElement[bool] = membership.c.user_id == user_id
    if viewer is not None:
        belongs &= _shown_to(viewer)
    statement = select(account).join(membership, membership.c.organization_id == account.c.id).where(belongs)
    return await fetch_page(db, statement, page, AccountRow, account.c.lower_login)


async def list_visible(
    db: Executor, page: Slice, *, viewer: Principal | None, text: str = ""
) -> tuple[Sequence[AccountRow], int]:
    """Return a page of organizations that ``viewer`` may see, by name, and the number of all.

    ``text`` must occur in the name or the full name. A ``viewer`` of None sees all.
    """
    matches = and_(is_of_kind(AccountKind.ORGANIZATION, is_search=bool(text)), has_name(text))
    if viewer is not None:
        matches &= or_(_visible_to(viewer), _has_member(viewer.id))
    count = None if text else _count_visible(viewer)
    return await list_accounts(db, matches, page, account.c.lower_login, count=count)


def _count_visible(viewer: Principal | None) -> Select[Any]:
    """Return the query for the number of organizations that ``viewer`` may see.

    It adds the recorded counts of the visibilities that ``viewer`` sees. Only the viewer's own organizations
    with other visibilities are counted row by row.
    """
    if viewer is None:
        return total_of(*map(list_counts.organizations, AccountVisibility))
    inside = membership.join(account, account.c.id == membership.c.organization_id)
    hidden = select(func.count()).select_from(inside).where(membership.c.user_id == viewer.id)
    levels = visible_levels(viewer)
    more = hidden.where(account.c.visibility.not_in(levels)).scalar_subquery()
    return total_of(*map(list_counts.organizations, levels), more=more if viewer.signed_in else None)


def _shown_to(viewer: Principal) -> ColumnElement[bool]:
    """Return the condition for memberships that the viewer may see.

    Members of an organization see all its memberships. Others see public memberships of organizations that
    they may see.
    """
    return or_(_has_member(viewer.id), and_(membership.c.public, _visible_to(viewer)))


def _visible_to(viewer: Principal) -> ColumnElement[bool]:
    """Return the condition for organizations that ``viewer`` may see without being a member."""
    return account.c.visibility.in_(visible_levels(viewer))


def _has_member(user_id: int) -> ColumnElement[bool]:
    if not user_id:
        return false()
    own = membership.alias("own")
    return exists().where(own.c.organization_id == account.c.id, own.c.user_id == user_id)
