"""Settings, releases with assets, and the wiki, fetched before an imported repository is announced.

After a restart the job continues with the first release or asset that is not yet written.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from ingot_chassis.db.database import Database
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import ApiError, Invalid, NotFound, TooLarge
from ingot_chassis.security.sealing import Unreadable
from ingot_contracts.limits import BODY_CHARACTERS, NAME_CHARACTERS
from ingot_contracts.repos.imports import GHOST_ID, ImportConflict
from ingot_git.refs.refs import BRANCHES, TAGS, list_refs
from ingot_git.remote.remote import PullHeads, Reason, RemoteFailed, fetch, list_remote_refs
from ingot_git.storage.storage import Storage
from ingot_remotes.archives.layout import WIKI_BUNDLE
from ingot_remotes.interface.source import ABSENT, Source, SourceAsset, SourceFailed, SourceRelease
from ingot_remotes.texts.references import References
from ingot_repos.catalog.rules import names
from ingot_repos.catalog.store import repositories, wikis
from ingot_repos.catalog.store.repositories import RepositoryRow
from ingot_repos.catalog.store.states import ImportState, RepositoryState
from ingot_repos.imports import store as sources
from ingot_repos.imports.jobs.archives import ArchiveUnpacker
from ingot_repos.imports.rules.openings import SourceOpener
from ingot_repos.imports.rules.people import accounts_of, by_login, logins_of, rule_of
from ingot_repos.imports.rules.releases import (
    FileBase,
    FilePlan,
    ReleaseBase,
    base_without_digests,
    digests,
    keyed,
    merge_release,
    plan_file,
    read_base,
    source_digest,
    was_deleted,
)
from ingot_repos.imports.rules.settings import save_rules, save_settings, unmapped_rules
from ingot_repos.imports.store import Counts, SourceRow
from ingot_repos.pushes.store import refs
from ingot_repos.releases.rules.assets import AssetEditor
from ingot_repos.releases.store import assets as release_assets
from ingot_repos.releases.store import releases
from ingot_repos.releases.store.assets import AssetRow
from ingot_repos.releases.store.releases import ReleaseRow
from ingot_repos.remotes import store as import_rows
from ingot_repos.remotes.jobs.connections import RemoteConnector, default_branch_of
from ingot_repos.remotes.store import RemoteRow

DELETED, MISSING_AT_SOURCE = "deleted", "gone"
"""Names in reports for an object that was deleted here, and for one that was deleted at the source."""
MOST_PAGES = 1_000
"""Limit of pages of releases."""
WATCH_SECONDS = 1.0
NO_WIKI: frozenset[Reason] = frozenset(("not-found", "no-repository", "unauthorized", "dumb-http"))
"""Answers of sources that have no wiki. Some ask for a login then."""


class GitAddress(msgspec.Struct, frozen=True):
    """The remote of a wiki, with the credentials of its repository, or the path of a bundle."""

    url: str
    sealed: bytes | None = None


class ForgeData:
    """A fetcher of the non-git data that repos stores."""

    def __init__(
        self,
        database: Database,
        storage: Storage,
        assets: AssetEditor,
        opener: SourceOpener,
        connector: RemoteConnector,
        archives: ArchiveUnpacker,
        *,
        max_bytes: int,
        public_url: str,
    ) -> None:
        self._db, self._storage, self._assets, self._archives = database, storage, assets, archives
        self._opener, self._connector, self._max_bytes = opener, connector, max_bytes
        self._public_url = public_url

    async def fetch(self, row: RepositoryRow, remote: RemoteRow, source: SourceRow) -> None:
        """Fetch the settings, and the wiki and releases if the import includes them.

        Raises RemoteFailed, SourceBusy.
        """
        kinds = sources.kinds_of(source)
        if "wiki" in kinds and (address := await self.wiki_address(remote, source)) is not None:
            await self.fetch_wiki(row, address)
        async with self._opened(source, remote) as there:
            await self._fetch_settings(row, remote, source, there)
            if "releases" in kinds:
                await self._fetch_releases(row, remote, source, there)

    async def fetch_new_releases(self, row: RepositoryRow, remote: RemoteRow, source: SourceRow) -> None:
        """Fetch new releases and assets, and changes of existing releases.

        Raises RemoteFailed, SourceBusy.
        """
        if "releases" in sources.kinds_of(source):
            async with self._opened(source, remote) as there:
                await self._fetch_releases(row, remote, source, there, is_repeat=True)

    async def pull_heads(self, remote: RemoteRow, source: SourceRow) -> PullHeads:
        """Return the ref folder with the heads of pull requests, and the offset of their numbers.

        The offset is fetched once, and then stored. Raises RemoteFailed, SourceBusy.
        """
        offset = source.pull_offset
        if offset is None:
            async with self._opened(source, remote) as there:
                offset = await there.pull_offset()
            async with self._db.transaction() as tx:
                await sources.change(tx, source.repository_id, pull_offset=offset)
        return PullHeads(self._opener.heads(source), offset)

    @asynccontextmanager
    async def _opened(self, source: SourceRow, remote: RemoteRow) -> AsyncIterator[Source]:
        """Open the source. Raises RemoteFailed, SourceBusy."""
        try:
            async with self._opener.open(source, remote) as there:
                yield there
        except SourceFailed as error:
            raise RemoteFailed(error.fault) from None
        except TimeoutError:
            raise RemoteFailed("unreachable") from None
        except Unreadable:
            raise RemoteFailed("secrets") from None

    async def _fetch_settings(
        self, row: RepositoryRow, remote: RemoteRow, source: SourceRow, there: Source
    ) -> None:
        """Copy topics, settings, and the rules that protect branches and tags."""
        settings, rules = await there.settings(), await there.rules()
        async with self._db.transaction() as tx:
            people = await accounts_of(tx, rules.addresses, rule_of(source, importer_id=remote.user_id))
            await save_settings(tx, row, settings)
            ids = by_login(people)
            await save_rules(tx, row.id, rules, ids)
            unmapped = msgspec.json.encode(unmapped_rules(rules, ids)).decode()
            await sources.change(tx, row.id, unmapped_rules=unmapped)

    async def _fetch_releases(
        self,
        row: RepositoryRow,
        remote: RemoteRow,
        source: SourceRow,
        there: Source,
        *,
        is_repeat: bool = False,
    ) -> None:
        """Fetch releases with their assets, page by page. A repeat merges existing releases."""
        async with self._db.read() as db:
            bases = await sources.bases(db, row.id, "release")
        tags = set(await self._storage.call(row.id, list_refs, (TAGS,)))
        budget = _Budget(self._max_bytes)
        listed, is_counted = set[str](), False
        done = first = 0
        place = ""
        address = self._opener.address(source, remote)
        local_url = f"{self._public_url}{row.owner_login}/{row.name}"
        for _ in range(MOST_PAGES):
            page = await there.page("releases", place)
            if page.size and page.first == first:
                raise SourceFailed("forge-answer")  # the source ignores the place of the page
            first = page.first
            listed |= {release.tag_name.lower() for release in page.releases}
            is_counted = is_counted or page.total is not None
            async with self._db.read() as db:
                rule = rule_of(source, importer_id=remote.user_id)
                people = await accounts_of(db, page.addresses, rule)
                logins = await logins_of(db, people)
            references = References(address, local_url, source.pull_offset or 0, logins)
            for release in references.rewrite_all(page.releases):
                author_id = people.get((release.author.source_id, release.author.name), GHOST_ID)
                base = read_base(bases.get(release.tag_name.lower()))
                columns = _columns(release, tags)
                unknown_before = row.created_at if is_repeat and source.since is None else None
                added = await self._add(
                    row.id,
                    release,
                    author_id,
                    columns,
                    base=base,
                    is_repeat=is_repeat,
                    unknown_before=unknown_before,
                )
                if added is not None:
                    if base is None:
                        base = base_without_digests(release, unknown_before)
                    files = _Files(row, added, remote.user_id, release, base, is_repeat)
                    await self._fetch_assets(files, there, budget)
                done += 1
                await self._save_progress(row.id, Counts(done, page.total))
            place = page.following
            if not place:
                if is_repeat and (listed or is_counted):  # a source that hides releases shows and counts none
                    await self._report_missing(row.id, bases.keys() - listed)
                return
        raise SourceFailed("too-large")

    async def _report_missing(self, repository_id: int, tags: Collection[str]) -> None:
        """Report releases of the last run that were deleted at the source. They stay here.

        Drafts are not reported: a source hides them from a token that may not write.
        """
        async with self._db.transaction() as tx:
            names = await releases.published_tags(tx, repository_id, tags)
            conflicts = [
                ImportConflict(kind="release", name=name, fields=[MISSING_AT_SOURCE]) for name in names
            ]
            await sources.add_conflicts(tx, repository_id, conflicts)

    async def _add(
        self,
        repository_id: int,
        release: SourceRelease,
        author_id: int,
        columns: Mapping[str, Any],
        *,
        base: ReleaseBase | None,
        is_repeat: bool,
        unknown_before: datetime | None,
    ) -> "_AddedRelease | None":
        """Add a release, or merge it with the local release of its tag.

        Return None if the local release was deleted. ``unknown_before`` is the start of the first run, if
        earlier runs recorded no bases; otherwise None.
        """
        conflicts, fields = list[str](), digests(columns)
        async with self._db.transaction() as tx:
            before = await releases.get_by_tag(tx, repository_id, release.tag_name) if is_repeat else None
            if before is not None:
                changed, conflicts, fields = merge_release(before, columns, base)
                if changed:
                    await releases.change(tx, before.id, **changed)
            elif is_repeat and base is not None:
                conflicts = [DELETED] if base.fields != fields else []
            elif base is None and unknown_before is not None and was_deleted(release, unknown_before):
                conflicts, base = [DELETED], ReleaseBase(fields, [one.name for one in release.assets])
                await _save_base(tx, repository_id, release, base)
            else:
                await releases.add(
                    tx,
                    repository_id=repository_id,
                    tag_name=release.tag_name,
                    author_id=author_id,
                    original_author=_clip(release.author.name),
                    original_author_id=release.author.source_id,
                    created_at=release.created_at,
                    **columns,
                )
            if conflicts:
                conflict = ImportConflict(kind="release", name=release.tag_name, fields=conflicts)
                await sources.add_conflicts(tx, repository_id, [conflict])
            await releases.count_published(tx, repository_id)
            row = await releases.get_by_tag(tx, repository_id, release.tag_name)
        if row is not None:
            return _AddedRelease(row, fields, conflicts)
        if base is None or not is_repeat:
            raise RemoteFailed("cancelled")
        return None

    async def _fetch_assets(self, files: "_Files", there: Source, budget: "_Budget") -> None:
        """Fetch new files, and files that were replaced only at the source.

        Each file is recorded in the transaction that adds it. Files that the source does not serve are
        skipped.
        """
        release, row = files.release, files.added.row
        async with self._db.read() as db:
            here = await self._existing(db, row.id)
        base, conflicts = msgspec.structs.replace(files.base, fields=dict(files.added.fields)), list[str]()
        for key, asset in keyed(release.assets):
            plan = plan_file(key, asset, base, here, is_repeat=files.is_repeat)
            if plan.base is not None:
                base = _with_file(base, key, asset, plan.base)
            is_conflict = plan.is_conflict
            if plan.is_new:
                try:
                    base = await self._fetch_asset(files, base, key, asset, plan, there, budget)
                except NotFound:  # the file or the release was deleted here during the request
                    if await self._skip_deleted(row, release, base):
                        return
                    if plan.replaced is None:
                        raise RemoteFailed("refused") from None
                    is_conflict = True
            if is_conflict:
                conflicts.append(f"file {asset.name}")
        async with self._db.transaction() as tx:
            await _save_base(tx, row.repository_id, release, base)
            if conflicts:
                fields = [*files.added.conflicts, *dict.fromkeys(conflicts)]
                conflict = ImportConflict(kind="release", name=release.tag_name, fields=fields)
                await sources.add_conflicts(tx, row.repository_id, [conflict])

    async def _skip_deleted(self, row: ReleaseRow, release: SourceRelease, base: ReleaseBase) -> bool:
        """Return whether a release was deleted here. Report a deleted release as a conflict.

        The base of a deleted release is saved, so no repeat adds the release again.
        Raises RemoteFailed if the import was cancelled.
        """
        await self._require_running(row.repository_id)
        async with self._db.transaction() as tx:
            if await releases.get(tx, row.repository_id, row.id) is not None:
                return False
            await _save_base(tx, row.repository_id, release, base)
            conflict = ImportConflict(kind="release", name=release.tag_name, fields=[DELETED])
            await sources.add_conflicts(tx, row.repository_id, [conflict])
        return True

    async def _fetch_asset(
        self,
        files: "_Files",
        base: ReleaseBase,
        key: str,
        asset: SourceAsset,
        plan: FilePlan,
        there: Source,
        budget: "_Budget",
    ) -> ReleaseBase:
        """Fetch a file, which replaces ``plan.replaced``, and return the new base.

        If the source does not serve the file, return ``base``. Raises SourceFailed, RemoteFailed, and
        NotFound if the release or the replaced file was deleted.
        """
        new_base = base

        async def replace(tx: Tx, asset_uuid: str) -> None:
            nonlocal new_base
            if plan.replaced is not None:
                await self._assets.delete(tx, files.repository.shard, plan.replaced)
            new_base = _with_file(base, key, asset, FileBase(source_digest(asset), asset_uuid))
            await _save_base(tx, files.repository.id, files.release, new_base)

        try:
            async with there.file(asset.url) as (chunks, length):
                await self._assets.upload(
                    files.added.row,
                    files.uploader_id,
                    asset.name,
                    self._watched(files.repository.id, chunks, budget),
                    length,
                    created_at=asset.created_at,
                    replaced=int(plan.replaced is not None),
                    before=replace,
                )
        except SourceFailed as error:
            if error.fault not in ABSENT:
                raise
        except TooLarge:
            raise SourceFailed("too-large") from None
        except NotFound:
            raise
        except ApiError:
            raise RemoteFailed("refused") from None
        return new_base

    async def _existing(self, db: Executor, release_id: int) -> list[AssetRow]:
        return (await release_assets.list_of_releases(db, [release_id])).get(release_id, [])

    async def _watched(
        self, repository_id: int, chunks: AsyncIterator[bytes], budget: "_Budget"
    ) -> AsyncIterator[bytes]:
        """Yield the chunks.

        Raises RemoteFailed if the import was cancelled, SourceFailed above the limit of bytes.
        """
        watched_at = time.monotonic()
        async for chunk in chunks:
            budget.take(len(chunk))
            if time.monotonic() - watched_at > WATCH_SECONDS:
                watched_at = time.monotonic()
                await self._require_running(repository_id)
            yield chunk

    async def _save_progress(self, repository_id: int, count: Counts) -> None:
        await self._require_running(repository_id)
        async with self._db.transaction() as tx:
            source = await sources.get(tx, repository_id)
            if source is not None:
                await sources.save_counts(tx, repository_id, sources.counts_of(source) | {"releases": count})

    async def _require_running(self, repository_id: int) -> None:
        async with self._db.transaction() as tx:
            if not await import_rows.change(tx, repository_id, (ImportState.RUNNING,), phase="releases"):
                raise RemoteFailed("cancelled")

    async def wiki_address(self, remote: RemoteRow, source: SourceRow) -> GitAddress | None:
        """Return the address of the wiki, or None if an archive has no wiki. Raises RemoteFailed."""
        if source.archive is not None:
            bundle = await self._archives.unpack(source.archive, WIKI_BUNDLE)
            return GitAddress(str(bundle)) if bundle is not None else None
        return GitAddress(remote.url.rstrip("/").removesuffix(".git") + ".wiki.git", remote.sealed)

    async def fetch_wiki(self, row: RepositoryRow, address: GitAddress) -> None:
        """Fetch the git repository of the wiki, if the source has one. An existing wiki is not changed."""
        async with self._db.read() as db:
            existing = await wikis.get(db, row.id)
        if existing is not None and existing.state == RepositoryState.READY:
            return
        async with self._connector.open(address) as connection:

            async def fetch_all() -> None:
                offer = await list_remote_refs(connection.remote, connection.progress)
                main, heads = default_branch_of(offer), [n for n in offer.refs if n.startswith(BRANCHES)]
                if main is None:
                    return
                wiki_id = await self._wiki_id(row, main)
                path = await asyncio.to_thread(self._storage.import_staging, wiki_id, main)
                await fetch(connection.remote, path, heads, connection.progress)
                if connection.ticket is None:
                    await self._archives.check(path)
                await asyncio.to_thread(self._storage.publish_import, wiki_id, main)
                await self._mark_ready(row.id, wiki_id, main)

            async def is_needed() -> bool:
                async with self._db.transaction() as tx:
                    return await import_rows.change(tx, row.id, (ImportState.RUNNING,), phase="wiki")

            try:
                await self._connector.watch(connection, fetch_all(), is_needed)
            except RemoteFailed as error:
                if error.reason not in NO_WIKI:
                    raise

    async def _wiki_id(self, row: RepositoryRow, main: str) -> int:
        async with self._db.transaction() as tx:
            added = await wikis.add(tx, row.id, shard=row.shard, default_branch=main)
            wiki = await wikis.get(tx, row.id)
        if added is None and wiki is None:
            raise RemoteFailed("cancelled")
        return added or (wiki.id if wiki is not None else 0)

    async def _mark_ready(self, repository_id: int, wiki_id: int, main: str) -> None:
        tips = await self._storage.call(wiki_id, list_refs, (BRANCHES,))
        size = await asyncio.to_thread(self._storage.size, wiki_id)
        async with self._db.transaction() as tx:
            values = {"default_branch": main, "empty": False, "size": size}
            await repositories.change(tx, wiki_id, state=RepositoryState.READY, **values)
            await refs.record(tx, wiki_id, dict(tips))
            await sources.save_bases(tx, repository_id, "wiki", tips)


class _AddedRelease(NamedTuple):
    """A local release, digests of its fields at the source, and the fields that changed on both sides."""

    row: ReleaseRow
    fields: Mapping[str, str]
    conflicts: Sequence[str]


class _Files(NamedTuple):
    """The files of a release. ``base`` is the release at the last run."""

    repository: RepositoryRow
    added: _AddedRelease
    uploader_id: int
    release: SourceRelease
    base: ReleaseBase
    is_repeat: bool


async def _save_base(tx: Tx, repository_id: int, release: SourceRelease, base: ReleaseBase) -> None:
    values = {release.tag_name.lower(): msgspec.json.encode(base).decode()}
    await sources.save_bases(tx, repository_id, "release", values)


def _with_file(base: ReleaseBase, key: str, asset: SourceAsset, file: FileBase) -> ReleaseBase:
    names = base.assets if asset.name in base.assets else [*base.assets, asset.name]
    return msgspec.structs.replace(base, assets=names, files={**base.files, key: file})


def _columns(release: SourceRelease, tags: Collection[str]) -> dict[str, Any]:
    """Return the columns of a release. A release without a tag in git is a draft. Raises SourceFailed."""
    try:
        names.check_tag(release.tag_name)
    except Invalid:
        raise SourceFailed("forge-answer") from None
    is_draft = release.draft or TAGS + release.tag_name not in tags
    return {
        "target_commitish": _clip(release.target),
        "name": _clip(release.name),
        "body": release.body.replace("\0", "")[:BODY_CHARACTERS],
        "draft": is_draft,
        "prerelease": release.prerelease,
        "published_at": None if is_draft else release.published_at or release.created_at,
    }


class _Budget:
    """The limit in bytes for all assets of one import."""

    def __init__(self, left: int) -> None:
        self._left = left

    def take(self, size: int) -> None:
        """Count received bytes. Raises SourceFailed above the limit."""
        self._left -= size
        if self._left < 0:
            raise SourceFailed("too-large")


def _clip(text: str) -> str:
    return text.replace("\0", "")[:NAME_CHARACTERS]
