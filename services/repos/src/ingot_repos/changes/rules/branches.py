"""Changes of branches for API requests: create, move, rename and delete, with the checks of a push."""

from ingot_chassis.db.database import Database
from ingot_chassis.errors import Conflict, Denied, Invalid, NotFound
from ingot_git.history.named_refs import named_ref
from ingot_git.history.reachability import contains
from ingot_git.process.errors import ObjectNotFound, RefMoved, RefNotFound, RepositoryNotFound
from ingot_git.refs.refs import BRANCHES, ZERO_OID, RefChange, ref_target, set_default_branch
from ingot_git.storage.storage import Storage
from ingot_repos.catalog.rules import names
from ingot_repos.catalog.store import repositories
from ingot_repos.presentation.rules.announcements import announce_edit
from ingot_repos.presentation.rules.presenter import Presenter, as_user
from ingot_repos.pushes.rules.ref_updates import RefUpdates


class BranchEditor:
    """An editor of branches of one repository, for one caller."""

    def __init__(
        self, database: Database, storage: Storage, presenter: Presenter, updates: RefUpdates
    ) -> None:
        self._db, self._storage, self._presenter, self._updates = database, storage, presenter, updates

    async def create(self, name: str, source: str) -> None:
        """Create a branch at a branch, tag or commit. Raises Invalid, NotFound, Conflict."""
        names.check_branch(name, field="new_branch_name")
        commit = await self._commit(source)
        if await self._tip(name) is not None:
            raise Conflict("there is a branch of that name already")
        await self._apply(RefChange(BRANCHES + name, ZERO_OID, commit))

    async def move(self, name: str, target: str, expected: str, *, force: bool) -> None:
        """Move a branch to a commit. Without ``force``, the commit must contain the current tip.

        If ``expected`` is not empty, the branch must be at that commit. Raises NotFound, Conflict, Invalid.
        """
        tip = await self._existing_tip(name)
        if expected and expected.lower() != tip:
            raise Invalid.field("old_commit_id", "moved", "is not the current commit of the branch")
        commit = await self._commit(target)
        if not force and not await self._storage.call(self._id, contains, commit, tip):
            raise Invalid.field(
                "new_commit_id", "force", "does not continue the branch; set force to move it"
            )
        if commit != tip:
            await self._apply(RefChange(BRANCHES + name, tip, commit))

    async def delete(self, name: str) -> str:
        """Delete a branch. Return its last commit.

        Raises Denied for the default branch. Raises NotFound, Conflict.
        """
        tip = await self._existing_tip(name)
        if name == self._updates.row.default_branch:
            raise Denied("the default branch is not deleted")
        await self._apply(RefChange(BRANCHES + name, tip, ZERO_OID))
        return tip

    async def rename(self, name: str, new_name: str, *, may_move_default: bool) -> None:
        """Rename a branch. A default branch stays the default.

        The refs move first, then the row changes. If the process dies in between, the default branch does not
        exist, and a user can set it again. Raises NotFound, Invalid, Denied, Conflict.
        """
        row = self._updates.row
        names.check_branch(new_name, field="name")
        tip = await self._existing_tip(name)
        if new_name == name or await self._tip(new_name) is not None:
            raise Invalid.field("name", "taken", f"there is a branch {new_name!r} already")
        is_default = name == row.default_branch
        if is_default and not may_move_default:
            raise Denied("only administrators of the repository may rename its default branch")
        changes = (RefChange(BRANCHES + name, tip, ZERO_OID), RefChange(BRANCHES + new_name, ZERO_OID, tip))
        if not is_default:
            await self._apply(*changes)
            return
        # a move to another shard would take the refs and leave HEAD behind
        async with self._updates.uploading():
            await self._apply(*changes)
            async with self._db.transaction() as tx:
                if not await repositories.change(tx, row.id, default_branch=new_name):
                    raise NotFound
                await announce_edit(tx, self._presenter, row, as_user(self._updates.actor))
            await self._storage.call(row.id, set_default_branch, new_name)

    @property
    def _id(self) -> int:
        return self._updates.row.id

    async def _tip(self, name: str) -> str | None:
        return await self._storage.call(self._id, ref_target, BRANCHES + name)

    async def _existing_tip(self, name: str) -> str:
        tip = await self._tip(name)
        if tip is None:
            raise NotFound("there is no such branch")
        return tip

    async def _commit(self, name: str) -> str:
        try:
            return (await self._storage.call(self._id, named_ref, name)).commit
        except (RefNotFound, ObjectNotFound, RepositoryNotFound):
            raise NotFound(f"there is no branch, tag or commit {name!r}") from None

    async def _apply(self, *changes: RefChange) -> None:
        try:
            await self._updates.apply(changes)
        except RefMoved:
            raise Conflict("the branch has moved, or the name conflicts with another branch") from None
