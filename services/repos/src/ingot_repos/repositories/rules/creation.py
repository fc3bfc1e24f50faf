"""Creation of repositories: insert a row that reserves the name, create the files, emit an event."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated

import msgspec

from ingot_chassis.db.database import Database
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import ApiError, Invalid
from ingot_chassis.jobs.jobs import Jobs
from ingot_contracts.identity.accounts import GHOST, Ownership
from ingot_contracts.limits import WEB_URL, Name
from ingot_contracts.repos.events import FirstLabel, RepositoryCreated
from ingot_git.changes.branches import readable_tips
from ingot_git.changes.template_copies import copy_template
from ingot_git.history.licenses import licenses_column
from ingot_git.history.new_objects import Signer
from ingot_git.history.objects import initial_commit
from ingot_git.process.errors import OutputTooLarge, RefNotFound, UnsafeObject
from ingot_git.refs.refs import BRANCHES
from ingot_git.storage.storage import Storage
from ingot_repos.access.rules import grants
from ingot_repos.catalog.rules import names
from ingot_repos.catalog.rules.extra_settings import TrustModel, TrustSetting
from ingot_repos.catalog.rules.limits import require_room
from ingot_repos.catalog.store import repositories
from ingot_repos.catalog.store.accounts import AccountRow
from ingot_repos.catalog.store.repositories import RepositoryRow
from ingot_repos.catalog.store.states import RepositoryState
from ingot_repos.clients.identity import HttpIdentity
from ingot_repos.presentation.rules.announcements import (
    abandon,
    current_row,
    person,
)
from ingot_repos.presentation.rules.presenter import Presenter, as_user, owner_kind
from ingot_repos.protection import store as protections
from ingot_repos.pushes.store import refs
from ingot_repos.repositories.rules import template_names
from ingot_repos.repositories.rules.deletions import delete
from ingot_repos.repositories.store import topics
from ingot_repos.social.store import relations as stars_and_watches
from ingot_repos.social.store.relations import WATCHES


class TemplateFiles(msgspec.Struct, frozen=True, kw_only=True):
    """A template branch on this shard. ``names`` are the variables that its files may contain."""

    repository_id: int
    branch: str
    names: dict[str, str]


Website = Annotated[Name, WEB_URL]


class InitialFields(msgspec.Struct, kw_only=True):
    """Fields of a new repository that are columns with the same names."""

    description: Name = ""
    website: Website = ""
    private: bool = False
    template: bool = False


class NewRepository(msgspec.Struct, frozen=True, kw_only=True):
    """A request for a repository. It starts empty unless it has ``files`` or ``copy``.

    ``labels_of`` and ``protections_of`` are ids of templates to copy labels and branch protections from. 0
    means none. ``mode_of_creator`` is the creator's mode as a collaborator; empty means none. ``staged`` is
    the folder of an adopted repository.
    """

    name: str
    fields: InitialFields
    trust_model: TrustModel = "default"
    default_branch: str
    files: dict[str, str] = {}
    labels: list[FirstLabel] = []
    copy: TemplateFiles | None = None
    topics: list[str] = []
    labels_of: int = 0
    protections_of: int = 0
    mode_of_creator: str = ""
    staged: Path | None = None


class NameTaken(Invalid):
    """The owner has a repository with that name."""


class RepositoryCreator:
    """A creator of repositories. It inserts a row, creates the files and announces the repository.

    The row reserves the id and the name.
    """

    def __init__(
        self,
        database: Database,
        storage: Storage,
        presenter: Presenter,
        identity: HttpIdentity,
        shard: str,
        signer: Signer | None,
    ) -> None:
        self._db, self._storage, self._presenter, self._shard = database, storage, presenter, shard
        self._identity, self._signer = identity, signer

    async def create(
        self,
        owner: AccountRow,
        creator: AccountRow,
        new: NewRepository,
        *,
        most: int,
        note: Callable[[Tx], Awaitable[None]] | None = None,
    ) -> RepositoryRow:
        """Create a repository and return its row. ``most`` is the owner's limit.

        ``note`` is called in the transaction that announces the repository.

        Raises Invalid (NameTaken), Denied, NotFound. A process that dies leaves a reserved name, which is
        released after some minutes.
        """
        repository_id = await self._reserve(owner.id, new, most)
        ready = False
        try:
            ownership = Ownership(owner_id=owner.id, name=new.name, private=new.fields.private)
            await self._identity.own(repository_id, ownership)
            tips = await self._create_files(repository_id, creator, new)
            licenses = "[]"
            if tips:
                licenses = await self._storage.call(repository_id, licenses_column, new.default_branch)
            async with self._db.transaction() as tx:
                row = await self._announce(tx, repository_id, creator, new, tips, licenses)
                if note is not None:
                    await note(tx)
            ready = True
        finally:
            if not ready:
                await asyncio.shield(self._undo(repository_id))
        return row

    async def _reserve(self, owner_id: int, new: NewRepository, most: int) -> int:
        async with self._db.transaction() as tx:
            await require_room(tx, owner_id, most)
            repository_id = await repositories.add(
                tx,
                owner_id=owner_id,
                name=names.check_repository(new.name),
                **msgspec.structs.asdict(new.fields),
                default_branch=names.check_branch(new.default_branch),
                shard=self._shard,
                state=RepositoryState.CREATING,
            )
        if repository_id is None:
            raise NameTaken.field("name", "taken", f"there is a repository {new.name!r} already")
        return repository_id

    async def _create_files(
        self, repository_id: int, creator: AccountRow, new: NewRepository
    ) -> dict[str, str]:
        """Create the git repository and return its refs."""
        if new.staged is not None:
            await asyncio.to_thread(self._storage.publish_copy, new.staged, repository_id, new.default_branch)
            return await self._storage.call(repository_id, readable_tips)
        await asyncio.to_thread(self._storage.create, repository_id, new.default_branch)
        if new.copy is not None:
            try:
                commit = await self._storage.call(
                    repository_id,
                    copy_template,
                    self._storage.path(new.copy.repository_id),
                    new.copy.branch,
                    new.default_branch,
                    person(creator),
                    template_names.filler(new.copy.names),
                    template_names.filled_paths,
                    self._signer,
                )
            except RefNotFound:  # the template is empty
                return {}
            except OutputTooLarge as error:
                raise Invalid.field("git_content", "length", str(error)) from None
            except UnsafeObject as error:
                raise Invalid.field("git_content", "unsafe", f"{error.path}: {error}") from None
            return {BRANCHES + new.default_branch: commit}
        if not new.files:
            return {}
        oid = await self._storage.call(
            repository_id,
            initial_commit,
            new.default_branch,
            {path: text.encode() for path, text in new.files.items()},
            person(creator),
            signer=self._signer,
        )
        return {BRANCHES + new.default_branch: oid}

    async def _announce(
        self,
        tx: Tx,
        repository_id: int,
        creator: AccountRow,
        new: NewRepository,
        tips: dict[str, str],
        licenses: str,
    ) -> RepositoryRow:
        """Mark the repository as ready, announce it and return its row."""
        await repositories.change(
            tx,
            repository_id,
            state=RepositoryState.READY,
            empty=not tips,
            licenses=licenses,
            inert_settings=msgspec.json.encode(TrustSetting(new.trust_model)).decode(),
            size=await asyncio.to_thread(self._storage.size, repository_id) if new.staged else 0,
        )
        await refs.record(tx, repository_id, dict(tips))
        await stars_and_watches.add(tx, WATCHES, repository_id, creator.id)
        if new.topics:
            await topics.replace(tx, repository_id, new.topics)
        if new.protections_of:
            await protections.copy_branch_rules(tx, new.protections_of, repository_id)
        row = await current_row(tx, repository_id)
        tx.emit(
            RepositoryCreated(
                repository=self._presenter.repository(row),
                sender=as_user(creator),
                owner_kind=owner_kind(row),
                labels=new.labels,
                labels_of=new.labels_of,
            ),
            key=repository_id,
        )
        if new.mode_of_creator:
            await grants.add_collaborator(tx, repository_id, creator.id, new.mode_of_creator)
        return row

    async def _undo(self, repository_id: int) -> None:
        await asyncio.to_thread(self._storage.delete, repository_id)
        async with self._db.transaction() as tx:
            await abandon(tx, repository_id)


async def record_owner(
    database: Database, identity: HttpIdentity, jobs: Jobs, presenter: Presenter, row: RepositoryRow
) -> None:
    """Record the owner of a new repository at identity.

    If that fails, delete the repository and raise the error, such as NotFound or Unavailable.
    """
    ownership = Ownership(owner_id=row.owner_id, name=row.name, private=row.private)
    try:
        await identity.own(row.id, ownership)
    except ApiError:
        async with database.transaction() as tx:
            await delete(tx, jobs, presenter, await current_row(tx, row.id), GHOST)
        raise
