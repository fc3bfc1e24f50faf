"""Settling doubts: what an event made questionable is asked of its owner, and the hook goes on or rests."""

import structlog

from ingot_chassis.database import Database
from ingot_chassis.errors import ApiError, NotFound
from ingot_hooks.bell import Bell
from ingot_hooks.clients.identity import Identity
from ingot_hooks.clients.repos import Repos
from ingot_hooks.core import rights
from ingot_hooks.store import deliveries
from ingot_hooks.store import hooks as store
from ingot_hooks.store.hooks import HookRow

log = structlog.get_logger()

BATCH = 100


class Rights:
    """Asks repos and identity. Nothing is sent to a hook in doubt before it is settled."""

    def __init__(self, database: Database, identity: Identity, repos: Repos, bell: Bell) -> None:
        self._db, self._identity, self._repos, self._bell = database, identity, repos, bell

    async def run(self) -> None:
        """Settle until cancelled."""
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

    async def settle(self, hook: HookRow) -> str:
        """Why the hook was switched off, empty when it goes on. Raises ApiError when nobody can say."""
        lost = await self._lost(hook)
        async with self._db.transaction() as tx:
            if lost and await store.switch_off(tx, hook.id, lost, creator_id=hook.creator_id):
                await deliveries.cancel_pending(tx, [hook.id], f"the hook was switched off: {lost}")
            elif not lost:
                await store.trust(tx, hook)
        return lost

    async def _lost(self, hook: HookRow) -> str:
        if hook.repository_id is not None:
            return rights.lost_in_repository(await self._repos.level(hook.repository_id, hook.creator_id))
        try:
            await self._identity.account(hook.creator_id)
            held = await self._identity.memberships(hook.creator_id)
        except NotFound:
            return rights.LOST_ORGANIZATION
        return rights.lost_in_organization(hook.organization_id, set(held))
