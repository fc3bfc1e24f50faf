"""Releases: what is published has its tag, a draft needs none.

Git and the database commit by themselves. So a release is written down as a draft first, then its tag is made,
and only then it is published: whoever dies in between leaves a draft, which can be published or deleted.
"""

import asyncio
from typing import Any, Literal
from urllib.parse import quote

import msgspec

from ingot_chassis.database import Database, Tx
from ingot_chassis.errors import Conflict, Invalid, NotFound
from ingot_chassis.tables import now
from ingot_contracts.identity import GHOST, User
from ingot_contracts.repos import Release, ReleaseChanged
from ingot_repos.core import names
from ingot_repos.core.pushes import Pushes
from ingot_repos.core.repositories import existing
from ingot_repos.core.views import Viewing, user
from ingot_repos.git.commits import commit_info
from ingot_repos.git.errors import RefMoved, RefNotFound, RepositoryNotFound
from ingot_repos.git.objects import is_reachable
from ingot_repos.git.refs import TAGS, ZERO_OID, RefChange, move_ref, resolve, tag_commit
from ingot_repos.git.storage import Storage
from ingot_repos.store import releases


class NewRelease(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked for. Without ``target_commitish`` a missing tag is made at the default branch."""

    tag_name: str
    target_commitish: str = ""
    name: str = ""
    body: str = ""
    draft: bool = False
    prerelease: bool = False


class Releasing:
    """Makes and changes releases. ``repository`` is a row, ``who`` the account that acts."""

    def __init__(self, database: Database, storage: Storage, pushes: Pushes, viewing: Viewing) -> None:
        self._db, self._storage, self._pushes, self._viewing = database, storage, pushes, viewing

    async def create(self, repository: Any, who: Any, wanted: NewRelease) -> Any:
        """Create a release; its row. Raises Invalid, Conflict."""
        names.check_tag(wanted.tag_name)
        if not wanted.draft:
            await self._commit_for(repository, wanted.tag_name, wanted.target_commitish)
        values = msgspec.structs.asdict(wanted) | {"draft": True, "author_id": who.id, "created_at": now()}
        async with self._db.transaction() as tx:
            release_id = await releases.add(tx, repository_id=repository.id, **values)
            if release_id is None:
                raise Conflict("there is a release of that tag already")
            row = await releases.get(tx, repository.id, release_id)
        if wanted.draft:
            return row
        try:
            return await self._publish(repository, who, row, {})
        except (Invalid, Conflict):
            async with self._db.transaction() as tx:
                await releases.remove(tx, release_id)
            raise

    async def edit(self, repository: Any, who: Any, row: Any, changes: dict[str, Any]) -> Any:
        """Change columns of a release; the new row. Raises Invalid, Conflict, NotFound."""
        changed_tag = names.check_tag(changes.get("tag_name", row.tag_name)) != row.tag_name
        draft = changes.get("draft", row.draft)
        if changed_tag:
            await self._require_free(row, changes["tag_name"])
        if not draft and (row.draft or changed_tag):
            return await self._publish(repository, who, row, changes)
        async with self._db.transaction() as tx:
            if not row.draft and draft:
                changes |= {"published_at": None}
                await self.announce(tx, "deleted", row, user(who))
            edited = await self._changed(tx, row, changes)
            if not draft:
                await self.announce(tx, "updated", edited, user(who))
        return edited

    async def delete(self, who: Any, row: Any) -> None:
        """Delete a release and keep its tag. Raises NotFound when somebody was faster."""
        async with self._db.transaction() as tx:
            if not await releases.remove(tx, row.id):
                raise NotFound
            if not row.draft:
                await self.announce(tx, "deleted", row, user(who))

    async def announce(
        self, tx: Tx, action: Literal["published", "updated", "deleted"], row: Any, sender: User
    ) -> None:
        """Tell of a release that is no draft."""
        repository = await existing(tx, row.repository_id)
        tx.emit(
            ReleaseChanged(
                action=action,
                repository=self._viewing.repository(repository),
                sender=sender,
                release=view(self._viewing, f"{repository.owner_login}/{repository.name}", row),
                owner_kind=repository.owner_kind,
            ),
            key=repository.id,
        )

    async def _publish(self, repository: Any, who: Any, row: Any, changes: dict[str, Any]) -> Any:
        """Let the release have its tag and be no draft any more."""
        tag = changes.get("tag_name", row.tag_name)
        target = changes.get("target_commitish", row.target_commitish)
        commit = await self._commit_for(repository, tag, target)
        commit = await self._tagged(repository, who, tag, commit)
        info = await self._storage.call(repository.id, commit_info, commit)
        published_at = row.published_at or now()
        changes = changes | {
            "draft": False,
            "created_at": info.author.when,
            "published_at": published_at,
        }
        async with self._db.transaction() as tx:
            published = await self._changed(tx, row, changes)
            await self.announce(tx, "published" if row.draft else "updated", published, user(who))
        return published

    async def _require_free(self, row: Any, tag: str) -> None:
        """Raises Conflict when another release has that tag: before the tag is made."""
        async with self._db.read() as db:
            other = await releases.get_by_tag(db, row.repository_id, tag)
        if other is not None and other.id != row.id:
            raise Conflict("there is a release of that tag already")

    async def _changed(self, tx: Tx, row: Any, changes: dict[str, Any]) -> Any:
        if changes and not await releases.change(tx, row.id, **changes):
            raise NotFound
        changed = await releases.get(tx, row.repository_id, row.id)
        if changed is None:
            raise NotFound
        return changed

    async def _commit_for(self, repository: Any, tag: str, target: str) -> str:
        """The commit of the tag, or where it would be made. Raises Invalid."""
        try:
            found = await self._storage.call(repository.id, tag_commit, tag)
            if found is not None:
                return found
            resolved = await self._storage.call(repository.id, resolve, target or repository.default_branch)
        except (RefNotFound, RepositoryNotFound):
            resolved = None
        if resolved is None or not await self._storage.call(repository.id, is_reachable, resolved.commit):
            raise Invalid.field(
                "target_commitish", "missing", "there is neither the tag nor this branch or commit"
            )
        if repository.mirror:
            raise Invalid.field("tag_name", "missing", "there is no such tag, and a mirror makes none")
        return resolved.commit

    async def _tagged(self, repository: Any, who: Any, tag: str, commit: str) -> str:
        """Make the tag at ``commit`` if there is none; the commit that it leads to. Raises Conflict."""
        found = await self._storage.call(repository.id, tag_commit, tag)
        if found is not None:
            return found
        name = TAGS + tag
        async with self._pushes.journaled(repository.id, who.id, [name]) as push_id:
            try:
                await self._storage.call(repository.id, move_ref, RefChange(name, ZERO_OID, commit))
            except RefMoved as error:
                found = await self._storage.call(repository.id, tag_commit, tag)
                if found is None:
                    raise Conflict("another tag is in the way of that name") from error
                return found
            finally:
                await asyncio.shield(self._pushes.settle(push_id))
        return commit


def view(viewing: Viewing, full_name: str, row: Any) -> Release:
    """A release of the repository ``full_name`` as the API shows it."""
    author = GHOST
    if row.login is not None:
        author = User(
            id=row.author_id,
            login=row.login,
            full_name=row.full_name,
            email=viewing.email(row.email),
            avatar_url=row.avatar_url,
        )
    page, api = f"{viewing.root}{full_name}", f"{viewing.root}api/v1/repos/{full_name}"
    tag = quote(row.tag_name)
    return Release(
        id=row.id,
        tag_name=row.tag_name,
        target_commitish=row.target_commitish,
        name=row.name,
        body=row.body,
        url=f"{api}/releases/{row.id}",
        html_url=f"{page}/releases/tag/{tag}",
        tarball_url=f"{api}/archive/{tag}.tar.gz",
        zipball_url=f"{api}/archive/{tag}.zip",
        draft=row.draft,
        prerelease=row.prerelease,
        created_at=row.created_at.replace(microsecond=0),
        published_at=row.published_at.replace(microsecond=0) if row.published_at else None,
        author=author,
    )
