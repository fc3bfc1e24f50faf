"""Moving refs so that nobody misses it, although git and the database commit by themselves.

Before refs move, a journal entry says which ones are about to, and whose doing it is. Afterwards `settle`
compares these refs on disk with the ledger and, in one transaction, brings the ledger up to date, announces
what really changed and takes the entry out. A process that dies in between leaves the entry; once its lease
is over, another process settles it.
"""

import asyncio
import weakref
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import msgspec
import structlog

from ingot_chassis.database import Database, Tx
from ingot_chassis.errors import Conflict
from ingot_chassis.tables import now
from ingot_contracts.identity import GHOST, User
from ingot_contracts.repos import NO_COMMIT, PushReceived, Repository
from ingot_repos.core.names import LONGEST_BRANCH
from ingot_repos.core.repositories import abandon
from ingot_repos.core.views import Viewing, addresses, user
from ingot_repos.git.errors import RepositoryNotFound
from ingot_repos.git.pushed import MovedRef, Pushed, read_pushed
from ingot_repos.git.refs import BRANCHES, TAGS, set_default_branch
from ingot_repos.git.storage import Storage
from ingot_repos.store import accounts, refs, repositories

log = structlog.get_logger()

MAX_COMMITS = 20
SWEEP_SECONDS = 5.0
CREATION_SECONDS = 120


class Pushes:
    """The journal and the ledger of this process's repositories."""

    def __init__(
        self, database: Database, storage: Storage, viewing: Viewing, *, lease_seconds: int, shard: str
    ) -> None:
        self._db, self._storage, self._viewing = database, storage, viewing
        self._lease, self._shard = timedelta(seconds=lease_seconds), shard
        self._open: dict[int, dict[str, Any]] = {}
        self._locks = weakref.WeakValueDictionary[int, asyncio.Lock]()

    def turn(self, repository_id: int) -> asyncio.Lock:
        """For what must happen one after the other in one repository."""
        lock = self._locks.get(repository_id)
        if lock is None:
            lock = self._locks[repository_id] = asyncio.Lock()
        return lock

    @asynccontextmanager
    async def journaled(
        self,
        repository_id: int,
        user_id: int,
        names: Sequence[str],
        *,
        merged_pull: int = 0,
        confined: bool = False,
    ) -> AsyncIterator[int]:
        """Refs ``names`` may move inside the block; yields the id for ``settle``.

        The entry is on disk before the block begins and its lease is kept while it runs.
        """
        written: dict[str, Any] = {
            "repository_id": repository_id,
            "user_id": user_id,
            "refs": [name for name in names if _is_announced(name)],
            "merged_pull": merged_pull,
            "confined": confined,
        }
        async with self._db.transaction() as tx:
            push_id = await refs.add_push(tx, **written, lease=now() + self._lease)
        self._open[push_id] = written
        keeping = asyncio.create_task(self._keep(push_id))
        try:
            yield push_id
        finally:
            keeping.cancel()
            del self._open[push_id]

    async def merge_of(self, repository_id: int, number: int) -> str | None:
        """What the base branch became when this pull request was merged; None when it was not.

        Raises Conflict while a merge has begun whose outcome is unknown: its process works, or died and is
        about to be swept up after.
        """
        async with self._db.read() as db:
            # One statement: an outcome is recorded in the transaction that takes the entry out.
            merged, under_way = await refs.merge_of(db, repository_id, number)
        if under_way and merged is None:
            raise Conflict("the pull request is being merged")
        return merged

    async def settle(self, push_id: int) -> None:
        """Announce what the refs of this entry did, and take it out. Once is as good as twice."""
        settled = False
        while not settled:
            async with self._db.read() as db:
                entry = await refs.get_push(db, push_id)
            if entry is not None:
                settled = await self._settle_once(entry)
            elif anew := await self._written_anew(push_id):
                push_id = anew
            else:
                settled = True

    async def _written_anew(self, push_id: int) -> int:
        """The entry of a push of this process whose lease was lost, so that it was settled too early; 0: none."""
        written = self._open.get(push_id)
        if written is None:
            return 0
        async with self._db.read() as db:
            if await repositories.get_raw(db, written["repository_id"]) is None:
                return 0
        async with self._db.transaction() as tx:
            return await refs.add_push(tx, **written, lease=now() + self._lease)

    async def sweep(self) -> int:
        """Settle what dead processes left; how many entries that were."""
        async with self._db.read() as db:
            left = await refs.left_behind(db, self._shard)
        settled = 0
        for entry in left:
            async with self._db.transaction() as tx:
                mine = await refs.take_over(tx, entry.id, entry.lease_until, now() + self._lease)
            if mine:
                await self.settle(entry.id)
                settled += 1
        return settled

    async def sweep_for_ever(self) -> None:
        """A background loop: finish interrupted pushes, clear away interrupted creations."""
        while True:
            if count := await self.sweep():
                log.warning("finished interrupted pushes", count=count)
            await self.clear_abandoned()
            await asyncio.sleep(SWEEP_SECONDS)

    async def clear_abandoned(self) -> None:
        """Free the names of repositories whose creation was interrupted."""
        async with self._db.read() as db:
            left = await repositories.abandoned(db, now() - timedelta(seconds=CREATION_SECONDS), self._shard)
        for repository_id in left:
            await asyncio.to_thread(self._storage.delete, repository_id)
            async with self._db.transaction() as tx:
                await abandon(tx, repository_id)

    async def _keep(self, push_id: int) -> None:
        while True:
            await asyncio.sleep(self._lease.total_seconds() / 3)
            try:
                async with self._db.transaction() as tx:
                    await refs.extend_push(tx, push_id, now() + self._lease)
            except Exception as error:  # noqa: BLE001 - tried again soon; `settle` copes with a lost lease
                log.warning("lease of a push not extended", push=push_id, error=repr(error))

    async def _settle_once(self, entry: Any) -> bool:
        """False when somebody else changed the ledger meanwhile, and it has to be read again."""
        names = msgspec.json.decode(entry.refs, type=list[str])
        async with self._db.read() as db:
            known = await refs.ledger(db, entry.repository_id, names)
        pushed, changed = await self._read(entry, known, names)
        if pushed.moved:
            changed["default_branch"] = await self._default_branch(entry, pushed)
        async with self._db.transaction() as tx:
            if pushed.moved and not await refs.advance(
                tx, entry.repository_id, entry.ref_version, empty=pushed.empty, **changed
            ):
                return False
            if await refs.remove_push(tx, entry.id) and pushed.moved:
                await self._announce(tx, entry, pushed)
        return True

    async def _read(
        self, entry: Any, known: dict[str, str], names: list[str]
    ) -> tuple[Pushed, dict[str, Any]]:
        """What moved, and how large the repository is now; a merge brings too little to measure that."""
        measured = not entry.merged_pull

        def read(repo: Any) -> tuple[Pushed, dict[str, Any]]:
            pushed = read_pushed(repo, known, names, entry.default_branch, limit=MAX_COMMITS)
            return pushed, {"size": self._storage.size(entry.repository_id)} if measured else {}

        try:
            return await self._storage.call(entry.repository_id, read)
        except RepositoryNotFound:
            return Pushed((), empty=True), {}

    async def _default_branch(self, entry: Any, pushed: Pushed) -> str:
        """The default branch; the first push to an empty repository may bring another one."""
        brought = [
            moved.change.name.removeprefix(BRANCHES)
            for moved in pushed.moved
            if moved.change.name.startswith(BRANCHES) and moved.change.after != NO_COMMIT
        ]
        fitting = [name for name in brought if len(name) <= LONGEST_BRANCH]
        if not entry.empty or not fitting or entry.default_branch in brought:
            return str(entry.default_branch)
        main = next((name for name in ("main", "master") if name in fitting), fitting[0])
        await self._storage.call(entry.repository_id, set_default_branch, main)
        return main

    async def _announce(self, tx: Tx, entry: Any, pushed: Pushed) -> None:
        await refs.record(
            tx,
            entry.repository_id,
            {
                moved.change.name: None if moved.change.after == NO_COMMIT else moved.change.after
                for moved in pushed.moved
            },
        )
        row = await repositories.get_raw(tx, entry.repository_id)
        pusher = await accounts.get(tx, entry.user_id)
        infos = [commit.commit for moved in pushed.moved for commit in moved.commits]
        logins = await accounts.logins_by_email(tx, addresses(*infos))
        if row is None:
            return
        repository = self._viewing.repository(row)
        for moved in pushed.moved:
            event = self._event(moved, repository, user(pusher) if pusher else GHOST, logins)
            if moved.change.name.startswith(BRANCHES) and entry.merged_pull:
                await refs.record_merge(tx, row.id, entry.merged_pull, moved.change.after)
                event = msgspec.structs.replace(event, merged_pull=entry.merged_pull)
            tx.emit(
                msgspec.structs.replace(event, owner_kind=row.owner_kind, confined=entry.confined), key=row.id
            )

    def _event(
        self, moved: MovedRef, repository: Repository, pusher: User, logins: dict[str, str]
    ) -> PushReceived:
        change = moved.change
        continued = change.name.startswith(BRANCHES) and NO_COMMIT not in (change.before, change.after)
        root = self._viewing.root
        return PushReceived(
            repository=repository,
            pusher=pusher,
            ref=change.name,
            before=change.before,
            after=change.after,
            compare_url=(
                f"{root}{repository.full_name}/compare/{change.before}...{change.after}"
                if continued
                else root
            ),
            commits=[
                self._viewing.commit(
                    repository.full_name,
                    found.commit,
                    logins,
                    added=list(found.added),
                    removed=list(found.removed),
                    modified=list(found.modified),
                )
                for found in moved.commits
            ],
            total_commits=moved.total,
            forced=moved.forced,
        )


def _is_announced(name: str) -> bool:
    """Branches and tags whose names are text."""
    return name.startswith((BRANCHES, TAGS)) and not any("\ud800" <= char <= "\udfff" for char in name)
