"""Deleting accounts, and restoring one that turns out to own a repository.

An account that owns repositories cannot be deleted. Identity has a copy of who owns what: repos sends it with each
new repository and each change of owner (``PUT /internal/repositories/{id}``), before it answers its own caller, also
while NATS is down. If the owner is deleted by then, repos removes the new repository again. Afterwards an event
repeats the same.

One case remains: a process of repos ends, or cannot reach identity, between the two steps. The event of the
repository then arrives for a deleted owner. The account is restored under its id, and nobody can sign in with it
until an administrator allows it; until then repos shows the old owner. To ask repos before a deletion would be a call
in the wrong direction, and would still miss a repository that is created a moment later.
"""

import asyncio
import time

from ingot_chassis.db.database import Database
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Invalid
from ingot_contracts.identity import (
    OrganizationCreated,
    OrganizationDeleted,
    Ownership,
    UserCreated,
    UserDeleted,
)
from ingot_contracts.repos import Repository
from ingot_identity.core import members, organizations
from ingot_identity.core.accounts import require_another_administrator
from ingot_identity.core.locks import lock_for_deletion, lock_for_share, lock_for_update
from ingot_identity.core.presenter import Presenter
from ingot_identity.store import accounts, former_names, repositories, tombstones
from ingot_identity.store import members as memberships
from ingot_identity.store.tables import AccountKind, AccountRow, TombstoneRow


async def wait_for_events(db: Database, account_id: int, patience: float) -> None:
    """Before a deletion: wait at most ``patience`` seconds for the events of repositories that were just deleted."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        async with db.read() as reader:
            if not await repositories.owned_by(reader, account_id):
                return
        await asyncio.sleep(patience / 20)


async def delete_user(tx: Tx, account_id: int) -> None:
    """Delete a user with their keys, tokens and addresses.

    Raises Invalid for an owner of repositories, a member of an organization and the last administrator.
    """
    await require_another_administrator(tx, account_id)
    row = await lock_for_deletion(tx, account_id)
    if await memberships.in_any(tx, account_id):
        raise Invalid.field("username", "member", f"{row.login!r} belongs to an organization")
    await _remove(tx, row, fallback_owner_id=0)
    tx.emit(UserDeleted(user_id=account_id, login=row.login), key=account_id)


async def delete_organization(tx: Tx, organization_id: int, *, deleted_by: int) -> None:
    """Delete an organization with its teams. Raises Invalid while it owns repositories."""
    row = await lock_for_deletion(tx, organization_id)
    await _remove(tx, row, fallback_owner_id=deleted_by)
    tx.emit(OrganizationDeleted(organization_id=organization_id, login=row.login), key=organization_id)


async def _remove(tx: Tx, row: AccountRow, *, fallback_owner_id: int) -> None:
    if await repositories.owned_by(tx, row.id):
        raise Invalid.field("username", "owner", f"{row.login!r} owns repositories")
    await tombstones.write(tx, row, fallback_owner_id=fallback_owner_id)
    await accounts.remove(tx, row.id)


async def save_ownership(tx: Tx, repository_id: int, ownership: Ownership) -> None:
    """Note the owner of a repository, unless a later event has changed it. Raises NotFound for a deleted owner."""
    await lock_for_share(tx, ownership.owner_id)
    await repositories.save(
        tx,
        repository_id,
        owner_id=ownership.owner_id,
        name=ownership.name,
        private=ownership.private,
        before=ownership.before,
    )


async def save_repository(tx: Tx, presenter: Presenter, repository: Repository) -> None:
    """Note the owner of a repository from an event, and restore the owner if the account was deleted."""
    owner_id = repository.owner.id
    await repositories.save(
        tx, repository.id, owner_id=owner_id, name=repository.name, private=repository.private
    )
    tombstone = await tombstones.lock(tx, owner_id)
    if tombstone is not None:
        await _restore(tx, presenter, tombstone)


async def _restore(tx: Tx, presenter: Presenter, tombstone: TombstoneRow) -> None:
    await tombstones.release(tx, tombstone.account_id)
    login = tombstone.login
    if await accounts.get_by_login(tx, login) is not None or await former_names.get(tx, login) is not None:
        login = f"returned-{tombstone.account_id}"
    is_user = tombstone.kind == AccountKind.USER
    await accounts.add(
        tx, id=tombstone.account_id, kind=tombstone.kind, login=login, login_prohibited=is_user
    )
    row = await lock_for_update(tx, tombstone.account_id)
    if is_user:
        tx.emit(UserCreated(account=presenter.account(row)), key=row.id)
        return
    owner_id = await _fallback_owner(tx, tombstone.fallback_owner_id)
    await organizations.create_default_team(tx, row.id, owner_id)
    tx.emit(OrganizationCreated(account=presenter.account(row), owner_id=owner_id), key=row.id)
    if owner_id:
        await members.announce(tx, row.id, owner_id)


async def _fallback_owner(tx: Tx, account_id: int) -> int:
    """``account_id``, who deleted the organization, or else the first administrator; 0 when there is neither."""
    if await accounts.get(tx, account_id) is not None:
        return account_id
    return next(iter(await accounts.lock_administrators(tx)), 0)
