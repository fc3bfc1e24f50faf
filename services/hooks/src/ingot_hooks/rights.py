"""Whether whoever answers for a hook still may: asked of repos and identity, at the latest when something is sent.

An event that may have cost somebody a right puts their hooks in doubt, so that they are asked about at once.
"""

import time
from collections import OrderedDict
from contextlib import suppress

import structlog

from ingot_chassis.database import Database
from ingot_chassis.errors import ApiError, Conflict, NotFound
from ingot_chassis.principal import Membership
from ingot_contracts.identity import Account
from ingot_contracts.repos import reaches
from ingot_hooks.bell import Bell
from ingot_hooks.clients.identity import Identity
from ingot_hooks.clients.repos import Repos
from ingot_hooks.core import rights
from ingot_hooks.store import deliveries
from ingot_hooks.store import hooks as store
from ingot_hooks.store.hooks import HookRow

log = structlog.get_logger()

BATCH = 100
REMEMBERED_SECONDS = 5.0
REMEMBERED = 10_000
NOBODY = Account(id=0, kind="user", login="", active=False)


class Rights:
    """A *yes* is remembered for 5 s, a *no* never."""

    def __init__(self, database: Database, identity: Identity, repos: Repos, bell: Bell) -> None:
        self._db, self._identity, self._repos, self._bell = database, identity, repos, bell
        self._granted: OrderedDict[tuple[int | None, int, int], float] = OrderedDict()

    async def run(self) -> None:
        """Settle doubts until cancelled."""
        while True:
            await self.step()
            await self._bell.wait()

    async def step(self) -> int:
        """Settle what can be; how many hooks that were."""
        async with self._db.read() as db:
            doubted = await store.list_doubted(db, BATCH)
        settled = 0
        for hook in doubted:
            try:
                await self.settle(hook)
                settled += 1
            except ApiError as error:
                log.warning("right not known, asking again", hook=hook.id, error=str(error))
        return settled

    async def refusal(self, hook: HookRow, repository_id: int) -> str:
        """Why nothing of that repository may be sent to the hook, empty when it may.

        Raises ApiError when nobody can say.
        """
        key = (hook.organization_id, hook.creator_id, repository_id)  # the same for all their hooks there
        asked_at = time.monotonic()
        if hook.doubted_at is None and self._granted.get(key, asked_at) > asked_at:
            return ""
        lost = await self.settle(hook)
        if lost:
            return f"the hook was switched off: {lost}"
        if hook.organization_id is not None and not await self._sees(hook, repository_id):
            return rights.UNSEEN
        self._granted[key] = asked_at + REMEMBERED_SECONDS
        if len(self._granted) > REMEMBERED:
            self._granted.popitem(last=False)
        return ""

    async def settle(self, hook: HookRow) -> str:
        """Why the hook was switched off, empty when it goes on. Raises ApiError when nobody can say."""
        lost = await self._lost(hook)
        if not lost and hook.doubted_at is None:
            return ""
        async with self._db.transaction() as tx:
            if not lost:
                await store.trust(tx, hook)
            elif await store.switch_off(tx, hook, lost):
                await deliveries.end_pending(tx, [hook.id], f"the hook was switched off: {lost}")
            else:
                raise Conflict("the hook was changed meanwhile")
        return lost

    async def _lost(self, hook: HookRow) -> str:
        if hook.repository_id is not None:
            return rights.lost_in_repository(await self._repos.level(hook.repository_id, hook.creator_id))
        return rights.lost_in_organization(*await self._standing(hook))

    async def _sees(self, hook: HookRow, repository_id: int) -> bool:
        """Whether the keeper of a hook of an organization sees one of its repositories, which may be gone."""
        if reaches(await self._repos.level(repository_id, hook.creator_id), "read"):
            return True
        return rights.sees_all(*await self._standing(hook))

    async def _standing(self, hook: HookRow) -> tuple[Account, Membership | None]:
        """Who the keeper of a hook of an organization is, and what in that organization."""
        with suppress(NotFound):
            account = await self._identity.account(hook.creator_id)
            return account, (await self._identity.memberships(hook.creator_id)).get(hook.organization_id)
        return NOBODY, None
