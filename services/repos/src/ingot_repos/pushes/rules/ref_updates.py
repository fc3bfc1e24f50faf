"""Moves of branches and tags by API requests, always with the journal and the rules of a push."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any

from ingot_chassis.errors import Denied
from ingot_contracts.repos.access import reaches
from ingot_git.history.heads import BorrowedHead
from ingot_git.history.reachability import contains
from ingot_git.refs.refs import BRANCHES, ZERO_OID, RefChange, move_ref, update_refs
from ingot_git.storage.storage import Storage
from ingot_repos.access.rules import levels as access
from ingot_repos.catalog.store.accounts import AccountRow
from ingot_repos.catalog.store.repositories import RepositoryRow
from ingot_repos.protection.rules.contents import ContentJudge, Read
from ingot_repos.protection.rules.decisions import Actor, Rules
from ingot_repos.pushes.rules.journal import Pushes
from ingot_repos.pushes.rules.rights import PROTECTED


def require_changeable(row: RepositoryRow) -> None:
    """Raise Denied for an archived repository or a mirror, which accept no pushes."""
    access.require_unarchived(row)
    if row.mirror:
        raise Denied("a mirror cannot be pushed to")


class RefUpdates:
    """Moves of the refs of one repository. ``mover`` is the actor as rules see them.

    ``read_rules`` returns the current rules. They are read for each move, because a move may have waited for
    its turn. ``restricted``: the caller's token is restricted to some repositories, as for ``PushReceived``.
    """

    def __init__(
        self,
        storage: Storage,
        pushes: Pushes,
        row: RepositoryRow,
        actor: AccountRow,
        read_rules: Callable[[], Awaitable[Rules]],
        mover: Actor,
        judge: ContentJudge,
        *,
        restricted: bool,
    ) -> None:
        self._judge = judge
        self._storage, self._pushes, self._read_rules, self._mover = storage, pushes, read_rules, mover
        self.row, self.actor, self._restricted = row, actor, restricted

    async def apply(self, changes: Sequence[RefChange]) -> None:
        """Move all of the refs or none, if they have their expected values.

        The moves are announced even if the caller has disconnected. Raises RefMoved if a ref has another
        value, InvalidName, Denied.
        """
        await self._require(changes, partial(self._storage.call, self.row.id))
        names = [change.name for change in changes]

        async def move() -> None:
            if len(changes) == 1:
                await self._storage.call(self.row.id, move_ref, changes[0])
            else:
                await asyncio.to_thread(update_refs, self._storage.path(self.row.id), changes)

        await self._pushes.moved(
            self.row.id, self.actor.id, names, move, restricted=self._restricted, small=True
        )

    async def bring(
        self, head: BorrowedHead, ref: str, before: str, make_commit: Callable[[Any, str], str]
    ) -> str:
        """Call ``make_commit`` with repository and tip. Publish its commit for ``apply``, and return its id.

        Raises the errors of ``apply`` for rejected changes. Commits of another repository are checked before
        any object is copied. So a rejected object can never be referenced in this repository.
        """
        after = await head.act(make_commit)

        async def read(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
            return await head.act(lambda repo, _tip: function(repo, *args, **kwargs))

        if after != before:
            await self._require([RefChange(ref, before, after)], read)
            await head.copy_commit(after)
        return after

    async def _require(self, changes: Sequence[RefChange], read: Read) -> None:
        """Raise Denied unless the rules let the actor make these changes. ``read`` reads their commits.

        An actor without write access never moves a protected branch. The author of a pull request can give
        access only to unprotected branches.
        """
        require_changeable(self.row)
        rules = await self._read_rules()
        if not reaches(self._mover.level, "write") and any(
            rules.of_branch(change.name.removeprefix(BRANCHES)) for change in changes
        ):
            raise Denied(PROTECTED)
        forced = bool(rules.branches) and await self._is_forced(changes, read)
        rules.require(self._mover, changes, forced=forced)
        await self._judge.require(rules.refusals(self._mover, changes), changes, read)

    async def _is_forced(self, changes: Sequence[RefChange], read: Read) -> bool:
        """True if a branch gets a commit that does not contain its former commit."""
        for change in changes:
            moves = ZERO_OID not in (change.before, change.after)
            is_branch = change.name.startswith(BRANCHES)
            if is_branch and moves and not await read(contains, change.after, change.before):
                return True
        return False

    def uploading(self) -> AbstractAsyncContextManager[None]:
        """Keep the repository on this shard inside the block. Raises OnAnotherShard, Unavailable."""
        return self._pushes.uploading(self.row.id, self.actor.id)

    def turn(self) -> asyncio.Lock:
        """Return the lock for changes of this repository that must not overlap in this process."""
        return self._pushes.turn(self.row.id)
