"""Working with remotes: filling migrated repositories and bringing mirrors up to date. Claim, act, record."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import structlog

from ingot_chassis.jobs import Job, Jobs, Work
from ingot_chassis.sealing import Seal, Unreadable
from ingot_chassis.tables import now
from ingot_repos.clients.proxy import Proxy, Ticket
from ingot_repos.core import migrations, mirrors
from ingot_repos.core.names import LONGEST_BRANCH
from ingot_repos.core.pushes import Pushes
from ingot_repos.core.sources import PORTS
from ingot_repos.core.views import Viewing
from ingot_repos.git.errors import GitError, RepositoryNotFound
from ingot_repos.git.leftovers import clear_leftovers
from ingot_repos.git.refs import (
    BRANCHES,
    TAGS,
    ZERO_OID,
    RefChange,
    default_branch,
    list_refs,
    set_default_branch,
    update_refs,
)
from ingot_repos.git.remote import Activity, Advertised, Reason, Remote, RemoteFailed, advertised, fetch
from ingot_repos.git.storage import Storage
from ingot_repos.settings import Settings
from ingot_repos.store import remotes, repositories

log = structlog.get_logger()

WATCH_SECONDS = 1.0
TRIES = 3
AGAIN: frozenset[Reason] = frozenset(("unreachable", "broken"))
"""Reasons that may pass by themselves: a migration is tried again, some times."""
INCOMING = "refs/incoming/"


@dataclass(frozen=True)
class Fetching:
    """One way to a remote, open."""

    remote: Remote
    activity: Activity
    ticket: Ticket | None

    @property
    def alive_at(self) -> float:
        return max(self.activity.at, self.ticket.at if self.ticket else 0.0)

    @property
    def received(self) -> int:
        return self.ticket.received if self.ticket else 0


class Remotes:
    """The two kinds of jobs that fetch."""

    def __init__(
        self,
        jobs: Jobs,
        storage: Storage,
        viewing: Viewing,
        pushes: Pushes,
        seal: Seal,
        proxy: Proxy,
        settings: Settings,
    ) -> None:
        self._jobs, self._db, self._storage, self._viewing = jobs, jobs.database, storage, viewing
        self._pushes, self._seal, self._proxy, self._settings = pushes, seal, proxy, settings

    def migrating(self) -> dict[str, Work]:
        return {migrations.MIGRATE: self.migrate}

    def syncing(self) -> dict[str, Work]:
        return {mirrors.SYNC: self.sync}

    async def migrate(self, job: Job) -> None:
        """Fill a repository and open it. One that lies in its place already is a former worker's, and complete."""
        repository_id = int(job.key)
        async with self._db.transaction() as tx:
            row = await repositories.get_raw(tx, repository_id)
            remote = await remotes.get(tx, repository_id)
            wanted = await remotes.change_migration(tx, repository_id, remotes.UNENDED, state="running")
        if row is None or remote is None or not wanted:
            await self._stop(job, repository_id)
            return
        try:
            if not self._storage.exists(repository_id):
                await self._fill(row, remote)
            await asyncio.to_thread(self._storage.clear, repository_id)
        except RemoteFailed as error:
            await self._not_filled(job, repository_id, error)
            return
        main = await self._storage.call(repository_id, default_branch)
        tips = await self._storage.call(repository_id, list_refs, (BRANCHES, TAGS))
        size = await asyncio.to_thread(self._storage.size, repository_id)
        async with self._db.transaction() as tx:
            opened = await migrations.complete(
                tx, self._jobs, job, self._viewing, row, tips=tips, main=main, size=size
            )
        if not opened:
            await self._stop(job, repository_id)

    async def sync(self, job: Job) -> None:
        """Let a mirror hold what its remote holds, and announce what that moved."""
        started = now()
        repository_id = int(job.key)
        async with self._db.read() as db:
            row = await repositories.get_raw(db, repository_id)
            remote = await remotes.get(db, repository_id)
            mirror = await remotes.get_mirror(db, repository_id)
        if row is None or remote is None or mirror is None or mirror.next_run_at is None:
            return
        try:
            main = row.default_branch if row.archived else await self._follow(row, remote)
        except RemoteFailed as error:
            log.warning("mirror not synced", repository=repository_id, reason=error.reason)
            async with self._db.transaction() as tx:
                await mirrors.fail(tx, self._jobs, job, repository_id, started=started, reason=error.reason)
            return
        async with self._db.transaction() as tx:
            await mirrors.succeed(tx, self._jobs, job, self._viewing, row, started=started, main=main)

    async def _stop(self, job: Job, repository_id: int) -> None:
        """Free what was brought over for nobody, unless it is only put off."""
        async with self._db.transaction() as tx:
            gone = await repositories.get_raw(tx, repository_id) is None
            await migrations.stop(tx, self._jobs, job, repository_id)
        if gone:
            await asyncio.to_thread(self._storage.delete, repository_id)

    async def _not_filled(self, job: Job, repository_id: int, error: RemoteFailed) -> None:
        if error.reason == "cancelled":
            await self._stop(job, repository_id)
        elif error.reason in AGAIN and job.attempts < TRIES:
            raise error
        else:
            log.warning("migration failed", repository=repository_id, reason=error.reason)
            async with self._db.transaction() as tx:
                await migrations.fail(tx, self._jobs, job, repository_id, error.reason)

    async def _fill(self, row: Any, remote: Any) -> None:
        """The default branch first, then everything: what a try has brought over, the next one keeps."""
        path = await asyncio.to_thread(self._storage.filling, row.id, row.default_branch)
        async with self._reached(remote) as way:

            async def bring() -> str:
                found = await advertised(way.remote, way.activity)
                main = _main(found) or str(row.default_branch)
                first = [name for name in (BRANCHES + main,) if name in found.refs]
                await fetch(way.remote, path, first, way.activity)
                await fetch(
                    way.remote, path, [name for name in found.refs if name not in first], way.activity
                )
                return main

            main = await self._watched(way, bring(), lambda: self._note(row.id, way))
            await self._note(row.id, way)
        await asyncio.to_thread(self._storage.open_filled, row.id, main)

    async def _note(self, repository_id: int, way: Fetching) -> bool:
        """Enter how far it is; False when it is not wanted any more."""
        async with self._db.transaction() as tx:
            return await remotes.change_migration(
                tx,
                repository_id,
                ("running",),
                phase=way.activity.phase,
                percent=way.activity.percent,
                received=way.received,
            )

    async def _follow(self, row: Any, remote: Any) -> str | None:
        """Move the branches and tags of a mirror to where the remote has them; its default branch."""
        path = self._storage.path(row.id)
        try:
            held = await self._storage.call(row.id, list_refs, (BRANCHES, TAGS))
        except RepositoryNotFound:
            raise RemoteFailed("failed") from None
        await asyncio.to_thread(clear_leftovers, path)
        async with self._reached(remote) as way:

            async def bring() -> tuple[set[str], str | None]:
                found = await advertised(way.remote, way.activity)
                moved = [name for name, oid in found.refs.items() if held.get(name) != oid]
                await fetch(way.remote, path, moved, way.activity, into=INCOMING)
                return set(found.refs), _main(found)

            async def wanted() -> bool:
                async with self._db.read() as db:
                    return await repositories.get_raw(db, row.id) is not None

            found: tuple[set[str], str | None] = await self._watched(way, bring(), wanted)
        there, main = found
        await self._move(row, remote.user_id, held, there)
        if main is not None and main != row.default_branch:
            await self._storage.call(row.id, set_default_branch, main)
        return main

    async def _move(self, row: Any, user_id: int, held: dict[str, str], there: set[str]) -> None:
        """Bring in what was fetched: journaled, what is gone first, as its name may stand in the way."""
        path = self._storage.path(row.id)
        incoming = await self._storage.call(row.id, list_refs, (INCOMING,))
        brought = {"refs/" + name.removeprefix(INCOMING): oid for name, oid in incoming.items()}
        gone = [RefChange(name, oid, ZERO_OID) for name, oid in held.items() if name not in there]
        moved = [
            RefChange(name, held.get(name, ZERO_OID), oid)
            for name, oid in brought.items()
            if name in there and held.get(name) != oid
        ]
        if gone or moved:
            names = [change.name for change in (*gone, *moved)]
            async with self._pushes.journaled(row.id, user_id, names) as push_id:
                try:
                    await self._update(path, gone)
                    await self._update(path, moved)
                finally:
                    await asyncio.shield(self._pushes.settle(push_id))
        await self._update(path, [RefChange(name, oid, ZERO_OID) for name, oid in incoming.items()])

    @staticmethod
    async def _update(path: Path, changes: list[RefChange]) -> None:
        if changes:
            await asyncio.to_thread(update_refs, path, changes)

    @asynccontextmanager
    async def _reached(self, remote: Any) -> AsyncIterator[Fetching]:
        """A way to the remote of ``remote``, for one run. What it refuses is the reason why the run fails."""
        try:
            secrets = migrations.opened(self._seal, remote.sealed)
        except Unreadable:
            raise RemoteFailed("secrets") from None
        activity = Activity()
        if remote.url.startswith("/"):
            yield Fetching(Remote(remote.url, "file"), activity, None)
            return
        parts = urlsplit(remote.url)
        scheme: Any = parts.scheme
        port = parts.port or PORTS[scheme]
        async with self._proxy.ticket(parts.hostname or "", port, self._settings.max_remote_bytes) as (
            ticket,
            proxy_port,
        ):
            settings = self._settings
            far = Remote(
                remote.url,
                scheme,
                secrets,
                proxy=(proxy_port, ticket.name, ticket.token),
                known_hosts=settings.known_hosts,
                authorities=settings.remote_authorities,
            )
            try:
                yield Fetching(far, activity, ticket)
            except RemoteFailed as error:
                if error.reason in ("cancelled", "idle"):
                    raise
                if ticket.refusal:
                    raise RemoteFailed("address") from None
                if ticket.exceeded:
                    raise RemoteFailed("too-large") from None
                raise

    async def _watched(
        self, way: Fetching, work: Coroutine[Any, Any, Any], wanted: Callable[[], Awaitable[bool]]
    ) -> Any:
        """Do it, for as long as it is wanted and the remote shows a sign of life now and then."""
        task = asyncio.create_task(work)
        pause = min(WATCH_SECONDS, self._settings.remote_idle_seconds / 2)
        try:
            while not (await asyncio.wait({task}, timeout=pause))[0]:
                if not await wanted():
                    raise RemoteFailed("cancelled")
                if time.monotonic() - way.alive_at > self._settings.remote_idle_seconds:
                    raise RemoteFailed("idle")
            try:
                return task.result()
            except GitError as error:
                raise error if isinstance(error, RemoteFailed) else RemoteFailed("failed") from error
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def _main(found: Advertised) -> str | None:
    """The default branch; of a remote whose HEAD names none, the likeliest."""
    names = [name.removeprefix(BRANCHES) for name in found.refs if name.startswith(BRANCHES)]
    fitting = [name for name in names if len(name) <= LONGEST_BRANCH]
    likely = [name for name in (found.head, "main", "master") if name in fitting]
    return next(iter((*likely, *fitting)), None)
