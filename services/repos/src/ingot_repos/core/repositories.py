"""Making, changing and deleting repositories."""

import asyncio
from typing import Any

import msgspec

from ingot_chassis.database import Database, Tx
from ingot_chassis.errors import Conflict, Invalid, NotFound
from ingot_chassis.jobs import Jobs
from ingot_chassis.tables import now
from ingot_contracts.identity import GHOST, Ownership, User
from ingot_contracts.repos import RepositoryAbandoned, RepositoryCreated, RepositoryDeleted, RepositoryEdited
from ingot_repos.clients.identity import Identity
from ingot_repos.core import deletions, names
from ingot_repos.core.limits import require_room
from ingot_repos.core.views import Viewing, user
from ingot_repos.git.commits import Person
from ingot_repos.git.objects import initial_commit
from ingot_repos.git.refs import BRANCHES
from ingot_repos.git.storage import Storage
from ingot_repos.store import marks, refs, repositories


class NewRepository(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked for. Without ``files`` it begins empty, else with a commit of them."""

    name: str
    description: str = ""
    website: str = ""
    private: bool = False
    default_branch: str
    files: dict[str, str] = {}


class Creating:
    """Makes repositories: a row that reserves id and name, files on disk, and only then the announcement."""

    def __init__(
        self, database: Database, storage: Storage, viewing: Viewing, identity: Identity, shard: str
    ) -> None:
        self._db, self._storage, self._viewing, self._shard = database, storage, viewing, shard
        self._identity = identity

    async def create(self, owner: Any, creator: Any, wanted: NewRepository, *, most: int) -> Any:
        """Create a repository of ``owner``, who may have ``most``; its row. Raises Invalid, Denied, NotFound.

        Whatever dies on the way leaves no more than a reserved name, which is freed after some minutes.
        """
        repository_id = await self._reserve(owner.id, wanted, most)
        ready = False
        try:
            told = Ownership(owner_id=owner.id, name=wanted.name, private=wanted.private)
            await self._identity.own(repository_id, told)
            tips = await self._fill(repository_id, creator, wanted)
            async with self._db.transaction() as tx:
                row = await self._open(tx, repository_id, creator, tips)
            ready = True
        finally:
            if not ready:
                await asyncio.shield(self._undo(repository_id))
        return row

    async def _reserve(self, owner_id: int, wanted: NewRepository, most: int) -> int:
        async with self._db.transaction() as tx:
            await require_room(tx, owner_id, most)
            repository_id = await repositories.add(
                tx,
                owner_id=owner_id,
                name=names.check_repository(wanted.name),
                description=wanted.description,
                website=wanted.website,
                private=wanted.private,
                default_branch=names.check_branch(wanted.default_branch),
                shard=self._shard,
                state="creating",
            )
        if repository_id is None:
            raise Invalid.field("name", "taken", f"there is a repository {wanted.name!r} already")
        return repository_id

    async def _fill(self, repository_id: int, creator: Any, wanted: NewRepository) -> dict[str, str]:
        """Make the files; the refs that are there then."""
        await asyncio.to_thread(self._storage.create, repository_id, wanted.default_branch)
        if not wanted.files:
            return {}
        oid = await self._storage.call(
            repository_id,
            initial_commit,
            wanted.default_branch,
            {path: text.encode() for path, text in wanted.files.items()},
            person(creator),
        )
        return {BRANCHES + wanted.default_branch: oid}

    async def _open(self, tx: Tx, repository_id: int, creator: Any, tips: dict[str, str]) -> Any:
        await repositories.change(tx, repository_id, state="ready", empty=not tips)
        await refs.record(tx, repository_id, dict(tips))
        await marks.put(tx, "watch", repository_id, creator.id)
        row = await existing(tx, repository_id)
        tx.emit(
            RepositoryCreated(
                repository=self._viewing.repository(row), sender=user(creator), owner_kind=row.owner_kind
            ),
            key=repository_id,
        )
        return row

    async def _undo(self, repository_id: int) -> None:
        await asyncio.to_thread(self._storage.delete, repository_id)
        async with self._db.transaction() as tx:
            await abandon(tx, repository_id)


async def abandon(tx: Tx, repository_id: int) -> None:
    """Take away a repository that was never ready."""
    if await repositories.remove(tx, repository_id):
        tx.emit(RepositoryAbandoned(repository_id=repository_id), key=repository_id)


async def edit(tx: Tx, viewing: Viewing, row: Any, sender: User, changes: dict[str, Any]) -> Any:
    """Change columns of a repository and announce it; the new row. Raises Invalid, NotFound."""
    if row.private and changes.get("private") is False and row.fork_of is not None:
        upstream = await repositories.get_raw(tx, row.fork_of)
        if upstream is not None and is_hidden(upstream):
            raise Invalid.field(
                "private", "fork", "a fork stays private as long as what it was forked from is hidden"
            )
    name = names.check_repository(changes.pop("name", row.name))
    if not await repositories.change(tx, row.id, **changes):
        raise NotFound
    if name != row.name and not await repositories.move(tx, row, owner_id=row.owner_id, name=name):
        raise Invalid.field("name", "taken", f"there is a repository {name!r} already")
    return await announce_edit(tx, viewing, row, sender)


def is_hidden(row: Any) -> bool:
    """Whether not everybody may see it: whoever owns it may be hidden, and then it is, too."""
    return row.private or row.owner_visibility != "public"  # type: ignore[no-any-return]


async def announce_edit(tx: Tx, viewing: Viewing, before: Any, sender: User) -> Any:
    """Tell that a repository is no longer as ``before``; how it is now. Raises Conflict."""
    edited = await existing(tx, before.id)
    former = f"{before.owner_login}/{before.name}"
    tx.emit(
        RepositoryEdited(
            repository=viewing.repository(edited),
            sender=sender,
            previous_full_name=former if former != f"{edited.owner_login}/{edited.name}" else "",
        ),
        key=before.id,
    )
    return edited


async def delete(tx: Tx, jobs: Jobs, viewing: Viewing, row: Any, sender: User) -> None:
    """Take a repository away at once; its files follow later. Raises NotFound when somebody was faster."""
    if not await repositories.remove(tx, row.id):
        raise NotFound
    if row.fork_of is not None:
        await repositories.count_forks(tx, row.fork_of)
    await deletions.bury(tx, jobs, row)
    if row.state == "ready":
        tx.emit(
            RepositoryDeleted(repository=viewing.repository(row), sender=sender, owner_kind=row.owner_kind),
            key=row.id,
        )
    else:
        tx.emit(RepositoryAbandoned(repository_id=row.id), key=row.id)


async def take_back(tx: Tx, jobs: Jobs, viewing: Viewing, repository_id: int) -> None:
    """Delete what was just made, whatever became of it meanwhile. Raises Conflict, NotFound if that was done."""
    await delete(tx, jobs, viewing, await existing(tx, repository_id), GHOST)


async def existing(tx: Tx, repository_id: int) -> Any:
    """The row with its owner. Raises Conflict when it was taken away meanwhile."""
    row = await repositories.get_raw(tx, repository_id)
    if row is None:
        raise Conflict("the repository was deleted meanwhile")
    return row


def person(row: Any) -> Person:
    """How an account signs commits."""
    return Person(row.full_name or row.login, row.email or f"{row.login}@localhost", now())
