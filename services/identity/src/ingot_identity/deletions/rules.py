"""Deletion of accounts. An account is restored if a later event shows that it owns a repository.

An account that owns repositories cannot be deleted. identity stores the owner of each repository. For each
new repository and each change of owner, repos takes these steps:

1. It commits the change, and an event for it.
2. It sends the owner to identity (``PUT /internal/repositories/{id}``) before it responds to its caller. This
   works while NATS is unavailable. If the call fails, for example because the owner is deleted, repos removes
   a new repository.
3. The event reaches identity and repeats the owner.

If repos stops or cannot reach identity in step 2, the event may name a deleted owner. Then the account is
restored with its id, and its sign-in is prohibited until an administrator allows it. repos shows the old
owner until the account is restored.

identity does not ask repos before a deletion: identity must not depend on repos, and a repository that is
created a moment later would be missed.
"""

import contextlib

from ingot_chassis.db.database import Database
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Invalid, NotFound
from ingot_chassis.jobs.loops import polls
from ingot_contracts.identity.accounts import Ownership, User
from ingot_contracts.identity.events import (
    OrganizationCreated,
    OrganizationDeleted,
    PurgeRequested,
    UserCreated,
    UserDeleted,
)
from ingot_contracts.repos.repositories import Repository
from ingot_identity.access.store import teams
from ingot_identity.accounts.rules.locks import lock_for_deletion, lock_for_share, lock_for_update
from ingot_identity.accounts.rules.presenter import Presenter
from ingot_identity.accounts.store import former_names
from ingot_identity.accounts.store import queries as accounts
from ingot_identity.accounts.store.tables import AccountKind, AccountRow
from ingot_identity.deletions import store
from ingot_identity.deletions.store import TombstoneRow
from ingot_identity.invitations import store as invitations
from ingot_identity.members import rules as members
from ingot_identity.members import store as memberships
from ingot_identity.organizations import rules as organizations
from ingot_identity.repositories import store as repositories
from ingot_identity.users.rules import edit_user, require_another_administrator


async def wait_for_events(db: Database, account_id: int, patience: float) -> None:
    """Wait until the account owns no repositories, at most ``patience`` seconds.

    Events of repositories that were just deleted may not have arrived yet.
    """
    async for _ in polls(patience):
        async with db.read() as reader:
            if not await repositories.owned_by(reader, account_id):
                return


async def delete_user(tx: Tx, account_id: int) -> None:
    """Delete a user with all keys, tokens and addresses.

    Raises Invalid for an owner of repositories, a member of an organization and the last administrator.
    """
    await require_another_administrator(tx, account_id)
    row = await lock_for_deletion(tx, account_id)
    if await memberships.in_any(tx, account_id):
        raise Invalid.field("username", "member", f"{row.login!r} belongs to an organization")
    await _remove(tx, row, fallback_owner_id=0)
    tx.emit(UserDeleted(user_id=account_id, login=row.login), key=account_id)


async def purge_user(tx: Tx, presenter: Presenter, account_id: int, requested_by: User) -> None:
    """Delete a user with all repositories, and with the organizations without another owner.

    The user can no longer sign in. repos deletes the repositories one by one. The account is deleted after
    the last one. A repeated request continues a purge. Raises NotFound, and Invalid for the last
    administrator.
    """
    await edit_user(tx, presenter, account_id, {"login_prohibited": True})
    account_ids = [account_id]
    for organization_id in await memberships.list_organization_ids(tx, account_id):
        await lock_for_update(tx, organization_id)
        if await teams.owner_ids(tx, organization_id, limit=2) == [account_id]:
            account_ids.insert(0, organization_id)
        else:
            await members.remove(tx, organization_id, account_id)
    for one in account_ids:
        count = await repositories.count_owned(tx, [one])
        await store.add_purge(tx, one, account_id, requested_by=requested_by.id, repositories=count)
        if count:
            tx.emit(PurgeRequested(account_id=one, requested_by=requested_by), key=one)
    for one in account_ids:
        await finish_purge(tx, one)


async def forget_repository(tx: Tx, repository_id: int) -> None:
    """Delete the ownership of a deleted repository.

    Finish the purge of its owner if no repositories are left.
    """
    await invitations.remove_of_repository(tx, repository_id)
    owner_id = await repositories.remove(tx, repository_id)
    if owner_id is not None:
        await finish_purge(tx, owner_id)


async def finish_purge(tx: Tx, account_id: int) -> None:
    """Delete a purged account if it no longer owns repositories.

    The user of a purge is deleted after the organizations.
    """
    purge = await store.lock_purge(tx, account_id)
    if purge is None or await repositories.owned_by(tx, account_id):
        return
    if account_id != purge.user_id:
        await store.remove_purge(tx, account_id)
        if await accounts.get(tx, account_id) is not None:
            await delete_organization(tx, account_id, deleted_by=purge.requested_by)
        await finish_purge(tx, purge.user_id)
    elif len(await store.list_purges(tx, account_id)) == 1:
        await store.remove_purge(tx, account_id)
        with contextlib.suppress(Invalid, NotFound):  # a member by now, or the last administrator
            await delete_user(tx, account_id)


async def delete_organization(tx: Tx, organization_id: int, *, deleted_by: int) -> None:
    """Delete an organization with its teams. Raises Invalid while it owns repositories."""
    row = await lock_for_deletion(tx, organization_id)
    await _remove(tx, row, fallback_owner_id=deleted_by)
    tx.emit(OrganizationDeleted(organization_id=organization_id, login=row.login), key=organization_id)


async def _remove(tx: Tx, row: AccountRow, *, fallback_owner_id: int) -> None:
    if await repositories.owned_by(tx, row.id):
        raise Invalid.field("username", "owner", f"{row.login!r} owns repositories")
    await store.write(tx, row, fallback_owner_id=fallback_owner_id)
    await accounts.remove(tx, row.id)


async def save_ownership(tx: Tx, repository_id: int, ownership: Ownership) -> None:
    """Record the owner of a repository, unless a later event has changed it.

    Raises NotFound for a deleted owner.
    """
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
    """Record the owner of a repository from an event. Restore the owner if the account was deleted."""
    owner_id = repository.owner.id
    await repositories.save(
        tx, repository.id, owner_id=owner_id, name=repository.name, private=repository.private
    )
    tombstone = await store.lock(tx, owner_id)
    if tombstone is not None:
        await _restore(tx, presenter, tombstone)


async def _restore(tx: Tx, presenter: Presenter, tombstone: TombstoneRow) -> None:
    await store.release(tx, tombstone.account_id)
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
    """Return the account that deleted the organization, else the first administrator, else 0."""
    if await accounts.get(tx, account_id) is not None:
        return account_id
    return next(iter(await accounts.lock_administrators(tx)), 0)
