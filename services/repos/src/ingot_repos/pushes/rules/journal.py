"""The journal of pushes: announces every move of a ref, although git and the database commit separately.

Before refs move, a journal entry names them and the account that moves them. Afterwards `settle` compares
these refs on disk with the ledger. In one transaction it updates the ledger, announces the refs that moved,
and removes the entry. A process that dies in between leaves the entry. When the lease of the entry expires,
another process settles it.
"""

import asyncio
import traceback
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, TypeVar

import msgspec
import structlog
from cachetools import TTLCache

from ingot_chassis.clock import now
from ingot_chassis.db.database import Database
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Conflict, NotFound, Unavailable
from ingot_chassis.jobs.jobs import Jobs
from ingot_chassis.jobs.loops import polls
from ingot_chassis.jobs.periodic import PeriodicTask
from ingot_contracts.identity.accounts import GHOST, User
from ingot_contracts.limits import EVENT_WIKI_PAGES
from ingot_contracts.repos.commits import NO_COMMIT
from ingot_contracts.repos.events import PushReceived, WikiChanged
from ingot_contracts.repos.repositories import Repository
from ingot_git.history.languages import main_language
from ingot_git.history.licenses import has_same_files, licenses_column
from ingot_git.history.push_changes import MovedRef, PushChanges, read_moved_refs, read_push_changes
from ingot_git.process.completion import complete
from ingot_git.process.errors import RepositoryDamaged, RepositoryNotFound
from ingot_git.refs.refs import BRANCHES, TAGS, set_default_branch
from ingot_git.storage.packs import write_due_commit_graph
from ingot_git.storage.read_cache import SharedCache
from ingot_git.storage.storage import Storage
from ingot_repos.catalog.store import accounts, repositories
from ingot_repos.catalog.store.repositories import RepositoryRow
from ingot_repos.commits.rules.excerpts import PUSH_EVENT_BOUNDS, omitted_from
from ingot_repos.placement.rules.owners import LOCK_MARGIN, MOST_LOCKED, MOVES, OnAnotherShard
from ingot_repos.placement.store import replicas, shards
from ingot_repos.presentation.rules.announcements import abandon
from ingot_repos.presentation.rules.presenter import Presenter, as_user, author_addresses, owner_kind
from ingot_repos.pushes.rules.default_branches import default_branch_after
from ingot_repos.pushes.rules.leases import extending_lease
from ingot_repos.pushes.rules.ref_locks import remove_before_change, remove_of_dead
from ingot_repos.pushes.rules.wiki_changes import page_changes
from ingot_repos.pushes.store import refs
from ingot_repos.pushes.store.refs import PushRow

log = structlog.get_logger()
T = TypeVar("T")

SWEEP_EVERY = timedelta(seconds=5)
CREATION_SECONDS = 120
MEASURE_SECONDS = 60.0


Follow = Callable[[Tx, Jobs, int], Awaitable[None]]
"""Schedules work that follows moved refs of a repository, such as pushes to its mirrors."""


class Pushes:
    """The journal and the ledger for the repositories of this shard."""

    def __init__(
        self,
        database: Database,
        storage: Storage,
        presenter: Presenter,
        follow: Follow,
        *,
        lease_seconds: int,
        shard: str,
        languages: SharedCache[dict[str, int]] | None = None,
    ) -> None:
        self._db, self._storage, self._presenter = database, storage, presenter
        self._follow = follow
        self._jobs, self._languages = Jobs(database), languages or SharedCache()
        self._lease, self._shard = timedelta(seconds=lease_seconds), shard
        self._open: dict[int, dict[str, Any]] = {}
        self._measured: TTLCache[int, bool] = TTLCache(10_000, MEASURE_SECONDS)
        self._locks = weakref.WeakValueDictionary[int, asyncio.Lock]()

    def turn(self, repository_id: int) -> asyncio.Lock:
        """Return the lock for changes of a repository that must not overlap in this process."""
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
        restricted: bool = False,
        options: Sequence[str] = (),
        imported: bool = False,
    ) -> AsyncIterator[int]:
        """Allow the refs ``names`` to move inside the block. Yield the id for ``settle``.

        Without names, replicas stay current. The entry is committed before the block begins, and its lease is
        extended while the block runs. ``options`` and ``imported`` are announced with the refs.
        Waits while the repository moves to another shard. Raises OnAnotherShard, Unavailable, NotFound.
        """
        values: dict[str, Any] = {
            "repository_id": repository_id,
            "user_id": user_id,
            "refs": [name for name in names if _is_announced(name)],
            "merged_pull": merged_pull,
            "restricted": restricted,
            "options": options,
            "moves_refs": bool(names),
            "imported": imported,
        }
        push_id = await self._add(values)
        self._open[push_id] = values
        try:
            with extending_lease(self._db, push_id, self._lease):
                await remove_before_change(self._db, self._storage, repository_id, push_id, values["refs"])
                yield push_id
        finally:
            del self._open[push_id]

    async def moved(
        self,
        repository_id: int,
        user_id: int,
        names: Sequence[str],
        move: Callable[[], Coroutine[Any, Any, T]],
        *,
        merged_pull: int = 0,
        restricted: bool = False,
        imported: bool = False,
        small: bool = False,
    ) -> T:
        """Return the result of ``move``, which may move the refs ``names``, and announce the moves.

        A cancelled caller waits until they are announced, because threads that move refs cannot be stopped.
        Takes the arguments and raises the errors of ``journaled`` and ``settle``.
        """

        async def move_and_settle() -> T:
            async with self.journaled(
                repository_id,
                user_id,
                names,
                merged_pull=merged_pull,
                restricted=restricted,
                imported=imported,
            ) as push_id:
                try:
                    result = await move()
                except asyncio.CancelledError:
                    raise  # the process ends; the sweeper of another one settles the entry
                except BaseException:
                    await self.settle(push_id, small=small)
                    raise
                await self.settle(push_id, small=small)
                return result

        return await complete(move_and_settle())

    @asynccontextmanager
    async def uploading(self, repository_id: int, user_id: int, moved_ref: str = "") -> AsyncIterator[None]:
        """Allow files to change inside the block.

        A move of the repository to another shard waits for its end.

        ``moved_ref``, such as a ref of a pull request, may move inside the block. Its move is not announced,
        but makes all replicas outdated. Raises the errors of ``journaled``.
        """
        async with self.journaled(repository_id, user_id, [moved_ref] if moved_ref else []) as push_id:
            try:
                yield
            finally:
                await asyncio.shield(self.settle(push_id))

    async def _add(self, values: dict[str, Any]) -> int:
        """Add a journal entry while no job moves the repository. Return its id.

        A stale entry is ignored unless it belongs to a merge. Raises OnAnotherShard, Unavailable, NotFound.
        """

        def add(db: Executor) -> Awaitable[int]:
            return refs.add_push(db, **values, lease=now() + self._lease, shard=self._shard)

        async for _ in polls(MOST_LOCKED.total_seconds() + LOCK_MARGIN):
            if push_id := await self._db.run_alone(add, repeats=not values["merged_pull"]):
                return push_id
            async with self._db.read() as db:
                place = await shards.place(db, values["repository_id"])
            if place is None:
                raise NotFound
            if place.shard != self._shard:
                raise OnAnotherShard(place.shard)
        raise Unavailable(MOVES)

    async def merge_of(self, repository_id: int, number: int) -> str | None:
        """Return the commit that merged this pull request; None if it is not merged.

        Raises Conflict while the outcome of a merge is unknown: its process still runs, or it died and its
        entry is not settled yet.
        """
        async with self._db.read() as db:
            # One statement: an outcome is recorded in the transaction that removes the entry.
            merged, under_way = await refs.merge_of(db, repository_id, number)
        if under_way and merged is None:
            raise Conflict("the pull request is being merged")
        return merged

    async def settle(self, push_id: int, *, small: bool = False) -> None:
        """Announce where the refs of this entry moved, and remove the entry. Idempotent.

        After a ``small`` change the size of the repository is not always measured.
        """
        settled = False
        while not settled:
            values = self._open.get(push_id)
            names = None if values is None else values["refs"]
            async with self._db.read() as db:
                entry, names, ledger = await refs.get_push_and_ledger(db, push_id, names)
            if entry is not None:
                settled = await self._settle_once(entry, names, ledger, small=small)
            elif new_id := await self._add_again(push_id):
                push_id = new_id
            else:
                settled = True

    async def _add_again(self, push_id: int) -> int:
        """Add a new entry for a running push whose lease expired and that another process settled early.

        Return its id, or 0 if the push is over.
        """
        values = self._open.get(push_id)
        if values is None:
            return 0
        async with self._db.read() as db:
            if await shards.place(db, values["repository_id"]) is None:
                return 0
        async with self._db.transaction() as tx:
            return await refs.add_push(tx, **values, lease=now() + self._lease)

    async def sweep(self) -> int:
        """Settle the entries that dead processes left. Return their number.

        If an entry fails, it waits until its lease expires again. The other entries are settled.
        """
        async with self._db.read() as db:
            expired = await refs.list_expired(db, self._shard)
        settled = 0
        for entry in expired:
            async with self._db.transaction() as tx:
                taken = await refs.take_over(tx, entry.id, entry.lease_until, now() + self._lease)
            if taken:
                try:
                    if entry.id not in self._open:  # a process that lives may have lost its lease, too
                        await remove_of_dead(self._db, self._storage, entry.id)
                    await self.settle(entry.id)
                    settled += 1
                except Exception as error:  # noqa: BLE001 - the other entries are settled all the same
                    where = traceback.format_exc(limit=-1)
                    log.warning("interrupted push not settled", push=entry.id, error=repr(error), where=where)
        return settled

    def tasks(self) -> list[PeriodicTask]:
        return [PeriodicTask("repos_settle_pushes", SWEEP_EVERY, self.finish_interrupted)]

    async def finish_interrupted(self) -> None:
        """Settle interrupted pushes, and release the names of interrupted creations."""
        if count := await self.sweep():
            log.warning("finished interrupted pushes", count=count)
        await self.clear_abandoned()

    async def clear_abandoned(self) -> None:
        """Release the names of repositories whose creation was interrupted."""
        async with self._db.read() as db:
            before = now() - timedelta(seconds=CREATION_SECONDS)
            ids = await repositories.list_abandoned(db, before, self._shard)
        for repository_id in ids:
            await asyncio.to_thread(self._storage.delete, repository_id)
            async with self._db.transaction() as tx:
                await abandon(tx, repository_id)

    async def _settle_once(
        self, entry: PushRow, names: Sequence[str], ledger: dict[str, str], *, small: bool
    ) -> bool:
        """Settle an entry with the ledger that was read.

        Return False if another process has changed the ledger since. The caller then reads it again.
        """
        if not names:
            async with self._db.transaction() as tx:
                await refs.remove_push(tx, entry.id)
                if entry.moves_refs:  # of notes, for example
                    await replicas.count_change(tx, entry.repository_id)
            return True
        if entry.empty and not small:
            await self._mark_filled(entry, ledger, names)
        result, changed = await self._read(entry, ledger, names, small=small)
        if result.moved:
            changed["default_branch"] = await self._set_default_branch(entry, result)
        async with self._db.transaction() as tx:
            moved = len(result.moved)
            changed["empty"] = result.empty
            if moved and not await refs.advance(
                tx, entry.repository_id, entry.ref_version, moved=moved, **changed
            ):
                return False
            if await refs.remove_push(tx, entry.id) and result.moved:
                await self._announce(tx, entry, result)
                if entry.is_followed:
                    await self._follow(tx, self._jobs, entry.repository_id)
            if not result.moved:
                await replicas.count_change(tx, entry.repository_id)
        return True

    async def _mark_filled(self, entry: PushRow, ledger: dict[str, str], names: Sequence[str]) -> None:
        """Mark the repository as filled by its first push, even while its commits are being read."""
        path = self._storage.path(entry.repository_id)
        try:
            result = await self._storage.call(
                entry.repository_id, lambda _repo: read_moved_refs(path, ledger, names)
            )
        except (RepositoryNotFound, RepositoryDamaged):
            return
        if result.moved and not result.empty:
            main = await self._set_default_branch(entry, result)
            async with self._db.transaction() as tx:
                await refs.mark_filled(tx, entry.repository_id, main)

    async def _read(
        self, entry: PushRow, ledger: dict[str, str], names: Sequence[str], *, small: bool
    ) -> tuple[PushChanges, dict[str, Any]]:
        """Return the moved refs, and the changed columns of the repository.

        Licences are set if their files changed. Size and language are set only if they are measured. An
        unknown language is detected each time, except for merges.
        """
        is_measured = self._is_measured(entry, small=small)

        def read(repo: Any) -> tuple[PushChanges, dict[str, Any]]:
            write_due_commit_graph(self._storage.path(entry.repository_id))
            result = read_push_changes(repo, ledger, names, entry.default_branch, PUSH_EVENT_BOUNDS)
            changed: dict[str, Any] = {}
            main = default_branch_after(entry, result)
            for change in (moved.change for moved in result.moved if moved.change.name == BRANCHES + main):
                stays = entry.licenses is not None and has_same_files(repo, change.before, change.after)
                # A branch that goes may have been renamed: its licences stay as well.
                if change.after != NO_COMMIT and not stays:
                    changed["licenses"] = licenses_column(repo, main)
            if is_measured:
                changed["size"] = self._storage.size(entry.repository_id)
            if is_measured or not (entry.language or entry.merged_pull):
                changed["language"] = main_language(repo, main, self._languages)
            return result, changed

        try:
            return await self._storage.call(entry.repository_id, read)
        except RepositoryNotFound:
            return PushChanges((), empty=True), {}
        except RepositoryDamaged:  # what has moved is known all the same
            log.exception("push announced without its commits", repository=entry.repository_id)
            path = self._storage.path(entry.repository_id)
            return await asyncio.to_thread(read_moved_refs, path, ledger, names), {"licenses": None}

    def _is_measured(self, entry: PushRow, *, small: bool) -> bool:
        """True if this push measures the repository, which reads every file.

        Merges never measure it. Small pushes measure it once a minute.
        """
        is_recent = small and entry.repository_id in self._measured
        if entry.merged_pull or is_recent:
            return False
        self._measured[entry.repository_id] = True
        return True

    async def _set_default_branch(self, entry: PushRow, result: PushChanges) -> str:
        """Set the default branch in git if the push changes it. Return its name."""
        main = default_branch_after(entry, result)
        if main != entry.default_branch:
            try:
                await self._storage.call(entry.repository_id, set_default_branch, main)
            except RepositoryDamaged:
                return entry.default_branch
        return main

    async def _announce(self, tx: Tx, entry: PushRow, result: PushChanges) -> None:
        await refs.record(
            tx,
            entry.repository_id,
            {
                moved.change.name: None if moved.change.after == NO_COMMIT else moved.change.after
                for moved in result.moved
            },
            counts=any(
                moved.change.name.startswith(BRANCHES)
                and NO_COMMIT in (moved.change.before, moved.change.after)
                for moved in result.moved
            ),
        )
        row = await repositories.get_unfiltered(tx, entry.wiki_of or entry.repository_id)
        if row is None:
            return
        if entry.wiki_of is not None:
            await self._announce_pages(tx, entry, result, row)
            return
        infos = [commit.commit for moved in result.moved for commit in moved.all_commits]
        pusher, logins = await accounts.pusher_and_authors(tx, entry.user_id, author_addresses(*infos))
        repository = self._presenter.repository(row)
        fields = {
            "owner_kind": owner_kind(row),
            "restricted": entry.confined,
            "imported": entry.imported,
            "options": msgspec.json.decode(entry.options, type=list[str]),
        }
        for moved in result.in_order(BRANCHES + row.default_branch):
            event = self._event(moved, repository, as_user(pusher) if pusher else GHOST, logins)
            if moved.change.name.startswith(BRANCHES) and entry.merged_pull:
                await refs.record_merge(tx, row.id, entry.merged_pull, moved.change.after)
                event = msgspec.structs.replace(event, merged_pull=entry.merged_pull)
            tx.emit(msgspec.structs.replace(event, **fields), key=row.id)

    async def _announce_pages(self, tx: Tx, entry: PushRow, result: PushChanges, row: RepositoryRow) -> None:
        """Announce changed pages of the default branch of a wiki. ``row`` is the repository of the wiki."""
        main = BRANCHES + default_branch_after(entry, result)
        commits = [one for moved in result.moved if moved.change.name == main for one in moved.commits]
        pages = page_changes(commits)
        if not pages:
            return
        sender, _ = await accounts.pusher_and_authors(tx, entry.user_id, set())
        tx.emit(
            WikiChanged(
                repository=self._presenter.repository(row),
                sender=as_user(sender) if sender else GHOST,
                pages=pages[-EVENT_WIKI_PAGES:],
                owner_kind=owner_kind(row),
                omitted=max(0, len(pages) - EVENT_WIKI_PAGES),
            ),
            key=row.id,
        )

    def _event(
        self, moved: MovedRef, repository: Repository, pusher: User, logins: dict[str, str]
    ) -> PushReceived:
        change = moved.change
        continued = change.name.startswith(BRANCHES) and NO_COMMIT not in (change.before, change.after)
        root = self._presenter.root
        commits = [
            self._presenter.commit(
                repository.full_name,
                changes.commit,
                logins,
                added=list(changes.added),
                removed=list(changes.removed),
                modified=list(changes.modified),
            )
            for changes in moved.all_commits
        ]
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
            commits=commits[: len(moved.commits)],
            head_commit=commits[-1] if moved.head else None,
            total_commits=moved.total,
            forced=moved.forced,
            omitted=omitted_from(moved.all_commits),
        )


def _is_announced(name: str) -> bool:
    """True if the ref is a branch or tag whose name is text."""
    return name.startswith((BRANCHES, TAGS)) and not any("\ud800" <= char <= "\udfff" for char in name)
