"""Imports: the metadata of a repository is there at once, its commits are fetched from a remote by a job.

The remote is in the database, user name and password sealed. An import that failed or was cancelled can be started
again, and keeps what it has fetched. The API, the tables and the kind of the job call imports migrations.
"""

import msgspec

from ingot_chassis.clock import now
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Conflict
from ingot_chassis.jobs.jobs import Job, Jobs
from ingot_chassis.security.sealing import Seal, Unreadable
from ingot_contracts.repos import RepositoryCreated
from ingot_repos.core import mirrors
from ingot_repos.core.job_kinds import job_kind
from ingot_repos.core.limits import require_room
from ingot_repos.core.presenter import Presenter, as_user, owner_kind
from ingot_repos.core.remote_urls import RemoteUrl
from ingot_repos.core.repositories import current_row
from ingot_repos.git.remote import Reason
from ingot_repos.store import accounts, imports, refs, repositories, stars_and_watches
from ingot_repos.store import mirrors as mirror_rows
from ingot_repos.store.accounts import AccountRow
from ingot_repos.store.imports import ImportRow
from ingot_repos.store.repositories import RepositoryRow
from ingot_repos.store.stars_and_watches import WATCHES
from ingot_repos.store.states import ImportState, RepositoryState

MIGRATE = "migrate"
TOKEN_USERNAME = "oauth2"  # noqa: S105 - no secret
"""The user name beside a token. The large forges accept it, and most others accept any name."""

REASON_TEXTS: dict[Reason, str] = {
    "access": "who added it may no longer administer the repository",
    "address": "the address may not be reached from here",
    "broken": "the data that the remote sent is broken or incomplete",
    "cancelled": "was cancelled",
    "failed": "fetching failed",
    "format": "the remote uses another object format than SHA-1",
    "host-key": "the host key of the remote is not known",
    "idle": "the remote sent nothing for too long",
    "lfs-address": "the address of an object of LFS may not be reached from here",
    "lfs-failed": "there is no LFS server at the remote, or it does not answer as it should",
    "lfs-missing": "the remote does not give these objects of LFS, or sends them damaged",
    "lfs-off": "large files (LFS) are switched off on this server",
    "lfs-room": "there is no room for the objects of LFS",
    "lfs-too-large": "an object of LFS is larger than the limit",
    "lfs-unauthorized": "the LFS server of the remote refused the credentials",
    "lfs-unreachable": "the LFS server of the remote cannot be reached",
    "no-repository": "there is no git repository at this address",
    "not-found": "the remote has no such repository",
    "redirect": "the remote answers with a redirect; use the address to which it redirects",
    "rejected": "the remote refused some branches or tags",
    "room": "there is no room for the repository; an administrator has to make some",
    "secrets": "user name and password were sealed with another key; set them again",
    "tls": "no trusted TLS connection to the remote",
    "too-large": "the repository is larger than the limit",
    "too-many-refs": "the remote has more branches and tags than the limit",
    "unauthorized": "the remote refused the credentials",
    "unreachable": "the remote cannot be reached",
}
"""What users read. Messages of the remote and of git are never shown."""


class Migrate(msgspec.Struct, frozen=True):
    """The job that fetches the commits."""

    repository_id: int


class NewImport(msgspec.Struct, frozen=True, kw_only=True):
    """A checked request for an import. ``interval`` (seconds) is for mirrors; no ``lfs_url``: no objects of LFS."""

    name: str
    description: str = ""
    private: bool = False
    default_branch: str
    remote: RemoteUrl
    lfs_url: str | None = None
    mirror: bool = False
    interval: int = 0


def reason_text(reason: str) -> str:
    """The text for a stored reason; empty without one."""
    return next((text for key, text in REASON_TEXTS.items() if key == reason), "")


def error_text(row: ImportRow) -> str:
    """What is wrong with an import, or with what a mirror last fetched; empty when nothing is."""
    text = reason_text(row.reason or row.sync_reason or row.lfs_reason)
    return f"{text}: {row.lfs_absent}" if text == REASON_TEXTS["lfs-missing"] else text


def seal_credentials(seal: Seal, username: str, password: str) -> bytes | None:
    """User name and password as they are stored; None without any."""
    if not username and not password:
        return None
    return seal.close(msgspec.json.encode([username or TOKEN_USERNAME, password]).decode())


def open_credentials(seal: Seal, sealed: bytes | None) -> tuple[str, str] | None:
    """The user name and password that were sealed. Raises Unreadable."""
    return msgspec.json.decode(seal.open(sealed), type=tuple[str, str]) if sealed is not None else None


def change_credentials(
    seal: Seal, sealed: bytes | None, username: str | None, password: str | None
) -> bytes | None:
    """The sealed credentials with another user name or password; None leaves either as it is."""
    try:
        before = open_credentials(seal, sealed) or ("", "")
    except Unreadable:
        before = ("", "")
    return seal_credentials(
        seal, before[0] if username is None else username, before[1] if password is None else password
    )


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
    """Add a repository of ``owner``, who may have ``most``, and the job that fetches its commits; its row.

    Raises Conflict for a taken name, Denied.
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
    )
    if repository_id is None:
        raise Conflict(f"{owner.login} has a repository {new.name!r} already")
    sealed = seal_credentials(seal, new.remote.username, new.remote.password)
    await imports.add(
        tx, repository_id, url=new.remote.url, sealed=sealed, user_id=user_id, lfs_url=new.lfs_url
    )
    if new.mirror:
        await mirror_rows.add(tx, repository_id, interval_seconds=new.interval)
    await jobs.add(tx, job_kind(MIGRATE, shard), repository_id, Migrate(repository_id))
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
    main: str,
    size: int,
    licenses: str,
) -> bool:
    """The commits are there: make the repository ready, announce it, end the job. False when it was cancelled."""
    ended = await imports.change(
        tx,
        row.id,
        (ImportState.RUNNING,),
        state=ImportState.DONE,
        phase="done",
        percent=100,
        reason="",
        finished_at=now(),
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
    remote = await imports.get_remote(tx, row.id)
    if row.mirror:
        await mirrors.begin(tx, jobs, row)
    else:
        await imports.change_remote(tx, row.id, sealed=None)
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
    return True


async def fail(tx: Tx, jobs: Jobs, job: Job, repository_id: int, reason: Reason) -> None:
    """End the job with a reason. The repository stays, as failed, until the import is started again or it is deleted."""
    if await imports.change(
        tx, repository_id, imports.UNENDED, state=ImportState.FAILED, reason=reason, finished_at=now()
    ):
        await repositories.change(tx, repository_id, state=RepositoryState.FAILED)
    await jobs.fail(tx, job, reason)


async def stop(tx: Tx, jobs: Jobs, job: Job, repository_id: int) -> None:
    """End the job of an import that was cancelled or deleted; run it again if it was started again meanwhile."""
    row = await imports.get(tx, repository_id)
    again = row is not None and row.state == ImportState.WAITING
    await jobs.finish(tx, job, again_at=now() if again else None)


async def cancel(tx: Tx, repository_id: int) -> None:
    """Cancel an import; its worker sees that within a second. Raises Conflict when it has ended."""
    if not await imports.change(
        tx, repository_id, imports.UNENDED, state=ImportState.CANCELLED, reason="cancelled", finished_at=now()
    ):
        raise Conflict("the migration has ended")
    await repositories.change(tx, repository_id, state=RepositoryState.FAILED)


async def restart(tx: Tx, jobs: Jobs, row: RepositoryRow) -> None:
    """Start a failed or cancelled import again. Raises Conflict for any other."""
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
        raise Conflict("the migration runs or is done")
    await repositories.change(tx, row.id, state=RepositoryState.FORKING)
    await jobs.add(tx, job_kind(MIGRATE, row.shard), row.id, Migrate(row.id))
