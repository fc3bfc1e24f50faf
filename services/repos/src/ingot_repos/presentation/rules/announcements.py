"""Events for changes of a repository, and the rows that these events need."""

from ingot_chassis.clock import now
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Conflict
from ingot_contracts.identity.accounts import User
from ingot_contracts.repos.events import RepositoryAbandoned, RepositoryEdited
from ingot_contracts.repos.repositories import Repository
from ingot_git.history.commits import Person
from ingot_repos.catalog.store import repositories
from ingot_repos.catalog.store.accounts import AccountRow
from ingot_repos.catalog.store.repositories import RepositoryRow
from ingot_repos.catalog.store.states import Visibility
from ingot_repos.presentation.rules.presenter import Presenter


async def abandon(tx: Tx, repository_id: int) -> None:
    """Delete a repository that has never been ready, and announce it."""
    if await repositories.remove(tx, repository_id) is not None:
        tx.emit(RepositoryAbandoned(repository_id=repository_id), key=repository_id)


def is_hidden(row: RepositoryRow) -> bool:
    """Return True if anonymous callers cannot see the repository, because it or its owner is not public."""
    return row.private or row.owner_visibility != Visibility.PUBLIC


async def announce_edit(
    tx: Tx,
    presenter: Presenter,
    before: RepositoryRow,
    sender: User,
    *,
    parent: Repository | None = None,
) -> RepositoryRow:
    """Announce a change of a repository, and return its current row. Raises Conflict.

    ``before`` is the row before the change. ``parent`` is the new parent, if the parent changed.
    """
    edited = await current_row(tx, before.id)
    former = f"{before.owner_login}/{before.name}"
    tx.emit(
        RepositoryEdited(
            repository=presenter.repository(edited, parent=parent),
            sender=sender,
            previous_full_name=former if former != f"{edited.owner_login}/{edited.name}" else "",
        ),
        key=before.id,
    )
    return edited


async def current_row(tx: Tx, repository_id: int) -> RepositoryRow:
    """Return the current row with its owner. Raises Conflict if the repository was deleted."""
    row = await repositories.get_unfiltered(tx, repository_id)
    if row is None:
        raise Conflict("the repository was deleted during the request")
    return row


def person(row: AccountRow) -> Person:
    """Return an account as the author or committer of a commit."""
    return Person(row.full_name or row.login, row.email or f"{row.login}@localhost", now())
