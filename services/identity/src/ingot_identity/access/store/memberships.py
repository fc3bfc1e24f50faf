"""Memberships in organizations: the table, and the query for access decisions."""

from collections.abc import Collection

from sqlalchemy import Boolean, Column, ForeignKey, Index, String, Table, select

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.tables import partial_index
from ingot_chassis.security.principal import Principal
from ingot_identity.accounts.store.tables import AccountVisibility, metadata

MEMBERS = ("organization_id", "lower_login", "user_id")


membership = Table(
    "membership",
    metadata,
    Column("organization_id", ForeignKey("account.id", ondelete="CASCADE"), primary_key=True),
    Column("user_id", ForeignKey("account.id", ondelete="CASCADE"), primary_key=True, index=True),
    Column("public", Boolean, nullable=False, default=False),
    # The name of the user, by which members are listed; triggers write it (migration 0018).
    Column("lower_login", String(40), nullable=False, default="", server_default=""),
    Index("ix_membership_members", *MEMBERS),
    partial_index("ix_membership_public_members", "public", *MEMBERS, on_sqlite="public = 1"),
)


async def exists(db: Executor, organization_id: int, user_id: int, *, public_only: bool = False) -> bool:
    """True if the user is a member; with ``public_only`` only if the membership is public."""
    statement = select(membership.c.user_id).where(
        membership.c.organization_id == organization_id, membership.c.user_id == user_id
    )
    rows = await db.execute(statement.where(membership.c.public) if public_only else statement)
    return rows.first() is not None


def visible_levels(principal: Principal) -> Collection[AccountVisibility]:
    """Return the visibilities of organizations that the caller sees without being a member."""
    if principal.granted_only:
        return ()
    public = AccountVisibility.PUBLIC
    return (public, AccountVisibility.LIMITED) if principal.signed_in else (public,)
