"""Deleting accounts, and bringing one back that turns out to own something.

Whether an account owns repositories is told by repos before it says so to anybody else, also while NATS is away: a
new repository is taken back when its owner is gone by then. Events tell it again, and that one is gone.

What is left is a process of repos that dies, or cannot reach identity, at the wrong moment. The repository then decides:
when its event arrives, the account comes back under its id, and nobody signs in with it until an administrator says so.
Meanwhile repos keeps naming the owner. Asking repos instead would be a call upwards, and still be too early for a
repository that is made a moment later.
"""

import asyncio
import time
from typing import Any

from ingot_chassis.database import Database, Tx
from ingot_chassis.errors import Invalid
from ingot_contracts.identity import (
    OrganizationCreated,
    OrganizationDeleted,
    Ownership,
    UserCreated,
    UserDeleted,
)
from ingot_contracts.repos import Repository
from ingot_identity.core import accounts as use_cases
from ingot_identity.core import organizations
from ingot_identity.core.holding import held, held_for_deletion, kept
from ingot_identity.core.views import Viewing
from ingot_identity.store import accounts, departures, repositories
from ingot_identity.store import organizations as memberships


async def wait_for_news(db: Database, account_id: int, patience: float) -> None:
    """Before the decision: let events arrive that are under way, of repositories just deleted."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        async with db.read() as reader:
            if not await repositories.owned_by(reader, account_id):
                return
        await asyncio.sleep(patience / 20)


async def delete_user(tx: Tx, account_id: int) -> None:
    """Delete a user with their keys, tokens and addresses. Raises Invalid while something depends on them."""
    await use_cases.require_another_administrator(tx, account_id)
    row = await held_for_deletion(tx, account_id)
    if await memberships.in_any(tx, account_id):
        raise Invalid.field("username", "member", f"{row.login!r} belongs to an organization")
    await _remove(tx, row, heir_id=0)
    tx.emit(UserDeleted(user_id=account_id, login=row.login), key=account_id)


async def delete_organization(tx: Tx, organization_id: int, *, by: int) -> None:
    """Delete an organization with its teams. Raises Invalid while it owns repositories."""
    row = await held_for_deletion(tx, organization_id)
    await _remove(tx, row, heir_id=by)
    tx.emit(OrganizationDeleted(organization_id=organization_id, login=row.login), key=organization_id)


async def _remove(tx: Tx, row: Any, *, heir_id: int) -> None:
    if await repositories.owned_by(tx, row.id):
        raise Invalid.field("username", "owner", f"{row.login!r} owns repositories")
    await departures.note(tx, row, heir_id)
    await accounts.remove(tx, row.id)


async def repository_told(tx: Tx, repository_id: int, told: Ownership) -> None:
    """Note whose a repository is, unless an event has told better since. Raises NotFound for an owner who is gone."""
    await kept(tx, told.owner_id)
    await repositories.put(
        tx,
        repository_id,
        owner_id=told.owner_id,
        name=told.name,
        private=told.private,
        before=told.before,
    )


async def repository_owned(tx: Tx, viewing: Viewing, repository: Repository) -> None:
    """Note whose a repository is; an owner who was deleted meanwhile comes back."""
    owner_id = repository.owner.id
    await repositories.put(
        tx, repository.id, owner_id=owner_id, name=repository.name, private=repository.private
    )
    gone = await departures.lock(tx, owner_id)
    if gone is not None:
        await _bring_back(tx, viewing, gone)


async def _bring_back(tx: Tx, viewing: Viewing, gone: Any) -> None:
    await departures.forget(tx, gone.account_id)
    login = gone.login
    if await accounts.get_by_login(tx, login) is not None:
        login = f"returned-{gone.account_id}"
    await accounts.add(
        tx, id=gone.account_id, kind=gone.kind, login=login, login_prohibited=gone.kind == "user"
    )
    row = await held(tx, gone.account_id)
    if gone.kind == "user":
        tx.emit(UserCreated(account=viewing.account(row)), key=row.id)
        return
    owner_id = await _heir(tx, gone.heir_id)
    await organizations.furnish(tx, row.id, owner_id)
    tx.emit(OrganizationCreated(account=viewing.account(row), owner_id=owner_id), key=row.id)
    if owner_id:
        await organizations.announce_membership(tx, row.id, owner_id)


async def _heir(tx: Tx, heir_id: int) -> int:
    """Who deleted it, or else the first administrator; 0 when there is neither."""
    if await accounts.get(tx, heir_id) is not None:
        return heir_id
    return next(iter(await accounts.lock_administrators(tx)), 0)
