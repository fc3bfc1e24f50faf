"""A new parent for a repository, among the repositories of its network.

Forks share no objects, and comparisons read both repositories by id. So pull requests between a fork and its
former parent stay, and can still be merged.
"""

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Conflict, Invalid, NotFound
from ingot_contracts.identity.accounts import User
from ingot_repos.catalog.store import repositories
from ingot_repos.catalog.store.repositories import RepositoryRow
from ingot_repos.catalog.store.states import RepositoryState
from ingot_repos.forks import store
from ingot_repos.forks.store import ReparentRow
from ingot_repos.presentation.rules.announcements import announce_edit, current_row, is_hidden
from ingot_repos.presentation.rules.presenter import Presenter

FIELD = "new_owner"


async def set_parent(
    tx: Tx, presenter: Presenter, repository_id: int, parent_id: int, sender: User
) -> RepositoryRow:
    """Make ``parent_id`` the parent of the repository, count forks and announce it. Return the new row.

    If the new parent is a fork of the repository, the two change places: the new parent becomes a fork of the
    former parent, or of none. Raises Invalid, and Conflict if a repository was deleted.
    """
    await tx.advisory_lock("parents of forks")  # requests for several repositories could make a circle
    for id_ in sorted((repository_id, parent_id)):
        await repositories.lock_for_update(tx, id_)
    row, parent = await current_row(tx, repository_id), await current_row(tx, parent_id)
    await require_possible(tx, row, parent)
    if parent.fork_of == row.id:
        await repositories.change(tx, parent.id, fork_of=row.fork_of)
    await repositories.change(tx, row.id, fork_of=parent.id)
    await store.remove_reparent(tx, row.id)
    for id_ in sorted({row.id, parent.id, row.fork_of or row.id}):
        await repositories.count_forks(tx, id_)
    changed = await current_row(tx, row.id)
    await _announce(tx, presenter, parent, sender)
    await _announce(tx, presenter, row, sender)
    return changed


async def request_parent(tx: Tx, row: RepositoryRow, parent: RepositoryRow, sender_id: int) -> None:
    """Request ``parent`` as the new parent. Raises Invalid, and Conflict if another request is pending."""
    await require_possible(tx, row, parent)
    if not await store.add_reparent(tx, row.id, parent_id=parent.id, sender_id=sender_id):
        raise Conflict("a request for a new parent waits already; POST …/reparent/reject takes it back")


async def end(tx: Tx, waiting: ReparentRow) -> None:
    """End a request for a new parent. Raises NotFound if it has already ended."""
    if not await store.remove_reparent(tx, waiting.repository_id, waiting.parent_id):
        raise NotFound("no request for a new parent waits for an answer")


async def require_possible(tx: Tx, row: RepositoryRow, parent: RepositoryRow) -> None:
    """Raise Invalid unless ``parent`` can be the parent of the repository."""
    if row.mirror:
        raise Invalid.field(FIELD, "mirror", "a mirror cannot be a fork")
    if {row.state, parent.state} != {RepositoryState.READY}:
        raise Invalid.field(FIELD, "state", "one of the repositories is not ready")
    if row.fork_of == parent.id:
        raise Invalid.field(FIELD, "parent", f"{_name(parent)} is the parent already")
    if is_hidden(parent) and not row.private:
        raise Invalid.field(FIELD, "private", "the new parent is not public, so the fork has to be private")
    await _require_other_owners(tx, row, parent)
    if parent.fork_of == row.id:
        return
    if parent.id not in await store.list_network(tx, row.id):
        raise Invalid.field(FIELD, "unrelated", f"{_name(parent)} is not related to {_name(row)}")
    if await store.is_below(tx, parent.id, row.id):
        raise Invalid.field(FIELD, "cycle", f"{_name(parent)} is a fork of a fork of {_name(row)}")


async def _require_other_owners(tx: Tx, row: RepositoryRow, parent: RepositoryRow) -> None:
    """Raise Invalid if an account would own a repository and its fork, or two forks of one repository."""
    pairs = [(row, parent)]
    if parent.fork_of == row.id and row.fork_of is not None:
        grandparent = await repositories.get_unfiltered(tx, row.fork_of)
        pairs += [(parent, grandparent)] if grandparent is not None else []
    for fork, of in pairs:
        if fork.owner_id == of.owner_id:
            raise Invalid.field(FIELD, "owner", f"{fork.owner_login} would own {_name(of)} and a fork of it")
        if await repositories.fork_of(tx, fork.owner_id, of.id) is not None:
            raise Invalid.field(FIELD, "taken", f"{fork.owner_login} has a fork of {_name(of)} already")


async def _announce(tx: Tx, presenter: Presenter, before: RepositoryRow, sender: User) -> None:
    row = await current_row(tx, before.id)
    parent = await repositories.get_unfiltered(tx, row.fork_of) if row.fork_of is not None else None
    shown = presenter.repository(parent) if parent is not None else None
    await announce_edit(tx, presenter, before, sender, parent=shown)


def _name(row: RepositoryRow) -> str:
    return f"{row.owner_login}/{row.name}"
