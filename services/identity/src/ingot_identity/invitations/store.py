"""SQL for invitations. The link belongs to a message whose subject is the invitation."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import (
    Boolean,
    Column,
    ColumnElement,
    ForeignKey,
    LargeBinary,
    String,
    Table,
    delete,
    false,
    func,
    insert,
    select,
    update,
)

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import Slice, TypedRow, fetch_first, fetch_page
from ingot_chassis.db.tables import LASTING_IDS, BigId, UtcDateTime
from ingot_identity.accounts.store.tables import metadata
from ingot_identity.messages.store import COUNTED_FOR

invitation = Table(
    "invitation",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    # One of the two is null.
    Column("team_id", ForeignKey("team.id", ondelete="CASCADE"), index=True),
    Column("repository_id", BigId, index=True),
    # What the person gets in a repository; a team has its own.
    Column("permission", String(10), nullable=False, default="", server_default=""),
    Column("inviter_id", ForeignKey("account.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("address_digest", LargeBinary(32), nullable=False),
    Column("sealed_address", LargeBinary, nullable=False),
    # True once an account was made by the link: no second one is.
    Column("registered", Boolean, nullable=False, default=False, server_default=false()),
    Column("created_at", UtcDateTime, nullable=False),
    # In the past once it was accepted or withdrawn.
    Column("expires_at", UtcDateTime, nullable=False, index=True),
    **LASTING_IDS,
)


class InvitationRow(TypedRow):
    id: int
    team_id: int | None
    repository_id: int | None
    permission: str
    inviter_id: int
    address_digest: bytes
    sealed_address: bytes
    registered: bool
    created_at: datetime
    expires_at: datetime


class Invited(NamedTuple):
    """The team or repository to which people are invited."""

    team_id: int | None = None
    repository_id: int | None = None

    @property
    def condition(self) -> ColumnElement[bool]:
        if self.team_id is not None:
            return invitation.c.team_id == self.team_id
        return invitation.c.repository_id == self.repository_id


async def add(db: Executor, **values: Any) -> int:
    statement = insert(invitation).values(created_at=now(), **values).returning(invitation.c.id)
    return int((await db.execute(statement)).scalar_one())


async def get(db: Executor, invitation_id: int) -> InvitationRow | None:
    """Return an invitation that has not ended, or None."""
    statement = select(invitation).where(invitation.c.id == invitation_id, _is_open())
    return await fetch_first(db, statement, InvitationRow)


async def list_page(db: Executor, invited: Invited, page: Slice) -> tuple[Sequence[InvitationRow], int]:
    """Return a page of open invitations to a team or repository, oldest first."""
    statement = select(invitation).where(invited.condition, _is_open())
    return await fetch_page(db, statement, page, InvitationRow, invitation.c.id)


async def end(db: Executor, invitation_id: int, invited: Invited) -> InvitationRow | None:
    """End an invitation, and return it. Return None if it had already ended."""
    statement = (
        update(invitation)
        .where(invitation.c.id == invitation_id, invited.condition, _is_open())
        .values(expires_at=now())
        .returning(invitation)
    )
    return await fetch_first(db, statement, InvitationRow)


async def end_of_address(db: Executor, invited: Invited, address_digest: bytes) -> list[int]:
    """End the invitations of an address. Return their ids."""
    statement = (
        update(invitation)
        .where(invited.condition, invitation.c.address_digest == address_digest, _is_open())
        .values(expires_at=now())
        .returning(invitation.c.id)
    )
    return list((await db.execute(statement)).scalars())


async def mark_registered(db: Executor, invitation_id: int) -> bool:
    """Record that an account was created. Return False if that was already recorded."""
    statement = (
        update(invitation)
        .where(invitation.c.id == invitation_id, ~invitation.c.registered, _is_open())
        .values(registered=True)
        .returning(invitation.c.id)
    )
    return (await db.execute(statement)).scalar() is not None


async def count_of_inviter(db: Executor, inviter_id: int) -> int:
    """Return the number of invitations that an account sent within the last hour, open and ended."""
    recent = invitation.c.created_at > now() - COUNTED_FOR
    statement = select(func.count()).select_from(invitation).where(invitation.c.inviter_id == inviter_id)
    return int((await db.execute(statement.where(recent))).scalar_one())


async def remove_of_repository(db: Executor, repository_id: int) -> None:
    await db.execute(delete(invitation).where(invitation.c.repository_id == repository_id))


async def remove_ended(db: Executor) -> None:
    """Delete ended invitations that no longer count against a limit."""
    await db.execute(delete(invitation).where(invitation.c.expires_at <= now() - COUNTED_FOR))


def _is_open() -> ColumnElement[bool]:
    return invitation.c.expires_at > now()
