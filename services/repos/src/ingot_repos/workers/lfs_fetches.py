"""Fetching objects of LFS: what pointers in the history of a remote's branches and tags name, and is not here yet."""

import asyncio
import math
import time
from collections.abc import Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ingot_chassis.errors import BadRequest, InsufficientStorage, Invalid, TooLarge
from ingot_chassis.security.egress import Egress
from ingot_chassis.security.own_servers import OwnServers
from ingot_repos.core.lfs_objects import LfsObjects
from ingot_repos.git.lfs_pointers import Pointer, history_pointers
from ingot_repos.git.remote import Reason, RemoteFailed
from ingot_repos.settings import Settings
from ingot_repos.store.repositories import RepositoryRow
from ingot_repos.workers.connections import RemoteConnection

if TYPE_CHECKING:
    from ingot_repos.clients.lfs_remotes import Action, Fault, LfsRemote

TRANSFERS = 4
"""Objects that are fetched at once by one import or sync."""
MOST_NAMED = 10
"""How many of the objects that a remote lacks are named."""
REASONS: "dict[Fault, Reason]" = {
    "address": "lfs-address",
    "failed": "lfs-failed",
    "redirect": "redirect",
    "tls": "tls",
    "unauthorized": "lfs-unauthorized",
    "unreachable": "lfs-unreachable",
}
"""By the fault of the server."""


@dataclass
class _Run:
    repository: RepositoryRow
    remote: "LfsRemote"
    absent: list[str] = field(default_factory=list)
    too_large: bool = False


class LfsFetches:
    """Fetches objects from remotes into the object store, as far as their owner may store them."""

    def __init__(self, lfs: LfsObjects, egress: Egress, own_servers: OwnServers, settings: Settings) -> None:
        self._lfs, self._egress, self._own_servers, self._settings = lfs, egress, own_servers, settings

    async def fetch(
        self,
        repository: RepositoryRow,
        url: str,
        connection: RemoteConnection,
        path: Path,
        *,
        new_in: str = "",
    ) -> list[str]:
        """Give the repository all objects that its history names; its git data is at ``path``.

        With ``new_in``, a prefix of refs, those that these refs name and its branches and tags do not. Objects that it has are
        not fetched. What the remote does not give, or sends damaged, is left out: the oids of the first ``MOST_NAMED``. Raises
        RemoteFailed for everything else; what was fetched until then stays.
        """
        from ingot_repos.clients.lfs_remotes import MOST_OBJECTS, LfsRemoteFailed, open_lfs_remote

        if not self._settings.lfs_enabled:
            raise RemoteFailed("lfs-off")
        progress = connection.progress
        progress.phase, progress.percent = "lfs", 0

        def count(size: int) -> None:
            progress.received += size
            progress.at = time.monotonic()
            if connection.received > self._settings.max_remote_bytes:
                raise RemoteFailed("too-large")

        try:
            async with (
                open_lfs_remote(
                    url,
                    self._egress,
                    self._own_servers,
                    home=connection.remote.url,
                    secrets=connection.remote.secrets,
                    count=count,
                    authorities=self._settings.remote_authorities,
                ) as remote,
                aclosing(history_pointers(path, at_once=MOST_OBJECTS, new_in=new_in)) as batches,
            ):
                run = _Run(repository, remote)
                progress.at = math.inf  # nobody waits for the remote while git looks for pointers
                async for pointers in batches:
                    progress.at = time.monotonic()
                    await self._fetch_missing(run, pointers)
                    progress.at = math.inf
        except LfsRemoteFailed as error:
            raise RemoteFailed(REASONS[error.fault]) from None
        finally:
            progress.at = time.monotonic()
        if run.too_large:
            raise RemoteFailed("lfs-too-large")
        return run.absent[:MOST_NAMED]

    async def _fetch_missing(self, run: _Run, pointers: list[Pointer]) -> None:
        sizes = {pointer.oid: pointer.size for pointer in pointers}
        there = await self._lfs.need(run.repository.id, sizes)
        missing = {oid: size for oid, size in sizes.items() if oid not in there}
        for oid in [oid for oid, size in missing.items() if size > self._lfs.limits.max_object_bytes]:
            del missing[oid]
            run.too_large = True
        if not missing:
            return
        actions = await run.remote.batch(missing)
        run.absent += [oid for oid in missing if oid not in actions]
        objects = iter([(oid, missing[oid], action) for oid, action in actions.items()])
        try:
            async with asyncio.TaskGroup() as group:
                fetches = [group.create_task(self._fetch_each(run, objects)) for _ in range(TRANSFERS)]
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from None
        run.absent += [oid for each in fetches for oid in each.result()]

    async def _fetch_each(self, run: _Run, objects: "Iterator[tuple[str, int, Action]]") -> list[str]:
        """Fetch objects until there are none; others take from the same iterator. The oids of those that did not come."""
        absent = []
        for oid, size, action in objects:
            try:
                if await self._fetch_one(run, oid, size, action):
                    continue
                actions = await run.remote.batch({oid: size})  # the URL may have expired while others came
                if oid not in actions or not await self._fetch_one(run, oid, size, actions[oid]):
                    absent.append(oid)
            except (BadRequest, Invalid, TooLarge):
                absent.append(oid)
            except InsufficientStorage:
                raise RemoteFailed("lfs-room") from None
        return absent

    async def _fetch_one(self, run: _Run, oid: str, size: int, action: "Action") -> bool:
        """Fetch an object and store it. False when its URL does not give it."""
        from ingot_repos.clients.lfs_remotes import LfsRemoteFailed

        try:
            async with aclosing(run.remote.download(action)) as chunks:
                await self._lfs.upload(run.repository, oid, size, chunks)
        except LfsRemoteFailed as error:
            if error.fault not in ("missing", "unauthorized"):
                raise
            return False
        return True
