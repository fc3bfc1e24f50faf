"""Checks of the permission of the user responsible for a hook: before each attempt, and after events.

An event that may have changed a permission marks the affected hooks. They are checked at once.
"""

from contextlib import suppress

import structlog

from ingot_chassis.db.database import Database
from ingot_chassis.errors import ApiError, Conflict, NotFound
from ingot_chassis.security.grants import GrantCache
from ingot_chassis.security.principal import Membership
from ingot_contracts.identity.accounts import Account
from ingot_contracts.repos.access import AccessLevel
from ingot_hooks.catalog.rules import access
from ingot_hooks.catalog.rules.wakeup import PermissionWakeup
from ingot_hooks.catalog.store import queries as store
from ingot_hooks.catalog.store.queries import HookRow
from ingot_hooks.catalog.store.tables import DEFAULT, SYSTEM
from ingot_hooks.clients.identity import HttpIdentity
from ingot_hooks.clients.repos import HttpRepos
from ingot_hooks.deliveries.rules.deactivation import announce_deactivation
from ingot_hooks.deliveries.store import queries as deliveries

log = structlog.get_logger()

BATCH = 100
DELETED_USER = Account(id=0, kind="user", login="", active=False)


class PermissionChecker:
    """Requests permissions from repos and identity. Grants are cached for at most 5 s, refusals never."""

    def __init__(
        self, database: Database, identity: HttpIdentity, repos: HttpRepos, wakeup: PermissionWakeup
    ) -> None:
        self._db, self._identity, self._repos, self._wakeup = database, identity, repos, wakeup
        self._grants: GrantCache[tuple[int | None, int, int, str], bool] = GrantCache()
        """Grants by organization, user, repository and event: equal keys have equal answers."""

    async def run(self) -> None:
        """Check hooks that wait for a permission check, until cancelled."""
        while True:
            await self.step()
            await self._wakeup.wait()

    async def step(self) -> int:
        """Check hooks that wait for a permission check. Return the number of completed checks."""
        async with self._db.read() as db:
            hooks = await store.list_awaiting_permission_check(db, BATCH)
        count = 0
        for hook in hooks:
            try:
                await self.check(hook)
                count += 1
            except ApiError as error:
                log.warning("permission not checked, trying again", hook=hook.id, error=str(error))
        return count

    async def refusal(self, hook: HookRow, repository_id: int, event: str) -> str:
        """Return the reason not to send such an event to the hook; empty if it may be sent.

        Raises ApiError if repos or identity cannot answer.
        """
        key = (hook.organization_id, hook.creator_id, repository_id, event)
        started_at = self._grants.clock()
        if hook.doubted_at is None and self._grants.get(key):
            return ""
        reason = await self.check(hook)
        if reason:
            return f"the hook was switched off: {reason}"
        if hook.organization_id is not None and not await self._sees(hook, repository_id, event):
            return access.HIDDEN_REPOSITORY
        self._grants.put(key, value=True, since=started_at)
        return ""

    async def check(self, hook: HookRow) -> str:
        """Switch the hook off if its responsible user has lost the permission. Return the reason, or "".

        Raises ApiError if repos or identity cannot answer, and Conflict if the hook was changed.
        """
        reason = await self._lost_permission(hook)
        if not reason and hook.doubted_at is None:
            return ""
        async with self._db.transaction() as tx:
            if not reason:
                await store.end_permission_check(tx, hook)
            elif await store.deactivate(tx, hook, reason):
                await deliveries.end_pending(tx, [hook.id], f"the hook was switched off: {reason}")
                announce_deactivation(tx, hook, reason)
            else:
                raise Conflict("the hook was changed meanwhile")
        return reason

    async def _lost_permission(self, hook: HookRow) -> str:
        if hook.repository_id is not None:
            return access.lost_repository((await self._access(hook.repository_id, hook.creator_id)).level)
        if hook.organization_id in (SYSTEM, DEFAULT):
            return access.lost_server(await self._account(hook.creator_id))
        if hook.organization_id == hook.creator_id:
            return access.lost_account(await self._account(hook.creator_id))
        return access.lost_organization(*await self._account_and_membership(hook))

    async def _sees(self, hook: HookRow, repository_id: int, event: str) -> bool:
        """True if the responsible user of a hook may read the content of an event of a repository.

        The repository may be deleted. False if the user may no longer use the hook.
        """
        if hook.organization_id in (SYSTEM, hook.creator_id):
            return True
        if access.sees(await self._access(repository_id, hook.creator_id), event):
            return True
        return access.sees_all_repositories(*await self._account_and_membership(hook), event)

    async def _access(self, repository_id: int, account_id: int) -> AccessLevel:
        try:
            return await self._repos.access_of_user(repository_id, account_id)
        except NotFound:
            return AccessLevel(level="none")

    async def _account(self, account_id: int) -> Account:
        with suppress(NotFound):
            return await self._identity.account(account_id)
        return DELETED_USER

    async def _account_and_membership(self, hook: HookRow) -> tuple[Account, Membership | None]:
        """Return the user responsible for an organization's hook, and the user's membership, or None.

        A deleted user is returned as ``DELETED_USER``.
        """
        with suppress(NotFound):
            account = await self._identity.account(hook.creator_id)
            memberships = await self._identity.memberships(hook.creator_id)
            return account, memberships.get(hook.organization_id or 0)
        return DELETED_USER, None
