"""A search for LFS pointers in the history of a remote, and downloads of missing objects."""

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
from ingot_git.history.lfs_pointers import Pointer, history_pointers
from ingot_git.remote.remote import Reason, RemoteFailed
from ingot_repos.catalog.store.repositories import RepositoryRow
from ingot_repos.lfs.rules.objects import LfsObjects
from ingot_repos.remotes.jobs.connections import RemoteConnection
from ingot_repos.settings import Settings

if TYPE_CHECKING:
    from ingot_remotes.connections.lfs import Action, Fault, LfsRemote

TRANSFERS = 4
"""Number of concurrent downloads of one import or sync."""
MOST_NAMED = 10
"""Limit of missing objects whose oids are reported."""
REASONS: "dict[Fault, Reason]" = {
    "address": "lfs-address",
    "failed": "lfs-failed",
    "redirect": "redirect",
    "tls": "tls",
    "unauthorized": "lfs-unauthorized",
    "unreachable": "lfs-unreachable",
}
"""The stored reason for each fault of the server."""


@dataclass
class _Run:
    repository: RepositoryRow
    remote: "LfsRemote"
    absent: list[str] = field(default_factory=list)
    too_large: bool = False


class LfsFetches:
    """A downloader of LFS objects into the object store, within the limits of their owner."""

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
        """Fetch all LFS objects of the history of a repository. Return up to ``MOST_NAMED`` missing oids.

        ``path`` has the git data. ``new_in`` is a prefix of refs: only objects of these refs are fetched that
        branches and tags do not have. Existing objects are skipped. Objects that the remote lacks or sends
        damaged are missing. Other failures raise RemoteFailed; objects that were already fetched are kept. If
        objects are larger than the limit, RemoteFailed is raised after the other objects are fetched.
        """
        from ingot_remotes.connections.lfs import MOST_OBJECTS, LfsRemoteFailed, open_lfs_remote

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
                # pause the idle timeout: git searches for pointers, and the remote is not used
                progress.at = math.inf
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
        there = await self._lfs.mark_needed(run.repository.id, sizes)
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
        """Fetch the objects of an iterator that several tasks share. Return the oids of missing objects."""
        absent = []
        for oid, size, action in objects:
            try:
                if await self._fetch_one(run, oid, size, action):
                    continue
                # the URL may have expired during other downloads
                actions = await run.remote.batch({oid: size})
                if oid not in actions or not await self._fetch_one(run, oid, size, actions[oid]):
                    absent.append(oid)
            except (BadRequest, Invalid, TooLarge):
                absent.append(oid)
            except InsufficientStorage:
                raise RemoteFailed("lfs-room") from None
        return absent

    async def _fetch_one(self, run: _Run, oid: str, size: int, action: "Action") -> bool:
        """Fetch an object and store it. Return False if the server does not provide it."""
        from ingot_remotes.connections.lfs import LfsRemoteFailed

        try:
            async with aclosing(run.remote.download(action)) as chunks:
                await self._lfs.upload(run.repository, oid, size, chunks)
        except LfsRemoteFailed as error:
            if error.fault not in ("missing", "unauthorized"):
                raise
            return False
        return True
