"""Creates, changes and deletes repositories."""

import asyncio
from typing import Any

import msgspec

from ingot_chassis.clock import now
from ingot_chassis.db.database import Database
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import ApiError, Conflict, Invalid, NotFound
from ingot_chassis.jobs.jobs import Jobs
from ingot_contracts.identity import GHOST, Ownership, User
from ingot_contracts.pulls import MERGE_STYLES, MergeStyle
from ingot_contracts.repos import (
    FirstLabel,
    RepositoryAbandoned,
    RepositoryCreated,
    RepositoryDeleted,
    RepositoryEdited,
)
from ingot_repos.clients.identity import HttpIdentity
from ingot_repos.core import deletions, grants, names, template_names
from ingot_repos.core.limits import require_room
from ingot_repos.core.presenter import Presenter, as_user, owner_kind
from ingot_repos.git.commits import Person
from ingot_repos.git.errors import OutputTooLarge, RefNotFound
from ingot_repos.git.licenses import licenses_column
from ingot_repos.git.objects import initial_commit
from ingot_repos.git.refs import BRANCHES
from ingot_repos.git.storage import Storage
from ingot_repos.git.template_copies import copy_template
from ingot_repos.store import protections, refs, repositories, stars_and_watches, topics
from ingot_repos.store.accounts import AccountRow
from ingot_repos.store.repositories import RepositoryRow
from ingot_repos.store.stars_and_watches import WATCHES
from ingot_repos.store.states import RepositoryState, Visibility


class TemplateFiles(msgspec.Struct, frozen=True, kw_only=True):
    """The files of a branch of a template on this shard; ``names`` are filled in where the template asks for it."""

    repository_id: int
    branch: str
    names: dict[str, str]


class NewRepository(msgspec.Struct, frozen=True, kw_only=True):
    """A request for a repository. Without ``files`` or ``copy`` it begins empty, else with a commit of them.

    ``labels_of`` and ``protections_of`` are the templates whose labels and branch protections it gets; 0: none.
    ``mode_of_creator`` is what its creator gets as a collaborator; empty: nothing.
    """

    name: str
    description: str = ""
    website: str = ""
    private: bool = False
    template: bool = False
    default_branch: str
    files: dict[str, str] = {}
    labels: list[FirstLabel] = []
    copy: TemplateFiles | None = None
    topics: list[str] = []
    labels_of: int = 0
    protections_of: int = 0
    mode_of_creator: str = ""


class NameTaken(Invalid):
    """The owner has a repository of that name."""


class RepositoryCreator:
    """Creates repositories: a row that reserves id and name, then files on disk, then the announcement."""

    def __init__(
        self, database: Database, storage: Storage, presenter: Presenter, identity: HttpIdentity, shard: str
    ) -> None:
        self._db, self._storage, self._presenter, self._shard = database, storage, presenter, shard
        self._identity = identity

    async def create(
        self, owner: AccountRow, creator: AccountRow, new: NewRepository, *, most: int
    ) -> RepositoryRow:
        """Create a repository of ``owner``, who may have ``most``; its row. Raises Invalid (NameTaken), Denied, NotFound.

        A process that dies on the way leaves a reserved name, which is released after some minutes.
        """
        repository_id = await self._reserve(owner.id, new, most)
        ready = False
        try:
            ownership = Ownership(owner_id=owner.id, name=new.name, private=new.private)
            await self._identity.own(repository_id, ownership)
            tips = await self._create_files(repository_id, creator, new)
            licenses = "[]"
            if tips:
                licenses = await self._storage.call(repository_id, licenses_column, new.default_branch)
            async with self._db.transaction() as tx:
                row = await self._announce(tx, repository_id, creator, new, tips, licenses)
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
                description=new.description,
                website=new.website,
                private=new.private,
                template=new.template,
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
        """Create the git repository; its refs."""
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
                )
            except RefNotFound:  # the template is empty
                return {}
            except OutputTooLarge as error:
                raise Invalid.field("git_content", "length", str(error)) from None
            return {BRANCHES + new.default_branch: commit}
        if not new.files:
            return {}
        oid = await self._storage.call(
            repository_id,
            initial_commit,
            new.default_branch,
            {path: text.encode() for path, text in new.files.items()},
            person(creator),
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
        """Make it ready."""
        await repositories.change(
            tx, repository_id, state=RepositoryState.READY, empty=not tips, licenses=licenses
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


async def abandon(tx: Tx, repository_id: int) -> None:
    """Delete a repository that was never ready."""
    if await repositories.remove(tx, repository_id) is not None:
        tx.emit(RepositoryAbandoned(repository_id=repository_id), key=repository_id)


async def edit(
    tx: Tx,
    presenter: Presenter,
    row: RepositoryRow,
    sender: User,
    changes: dict[str, Any],
    inert_settings: dict[str, Any] | None = None,
) -> RepositoryRow:
    """Change columns of a repository and announce it; the new row. Raises Invalid, NotFound.

    ``inert_settings`` are added to those that are kept already.
    """
    _settle_default_merge_style(row, changes)
    if "archived" in changes and changes["archived"] != row.archived:
        changes["archived_at"] = now() if changes["archived"] else None
    if inert_settings:
        before = msgspec.json.decode(row.inert_settings)
        changes["inert_settings"] = msgspec.json.encode(before | inert_settings).decode()
    if row.private and changes.get("private") is False and row.fork_of is not None:
        parent = await repositories.get_unfiltered(tx, row.fork_of)
        if parent is not None and is_hidden(parent):
            raise Invalid.field("private", "fork", "a fork stays private as long as its parent is not public")
    name = names.check_repository(changes.pop("name", row.name))
    if not await repositories.change(tx, row.id, **changes):
        raise NotFound
    if name != row.name and not await repositories.move(tx, row, owner_id=row.owner_id, name=name):
        raise Invalid.field("name", "taken", f"there is a repository {name!r} already")
    return await announce_edit(tx, presenter, row, sender)


def _settle_default_merge_style(row: RepositoryRow, changes: dict[str, Any]) -> None:
    """The first style that stays allowed becomes the default when that one no longer is, as clients switch styles one by one.

    Raises Invalid when ``changes`` name a default that is not allowed, or leave no style.
    """
    style: MergeStyle = changes.get("default_merge_style", row.default_merge_style)
    allowed = [name for name, column in MERGE_STYLES.items() if changes.get(column, getattr(row, column))]
    if style in allowed:
        return
    if "default_merge_style" in changes or not allowed:
        raise Invalid.field("default_merge_style", "disallowed", f"the style {style!r} is not allowed")
    changes["default_merge_style"] = allowed[0]


def is_hidden(row: RepositoryRow) -> bool:
    """Whether not everybody may see it: it is private, or its owner is not public."""
    return row.private or row.owner_visibility != Visibility.PUBLIC


async def announce_edit(tx: Tx, presenter: Presenter, before: RepositoryRow, sender: User) -> RepositoryRow:
    """Announce that a repository is no longer as ``before``; its row as it is now. Raises Conflict."""
    edited = await current_row(tx, before.id)
    former = f"{before.owner_login}/{before.name}"
    tx.emit(
        RepositoryEdited(
            repository=presenter.repository(edited),
            sender=sender,
            previous_full_name=former if former != f"{edited.owner_login}/{edited.name}" else "",
        ),
        key=before.id,
    )
    return edited


async def delete(tx: Tx, jobs: Jobs, presenter: Presenter, row: RepositoryRow, sender: User) -> None:
    """Delete a repository at once; its files are removed later. Raises NotFound when it was deleted meanwhile.

    Since ``row`` was read it may have moved to another shard, or have become ready.
    """
    removed = await repositories.remove(tx, row.id)
    if removed is None:
        raise NotFound
    was_ready = removed.state == RepositoryState.READY
    if row.fork_of is not None:
        await repositories.count_forks(tx, row.fork_of)
    await deletions.write_tombstone(tx, jobs, row.id, removed.shard, was_ready=was_ready)
    if was_ready:
        tx.emit(
            RepositoryDeleted(
                repository=presenter.repository(row), sender=sender, owner_kind=owner_kind(row)
            ),
            key=row.id,
        )
    else:
        tx.emit(RepositoryAbandoned(repository_id=row.id), key=row.id)


async def record_owner(
    database: Database, identity: HttpIdentity, jobs: Jobs, presenter: Presenter, row: RepositoryRow
) -> None:
    """Record the owner of a new repository at identity. If that fails, delete it. Raises NotFound, Unavailable."""
    ownership = Ownership(owner_id=row.owner_id, name=row.name, private=row.private)
    try:
        await identity.own(row.id, ownership)
    except ApiError:
        async with database.transaction() as tx:
            await delete(tx, jobs, presenter, await current_row(tx, row.id), GHOST)
        raise


async def current_row(tx: Tx, repository_id: int) -> RepositoryRow:
    """The row with its owner. Raises Conflict when it was deleted meanwhile."""
    row = await repositories.get_unfiltered(tx, repository_id)
    if row is None:
        raise Conflict("the repository was deleted meanwhile")
    return row


def person(row: AccountRow) -> Person:
    """An account as author and committer."""
    return Person(row.full_name or row.login, row.email or f"{row.login}@localhost", now())
