"""Creation, changes and deletion of releases. A published release has a tag; a draft needs none.

Git and the database commit separately. A release is therefore inserted as a draft, then its tag is created,
and then it is published. A process that dies in between leaves a draft, which can be published or deleted.
"""

import asyncio
from functools import partial
from typing import Any, Literal

import msgspec

from ingot_chassis.clock import now
from ingot_chassis.db.database import Database
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Conflict, Invalid, NotFound
from ingot_chassis.jobs.jobs import Jobs
from ingot_contracts.identity.accounts import User
from ingot_contracts.limits import EVENT_ASSETS, EVENT_BODY_BYTES, Omitted, clip
from ingot_contracts.repos.events import ReleaseChanged
from ingot_git.history.commits import commit_info
from ingot_git.history.named_refs import named_ref
from ingot_git.history.new_objects import Signer, create_tag
from ingot_git.process.errors import RefMoved, RefNotFound, RepositoryNotFound
from ingot_git.refs.refs import BRANCHES, TAGS, ZERO_OID, RefChange, move_ref, ref_target, tag_commit
from ingot_git.storage.storage import Storage
from ingot_repos.catalog.rules import names
from ingot_repos.catalog.store.accounts import AccountRow
from ingot_repos.catalog.store.repositories import RepositoryRow
from ingot_repos.presentation.rules.announcements import current_row, person
from ingot_repos.presentation.rules.presenter import Presenter, as_user, owner_kind
from ingot_repos.protection.rules.decisions import Actor, rules_of
from ingot_repos.pushes.rules.journal import Pushes
from ingot_repos.releases.rules.assets import free
from ingot_repos.releases.rules.views import release_view
from ingot_repos.releases.store import assets as release_assets
from ingot_repos.releases.store import releases
from ingot_repos.releases.store.releases import ReleaseRow


class NewRelease(msgspec.Struct, frozen=True, kw_only=True):
    """A request for a release. A missing tag is created at ``target_commitish`` or the default branch.

    With ``tag_message`` the tag is annotated.
    """

    tag_name: str
    tag_message: str = ""
    target_commitish: str = ""
    name: str = ""
    body: str = ""
    draft: bool = False
    prerelease: bool = False


class ReleaseEditor:
    """An editor of releases. It opens its own transactions.

    A release needs one transaction before git creates the tag and one after. ``mover`` is the caller as the
    actor of the tag protection.
    """

    def __init__(
        self,
        database: Database,
        storage: Storage,
        pushes: Pushes,
        jobs: Jobs,
        presenter: Presenter,
        signer: Signer | None,
        mover: Actor,
    ) -> None:
        self._mover, self._signer = mover, signer
        self._db, self._storage, self._pushes = database, storage, pushes
        self._jobs, self._presenter = jobs, presenter

    async def create(self, repository: RepositoryRow, actor: AccountRow, new: NewRelease) -> ReleaseRow:
        """Create a release and return its row. Raises Invalid, Conflict, Denied."""
        names.check_tag(new.tag_name)
        if not new.draft:
            await self._commit_for(repository, new.tag_name, new.target_commitish)
        values = msgspec.structs.asdict(new) | {"draft": True, "author_id": actor.id, "created_at": now()}
        message = values.pop("tag_message").strip()
        async with self._db.transaction() as tx:
            release_id = await releases.add(tx, repository_id=repository.id, **values)
            if release_id is None:
                raise Conflict("there is a release of that tag already")
            row = await self._release(tx, repository.id, release_id)
        if new.draft:
            return row
        try:
            return await self._publish(repository, actor, row, {}, message)
        except BaseException:  # also if another shard has the repository and continues the request
            await asyncio.shield(self._withdraw(repository.id, release_id))
            raise

    async def edit(
        self, repository: RepositoryRow, actor: AccountRow, row: ReleaseRow, changes: dict[str, Any]
    ) -> ReleaseRow:
        """Change columns of a release and return the new row. Raises Invalid, Conflict, NotFound, Denied."""
        changed_tag = changes.get("tag_name", row.tag_name) != row.tag_name
        draft = changes.get("draft", row.draft)
        if changed_tag:
            names.check_tag(changes["tag_name"])
            await self._require_free(row, changes["tag_name"])
        if not draft and (row.draft or changed_tag):
            return await self._publish(repository, actor, row, changes)
        async with self._db.transaction() as tx:
            is_withdrawn = not row.draft and draft
            if is_withdrawn:
                changes |= {"published_at": None}
            edited = await self._change(tx, row, changes)
            if is_withdrawn:
                await self.announce(tx, "deleted", row, as_user(actor))
            if not draft:
                await self.announce(tx, "updated", edited, as_user(actor))
        return edited

    async def delete(self, repository: RepositoryRow, actor: AccountRow, row: ReleaseRow) -> None:
        """Delete a release with its assets, but not its tag. Raises NotFound if it no longer exists."""
        async with self._db.transaction() as tx:
            if not await releases.lock_for_update(tx, row.id):
                raise NotFound
            assets = (await release_assets.list_of_releases(tx, [row.id])).get(row.id, [])
            if not row.draft:
                await releases.change(
                    tx, row.id, draft=True
                )  # a draft is not counted; the event still names the assets
                await self.announce(tx, "deleted", row, as_user(actor))
            await releases.remove(tx, row.id)
            await free(tx, self._jobs, repository.shard, assets)

    async def announce(
        self, tx: Tx, action: Literal["published", "updated", "deleted"], row: ReleaseRow, sender: User
    ) -> None:
        """Announce a change of a release that is or was published, and count the published releases."""
        await releases.count_published(tx, row.repository_id)
        repository = await current_row(tx, row.repository_id)
        assets = (await release_assets.list_of_releases(tx, [row.id])).get(row.id, [])
        full_name = f"{repository.owner_login}/{repository.name}"
        release = release_view(self._presenter, full_name, row, assets[:EVENT_ASSETS])
        body = clip(release.body, EVENT_BODY_BYTES)
        tx.emit(
            ReleaseChanged(
                action=action,
                repository=self._presenter.repository(repository),
                sender=sender,
                release=msgspec.structs.replace(release, body=body),
                owner_kind=owner_kind(repository),
                omitted=Omitted(characters=len(release.body) - len(body), assets=len(assets[EVENT_ASSETS:])),
            ),
            key=repository.id,
        )

    async def _publish(
        self,
        repository: RepositoryRow,
        actor: AccountRow,
        row: ReleaseRow,
        changes: dict[str, Any],
        message: str = "",
    ) -> ReleaseRow:
        """Create the tag of a release and publish the release. With ``message`` the tag is annotated."""
        tag = changes.get("tag_name", row.tag_name)
        target = changes.get("target_commitish", row.target_commitish)
        commit = await self._commit_for(repository, tag, target)
        commit = await self._create_tag(repository, actor, tag, commit, message)
        info = await self._storage.call(repository.id, commit_info, commit)
        published_at = row.published_at or now()
        changes = changes | {
            "draft": False,
            "created_at": info.author.when,
            "published_at": published_at,
        }
        async with self._db.transaction() as tx:
            published = await self._change(tx, row, changes)
            await self.announce(tx, "published" if row.draft else "updated", published, as_user(actor))
        return published

    async def _withdraw(self, repository_id: int, release_id: int) -> None:
        """Delete a release, unless it was published and only the response was lost."""
        async with self._db.transaction() as tx:
            row = await releases.get(tx, repository_id, release_id)
            if row is not None and row.draft:
                await releases.remove(tx, release_id)

    async def _require_free(self, row: ReleaseRow, tag: str) -> None:
        """Raise Conflict if another release has the tag. Call this before the tag is created."""
        async with self._db.read() as db:
            other = await releases.get_by_tag(db, row.repository_id, tag)
        if other is not None and other.id != row.id:
            raise Conflict("there is a release of that tag already")

    async def _change(self, tx: Tx, row: ReleaseRow, changes: dict[str, Any]) -> ReleaseRow:
        if changes and not await releases.change(tx, row.id, **changes):
            raise NotFound
        return await self._release(tx, row.repository_id, row.id)

    @staticmethod
    async def _release(tx: Tx, repository_id: int, release_id: int) -> ReleaseRow:
        row = await releases.get(tx, repository_id, release_id)
        if row is None:
            raise NotFound
        return row

    async def _commit_for(self, repository: RepositoryRow, tag: str, target: str) -> str:
        """Return the commit of the tag; for a new tag the commit of ``target``. Raises Invalid, Denied."""
        try:
            tagged = await self._storage.call(repository.id, tag_commit, tag)
            if tagged is not None:
                return tagged
            if await self._storage.call(repository.id, ref_target, TAGS + tag) is not None:
                raise Invalid.field("tag_name", "kind", "is a tag of an object that is not a commit")
            resolved = await self._storage.call(
                repository.id, named_ref, target or BRANCHES + repository.default_branch
            )
        except (RefNotFound, RepositoryNotFound):
            raise Invalid.field(
                "target_commitish", "missing", "there is neither the tag nor this branch or commit"
            ) from None
        if repository.mirror:
            raise Invalid.field(
                "tag_name", "missing", "there is no such tag, and tags of a mirror come from its remote"
            )
        async with self._db.read() as db:
            rules = await rules_of(db, repository.id)
        rules.require(self._mover, [RefChange(TAGS + tag, ZERO_OID, resolved.commit)])
        return resolved.commit

    async def _create_tag(
        self, repository: RepositoryRow, actor: AccountRow, tag: str, commit: str, message: str
    ) -> str:
        """Create the tag at ``commit`` unless it exists. Return its commit. Raises Conflict."""
        tagged = await self._storage.call(repository.id, tag_commit, tag)
        if tagged is not None:
            return tagged
        name, oid = TAGS + tag, commit
        if message:
            oid = await self._storage.call(
                repository.id, create_tag, tag, commit, message, person(actor), self._signer
            )
        move = partial(self._storage.call, repository.id, move_ref, RefChange(name, ZERO_OID, oid))
        try:
            await self._pushes.moved(repository.id, actor.id, [name], move)
        except RefMoved as error:
            tagged = await self._storage.call(repository.id, tag_commit, tag)
            if tagged is None:
                raise Conflict("the name conflicts with an existing tag") from error
            return tagged
        return commit
