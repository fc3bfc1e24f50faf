"""Imports: a repository gets its row at once, and a job fetches its commits from a remote.

The database has the address of the remote. It also has the sealed credentials until the import is done, fails
or is cancelled. A failed or cancelled import can be restarted with new credentials, and keeps fetched data.
The API, the tables and the kind of the job call imports migrations.
"""

from collections.abc import Collection
from datetime import datetime, timedelta

import msgspec

from ingot_chassis.clock import now
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Conflict
from ingot_chassis.jobs.jobs import Job, Jobs
from ingot_chassis.security.sealing import Seal
from ingot_contracts.repos.events import ImportFetched, ImportFinished, ImportRequested, RepositoryCreated
from ingot_contracts.repos.imports import ConflictKind
from ingot_git.remote.remote import Reason
from ingot_repos.catalog.rules.limits import require_room
from ingot_repos.catalog.store import accounts, repositories
from ingot_repos.catalog.store import mirrors as mirror_rows
from ingot_repos.catalog.store.accounts import AccountRow
from ingot_repos.catalog.store.repositories import RepositoryRow
from ingot_repos.catalog.store.states import ImportState, RepositoryState
from ingot_repos.imports import store as sources
from ingot_repos.imports.store import OfferedKey, SourceRow
from ingot_repos.mirrors.rules import schedule
from ingot_repos.placement.rules.job_kinds import job_kind
from ingot_repos.presentation.rules.announcements import current_row
from ingot_repos.presentation.rules.presenter import Presenter, as_user, owner_kind
from ingot_repos.pushes.store import refs
from ingot_repos.remotes import store as imports
from ingot_repos.remotes.rules.credentials import seal_credentials
from ingot_repos.remotes.rules.reasons import REASON_TEXTS, reason_text
from ingot_repos.remotes.rules.urls import RemoteUrl
from ingot_repos.remotes.store import ImportRow
from ingot_repos.social.store import relations as stars_and_watches
from ingot_repos.social.store.relations import WATCHES

MIGRATE = "migrate"
REPEAT = "repeat_import"
"""The kind of jobs of repeats. Workers of earlier releases would begin with an empty repository."""
DISCARD = "discard_archive"
"""The kind of the job that removes the folder of an archive. Its key is the name of the archive."""
PERMANENT: frozenset[Reason] = frozenset(("archive", "broken", "format", "refused", "too-large", "unsafe"))
"""Reasons for which an archive fails again."""
OF_ISSUES: dict[str, bool] = {"issues_enabled": True, "pulls_enabled": True}
"""Columns of a repository that are off while data next to git is imported."""


BY_TIME: tuple[ConflictKind, ...] = ("issue", "pull", "comment", "review")
"""Kinds of which some sources list those that changed since a time."""
MARGIN = timedelta(hours=1)
"""Limit of the difference between the clock of a source and that of this server."""


class Migrate(msgspec.Struct, frozen=True):
    """The payload of the job that fetches the commits."""

    repository_id: int


class DiscardArchive(msgspec.Struct, frozen=True):
    """The empty payload of the job that removes the folder of an archive. The job's key names the archive."""


class NewImport(msgspec.Struct, frozen=True, kw_only=True):
    """A checked request for an import.

    ``interval`` is in seconds, for mirrors. Without ``lfs_url``, no LFS objects are fetched.
    """

    name: str
    description: str = ""
    private: bool = False
    default_branch: str
    remote: RemoteUrl
    lfs_url: str | None = None
    mirror: bool = False
    interval: int = 0
    source: "NewSource | None" = None


class NewSource(msgspec.Struct, frozen=True, kw_only=True):
    """The non-git data that an import copies, such as issues and releases: its kinds, and the service's API.

    Authors get the account with the same e-mail address. Without ``maps_people``, only the importing account
    can be an author. With ``map_logins``, an account with the same login is used, too. ``people`` has the
    accounts that the form names, by lower-case login at the source. They take precedence.

    ``archive`` is the name of an uploaded archive, which is read in place of the source. ``deploy_keys`` are
    the deploy keys in this archive.
    """

    service: str
    kinds: list[str]
    maps_people: bool = False
    map_logins: bool = False
    people: dict[str, int] = {}
    archive: str | None = None
    deploy_keys: list[OfferedKey] = []


class NewRepeat(msgspec.Struct, frozen=True, kw_only=True):
    """A checked request of the user ``user_id`` to repeat an import.

    ``sealed`` has the credentials for the remote. The other fields are as in ``NewSource``.
    """

    user_id: int
    sealed: bytes | None
    maps_people: bool = False
    map_logins: bool = False
    people: dict[str, int] = {}


def error_text(row: ImportRow) -> str:
    """Return the error of an import or of a mirror's last sync; empty without an error."""
    text = reason_text(row.reason or row.sync_reason or row.lfs_reason)
    return f"{text}: {row.lfs_absent}" if text == REASON_TEXTS["lfs-missing"] else text


async def request(
    tx: Tx,
    jobs: Jobs,
    seal: Seal,
    owner: AccountRow,
    user_id: int,
    new: NewImport,
    *,
    shard: str,
    most: int,
) -> RepositoryRow:
    """Add a repository with an import job and return its row. ``most`` is the owner's limit.

    Raises Conflict if the name is taken, and Denied above the limit.
    """
    await require_room(tx, owner.id, most)
    repository_id = await repositories.add(
        tx,
        owner_id=owner.id,
        name=new.name,
        description=new.description,
        private=new.private,
        mirror=new.mirror,
        default_branch=new.default_branch,
        shard=shard,
        state=RepositoryState.FORKING,
        source_url=new.remote.url if new.remote.url.startswith(("http://", "https://")) else "",
    )
    if repository_id is None:
        raise Conflict(f"{owner.login} has a repository {new.name!r} already")
    if new.source is not None:
        await repositories.change(tx, repository_id, **dict.fromkeys(OF_ISSUES, False))
    sealed = seal_credentials(seal, new.remote.username, new.remote.password)
    await imports.add(
        tx, repository_id, url=new.remote.url, sealed=sealed, user_id=user_id, lfs_url=new.lfs_url
    )
    if new.source is not None:
        await sources.add(
            tx,
            repository_id,
            service=new.source.service,
            kinds=new.source.kinds,
            map_logins=new.source.map_logins,
            maps_people=new.source.maps_people,
            people=new.source.people,
            archive=new.source.archive,
            deploy_keys=new.source.deploy_keys,
        )
    if new.mirror:
        await mirror_rows.add(tx, repository_id, interval_seconds=new.interval)
    await _start(tx, jobs, repository_id, shard)
    await stars_and_watches.add(tx, WATCHES, repository_id, user_id)
    return await current_row(tx, repository_id)


async def complete(
    tx: Tx,
    jobs: Jobs,
    job: Job,
    presenter: Presenter,
    row: RepositoryRow,
    *,
    tips: dict[str, str],
    heads: dict[str, str],
    main: str,
    size: int,
    licenses: str,
) -> bool:
    """Make the repository ready, announce it and end the job. Return False if the import was cancelled.

    If the import has non-git data, it continues, and issues is notified. ``heads`` are the heads of pull
    requests.
    """
    source = await sources.get(tx, row.id)
    done = {"state": ImportState.DONE, "phase": "done", "percent": 100, "finished_at": now()}
    ended = await imports.change(
        tx, row.id, (ImportState.RUNNING,), reason="", **({} if source is not None else done)
    )
    if not ended:
        return False
    await repositories.change(
        tx,
        row.id,
        state=RepositoryState.READY,
        empty=not tips,
        default_branch=main,
        size=size,
        licenses=licenses,
    )
    await refs.record(tx, row.id, dict(tips))
    if not row.mirror:
        await sources.save_bases(tx, row.id, "ref", tips | heads)
    remote = await imports.get_remote(tx, row.id)
    if row.mirror:
        await schedule.begin(tx, jobs, row)
    elif source is None:
        await imports.change_remote(tx, row.id, sealed=None)
    else:
        await sources.begin_reading(tx, row.id)
    await jobs.finish(tx, job)
    ready_row = await current_row(tx, row.id)
    repository = presenter.repository(ready_row)
    user = await accounts.get(tx, remote.user_id) if remote is not None else None
    tx.emit(
        RepositoryCreated(
            repository=repository,
            sender=as_user(user) if user else repository.owner,
            owner_kind=owner_kind(ready_row),
        ),
        key=row.id,
    )
    if source is not None:
        tx.emit(ImportFetched(repository=repository), key=row.id)
    elif user is not None:
        await announce_end(tx, presenter, row.id)
    return True


async def fail(
    tx: Tx, jobs: Jobs, job: Job, presenter: Presenter, repository_id: int, reason: Reason
) -> None:
    """End the import and its job with a reason, and announce the failure.

    The repository is marked as failed, and stays until it is deleted or its import is restarted. After a
    failed repeat it stays ready.
    """
    if await end(tx, repository_id, imports.UNENDED, ImportState.FAILED, reason):
        if not await _is_repeat(tx, repository_id):
            await repositories.change(tx, repository_id, state=RepositoryState.FAILED)
        await announce_end(tx, presenter, repository_id, reason)
        if reason in PERMANENT:
            await _discard_archive_of(tx, jobs, repository_id)
    await jobs.fail(tx, job, reason)


async def end(
    tx: Tx, repository_id: int, states: Collection[ImportState], state: ImportState, reason: Reason
) -> bool:
    """End an unfinished import that is in one of ``states``, and erase its credentials.

    Return False if the import is in another state.
    """
    if not await imports.change(tx, repository_id, states, state=state, reason=reason, finished_at=now()):
        return False
    await imports.change_remote(tx, repository_id, sealed=None)
    return True


async def announce_end(tx: Tx, presenter: Presenter, repository_id: int, reason: str = "") -> None:
    """Announce that an import has ended; without a reason it succeeded."""
    remote = await imports.get_remote(tx, repository_id)
    if remote is not None:
        repository = presenter.repository(await current_row(tx, repository_id))
        user, row = await accounts.get(tx, remote.user_id), await imports.get(tx, repository_id)
        finished = ImportFinished(
            repository=repository,
            requested_by=remote.user_id,
            reason=reason,
            sender=as_user(user) if user is not None else None,
            repeat=row.repeat if row is not None else 0,
        )
        tx.emit(finished, key=repository_id)


async def stop(tx: Tx, jobs: Jobs, job: Job, repository_id: int) -> None:
    """End the job of a cancelled or deleted import. Run it again if the import was restarted."""
    row = await imports.get(tx, repository_id)
    again = row is not None and row.state == ImportState.WAITING
    await jobs.finish(tx, job, again_at=now() if again else None)


async def cancel(tx: Tx, jobs: Jobs, repository_id: int) -> None:
    """Cancel an import. Its worker stops within a second. Raises Conflict if it has ended.

    A repository that has its commits stays ready. The table of people is erased, and an archive is removed.
    """
    if not await end(tx, repository_id, imports.UNENDED, ImportState.CANCELLED, "cancelled"):
        raise Conflict("the migration has ended")
    await sources.change(tx, repository_id, people="{}")
    await _discard_archive_of(tx, jobs, repository_id)
    if not await _is_fetched(tx, repository_id) and not await _is_repeat(tx, repository_id):
        await repositories.change(tx, repository_id, state=RepositoryState.FAILED)


async def discard_archive(tx: Tx, jobs: Jobs, name: str, shard: str) -> None:
    """Add the job that removes the folder of an archive."""
    await jobs.add(tx, job_kind(DISCARD, shard), name, DiscardArchive())


async def _discard_archive_of(tx: Tx, jobs: Jobs, repository_id: int) -> None:
    """Remove the archive of an import, if it has one. A restart then fails."""
    source = await sources.get(tx, repository_id)
    row = await repositories.get_unfiltered(tx, repository_id)
    if row is not None and source is not None and source.archive is not None:
        await discard_archive(tx, jobs, source.archive, row.shard)


async def give_up(tx: Tx, jobs: Jobs, repository_id: int) -> None:
    """Cancel an import whose repository is deleted. Raises Conflict if the import is or was done."""
    if await _is_repeat(tx, repository_id):
        raise Conflict("the migration was done once; cancel its repeat, or delete the repository instead")
    unfinished = (*imports.UNENDED, ImportState.FAILED, ImportState.CANCELLED)
    if not await imports.change(tx, repository_id, unfinished, state=ImportState.CANCELLED):
        raise Conflict("the migration is done; delete the repository instead")
    await _discard_archive_of(tx, jobs, repository_id)


async def restart(
    tx: Tx,
    jobs: Jobs,
    presenter: Presenter,
    row: RepositoryRow,
    *,
    user_id: int,
    is_admin: bool,
    sealed: bytes | None,
) -> None:
    """Restart a failed or cancelled import with new credentials.

    A repeat continues as ``user_id``. Only site administrators keep its mapping of people. Raises Conflict if
    the import runs or is done, or if the repository of a repeat is archived.
    """
    if not await imports.change(
        tx,
        row.id,
        (ImportState.FAILED, ImportState.CANCELLED),
        state=ImportState.WAITING,
        phase="",
        percent=0,
        received=0,
        reason="",
        finished_at=None,
    ):
        raise Conflict("the migration is running or done")
    await imports.change_remote(tx, row.id, sealed=sealed)
    if await _is_repeat(tx, row.id):
        if row.archived:
            raise Conflict("the repository is archived")
        await imports.change_remote(tx, row.id, user_id=user_id)
        own = {} if is_admin else {"maps_people": False, "map_logins": False, "people": "{}"}
        await sources.change(tx, row.id, fetched=False, **own)
        await _start(tx, jobs, row.id, row.shard, kind=REPEAT)
        return
    if await _is_fetched(tx, row.id):
        await imports.change(tx, row.id, (ImportState.WAITING,), state=ImportState.RUNNING)
        await sources.begin_reading(tx, row.id)
        repository = presenter.repository(await current_row(tx, row.id))
        tx.emit(ImportFetched(repository=repository), key=row.id)
        return
    await repositories.change(tx, row.id, state=RepositoryState.FORKING)
    await _start(tx, jobs, row.id, row.shard)


async def repeat(tx: Tx, jobs: Jobs, row: RepositoryRow, new: NewRepeat) -> None:
    """Begin to repeat an import that is done, to fetch changes at the source.

    Raises Conflict if the import is not done, for mirrors, archived repositories and imports of an archive.
    """
    before, source = await imports.get(tx, row.id), await sources.get(tx, row.id)
    if row.mirror:
        raise Conflict("a mirror is synchronized instead")
    if row.archived:
        raise Conflict("the repository is archived")
    if source is not None and source.archive is not None:
        raise Conflict("an archive brings nothing new")
    if before is None or not await imports.change(
        tx,
        row.id,
        (ImportState.DONE,),
        state=ImportState.WAITING,
        phase="",
        percent=0,
        received=0,
        reason="",
        finished_at=None,
        repeat=before.repeat + 1,
    ):
        raise Conflict("the migration is not done")
    await imports.change_remote(tx, row.id, sealed=new.sealed, user_id=new.user_id)
    since = await _next_since(tx, source) if source is not None else None
    await sources.remove_conflicts(tx, row.id)
    if source is not None:
        await sources.change(
            tx,
            row.id,
            fetched=False,
            counts="{}",
            failures=0,
            reading_since=None,
            done_before=0,
            maps_people=new.maps_people,
            map_logins=new.map_logins,
            people=msgspec.json.encode(new.people).decode(),
            since=since,
            started_at=now(),
        )
    await _start(tx, jobs, row.id, row.shard, kind=REPEAT)


async def _next_since(tx: Tx, source: SourceRow) -> datetime | None:
    """Return the time after which a repeat reads changes: the start of the last run, minus a margin.

    Objects with conflicts are reported by each run. So after a run with conflicts, the time does not advance.
    """
    if source.started_at is None or await sources.has_conflicts(tx, source.repository_id, BY_TIME):
        return source.since
    return source.started_at - MARGIN


async def complete_repeat(tx: Tx, jobs: Jobs, job: Job, presenter: Presenter, row: RepositoryRow) -> bool:
    """End the job that fetched new commits. Return False if the import was cancelled.

    If the import has non-git data, it continues, and issues is notified. Otherwise it is done.
    """
    running = await imports.get(tx, row.id)
    if running is None or running.state != ImportState.RUNNING:
        return False
    if await sources.get(tx, row.id) is not None:
        await sources.begin_reading(tx, row.id)
        repository = presenter.repository(await current_row(tx, row.id))
        tx.emit(ImportFetched(repository=repository, repeat=running.repeat), key=row.id)
    else:
        done = {"state": ImportState.DONE, "phase": "done", "percent": 100, "finished_at": now()}
        await imports.change(tx, row.id, (ImportState.RUNNING,), reason="", **done)
        await imports.change_remote(tx, row.id, sealed=None)
        await announce_end(tx, presenter, row.id)
    await jobs.finish(tx, job)
    return True


async def _is_repeat(tx: Tx, repository_id: int) -> bool:
    """Return whether the import was done once, so its repository is in use."""
    row = await imports.get(tx, repository_id)
    return row is not None and row.repeat > 0


async def _is_fetched(tx: Tx, repository_id: int) -> bool:
    """Return whether all commits are fetched, and only non-git data is missing."""
    source = await sources.get(tx, repository_id)
    return source is not None and source.fetched


async def _start(tx: Tx, jobs: Jobs, repository_id: int, shard: str, *, kind: str = MIGRATE) -> None:
    await jobs.add(tx, job_kind(kind, shard), repository_id, Migrate(repository_id))
    tx.emit(ImportRequested(repository_id=repository_id), key=repository_id)
