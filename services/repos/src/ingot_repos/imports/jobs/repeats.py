"""Repeats of imports: they fetch changes of git, the wiki and the releases since the last run.

The repository is in use. Its refs move like with a push, except refs that also moved here.
"""

import asyncio
from collections.abc import Mapping

from ingot_chassis.db.database import Database
from ingot_contracts.repos.imports import ConflictKind, ImportConflict
from ingot_git.refs.pull_heads import PULLS
from ingot_git.refs.refs import BRANCHES, TAGS, update_refs
from ingot_git.remote.merging import MergedRefs, incoming_refs, merge_refs
from ingot_git.remote.remote import INCOMING, PullHeads, RemoteFailed, fetch, list_remote_refs
from ingot_git.storage.packs import in_use
from ingot_git.storage.storage import Storage
from ingot_git.storage.temporary_files import remove_abandoned_locks, remove_old_temporary_files
from ingot_repos.catalog.store import repositories, wikis
from ingot_repos.catalog.store.repositories import RepositoryRow
from ingot_repos.catalog.store.states import ImportState, RepositoryState
from ingot_repos.imports import store as sources
from ingot_repos.imports.jobs.forge_data import NO_WIKI, ForgeData
from ingot_repos.imports.store import BaseKind, SourceRow
from ingot_repos.pushes.rules.journal import Pushes
from ingot_repos.remotes import store as import_rows
from ingot_repos.remotes.jobs.connections import RemoteAddress, RemoteConnection, RemoteConnector
from ingot_repos.remotes.jobs.lfs import LfsFetches
from ingot_repos.remotes.store import RemoteRow


class RepeatedImports:
    """A fetcher for imports that are repeated."""

    def __init__(
        self,
        database: Database,
        storage: Storage,
        pushes: Pushes,
        connector: RemoteConnector,
        lfs_fetches: LfsFetches,
        forge_data: ForgeData,
    ) -> None:
        self._db, self._storage, self._pushes = database, storage, pushes
        self._connector, self._lfs_fetches, self._forge_data = connector, lfs_fetches, forge_data

    async def fetch(self, row: RepositoryRow, remote: RemoteRow, source: SourceRow | None) -> None:
        """Fetch refs with their commits. With a ``source``, also fetch the wiki and releases.

        Raises RemoteFailed, SourceBusy.
        """
        await self._require_writable(row.id)
        kinds = sources.kinds_of(source) if source is not None else []
        pulls = None
        if source is not None and "pulls" in kinds:
            pulls = await self._forge_data.pull_heads(remote, source)
        await self._fetch_refs(row, row.id, remote, remote, "ref", pulls)
        if source is None:
            return
        if "wiki" in kinds:
            await self._fetch_wiki(row, remote, source)
        await self._forge_data.fetch_new_releases(row, remote, source)

    async def _require_writable(self, repository_id: int) -> None:
        """Raise RemoteFailed if the repository was archived since the request."""
        async with self._db.read() as db:
            row = await repositories.get_unfiltered(db, repository_id)
        if row is not None and row.archived:
            raise RemoteFailed("archived")

    async def _fetch_wiki(self, row: RepositoryRow, remote: RemoteRow, source: SourceRow) -> None:
        address = await self._forge_data.wiki_address(remote, source)
        async with self._db.read() as db:
            wiki = await wikis.get(db, row.id)
        if address is None:
            return
        if wiki is None or wiki.state != RepositoryState.READY:
            await self._forge_data.fetch_wiki(row, address)
            return
        try:
            await self._fetch_refs(row, wiki.id, remote, address, "wiki", None)
        except RemoteFailed as error:
            if error.reason not in NO_WIKI:
                raise

    async def _fetch_refs(
        self,
        row: RepositoryRow,
        files_id: int,
        remote: RemoteRow,
        address: RemoteAddress,
        kind: BaseKind,
        pulls: PullHeads | None,
    ) -> None:
        """Fetch refs that moved at the remote, and move the local refs that did not move.

        ``files_id`` is the id of the repository, or of its wiki.
        """
        repository_id, path = row.id, self._storage.path(files_id)
        await asyncio.to_thread(remove_old_temporary_files, path)
        await asyncio.to_thread(remove_abandoned_locks, path)
        async with self._db.read() as db:
            bases = await sources.bases(db, repository_id, kind)
        async with self._connector.open(address) as connection:

            async def fetch_moved() -> dict[str, str]:
                offer = await list_remote_refs(connection.remote, connection.progress, pulls=pulls)
                names = {name: pulls.local_name(name) if pulls is not None else name for name in offer.refs}
                if kind == "wiki":
                    names = {name: local for name, local in names.items() if name.startswith(BRANCHES)}
                moved = {name: local for name, local in names.items() if bases.get(local) != offer.refs[name]}
                await self._drop_incoming(files_id)
                with in_use(path):  # git does not fetch existing objects, even if they wait for pruning
                    await fetch(connection.remote, path, moved, connection.progress, into=INCOMING)
                return {local: offer.refs[name] for name, local in moved.items()}

            async def is_needed() -> bool:
                return await self._save_progress(repository_id, connection)

            theirs = await self._connector.watch(connection, fetch_moved(), is_needed)
            if kind == "ref" and remote.lfs_url is not None and theirs:
                async with self._pushes.uploading(repository_id, remote.user_id):
                    lfs_objects = self._lfs_fetches.fetch(
                        row, remote.lfs_url, connection, path, new_in=INCOMING
                    )
                    absent = await self._connector.watch(connection, lfs_objects, is_needed)
                async with self._db.transaction() as tx:
                    reason = "lfs-missing" if absent else ""
                    await import_rows.record_lfs(tx, repository_id, reason, absent)
        await self._move(repository_id, files_id, remote.user_id, kind, theirs, bases)

    async def _move(
        self,
        repository_id: int,
        files_id: int,
        user_id: int,
        kind: BaseKind,
        theirs: Mapping[str, str],
        bases: Mapping[str, str],
    ) -> None:
        """Move local refs to the fetched commits. Record refs that moved on both sides as conflicts."""
        path = self._storage.path(files_id)
        merged: MergedRefs = await self._storage.call(files_id, merge_refs, theirs, bases)
        await self._require_writable(repository_id)
        if merged.changes:
            names = [change.name for change in merged.changes]

            async def move() -> None:
                await asyncio.to_thread(update_refs, path, merged.changes)

            await self._pushes.moved(files_id, user_id, names, move, restricted=True, imported=True)
        await self._drop_incoming(files_id)
        async with self._db.transaction() as tx:
            await sources.save_bases(tx, repository_id, kind, merged.bases)
            conflicts = [_conflict(name, field, kind) for name, field in merged.conflicts.items()]
            await sources.add_conflicts(tx, repository_id, conflicts)

    async def _drop_incoming(self, files_id: int) -> None:
        changes = await self._storage.call(files_id, incoming_refs, INCOMING)
        if changes:
            await asyncio.to_thread(update_refs, self._storage.path(files_id), changes)

    async def _save_progress(self, repository_id: int, connection: RemoteConnection) -> bool:
        """Save the progress. Return False if the import was cancelled or deleted."""
        async with self._db.transaction() as tx:
            return await import_rows.change(
                tx,
                repository_id,
                (ImportState.RUNNING,),
                phase=connection.progress.phase,
                percent=connection.progress.percent,
                received=connection.received,
            )


def _conflict(name: str, field: str, base_kind: BaseKind) -> ImportConflict:
    """Return the conflict of a ref. The head of a pull request is named by its number."""
    if name.startswith(PULLS):
        number = int(name.removeprefix(PULLS).removesuffix("/head"))
        return ImportConflict(kind="pull", number=number, name=name, fields=[field])
    kind: ConflictKind = "wiki" if base_kind == "wiki" else "branch" if name.startswith(BRANCHES) else "tag"
    return ImportConflict(kind=kind, name=name.removeprefix(BRANCHES).removeprefix(TAGS), fields=[field])
