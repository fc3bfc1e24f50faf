"""Transfers of a repository to another owner, at once or after acceptance.

Files stay in place, because their path is made from the repository id.
"""

from collections.abc import Sequence

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Conflict, Invalid, NotFound
from ingot_contracts.identity.accounts import User
from ingot_repos.access.rules.grants import announce_access
from ingot_repos.access.store import collaborations
from ingot_repos.catalog.rules.limits import require_room
from ingot_repos.catalog.store import repositories, transfers
from ingot_repos.catalog.store.accounts import AccountRow
from ingot_repos.catalog.store.repositories import RepositoryRow
from ingot_repos.catalog.store.transfers import TransferRow
from ingot_repos.presentation.rules.announcements import announce_edit
from ingot_repos.presentation.rules.presenter import Presenter


async def transfer(
    tx: Tx,
    presenter: Presenter,
    row: RepositoryRow,
    new_owner: AccountRow,
    sender: User,
    team_ids: Sequence[int],
    *,
    most: int,
) -> None:
    """Make ``new_owner`` the owner of the repository. Its former path redirects. Raises Invalid, Denied.

    Collaborators keep their access. Teams of the former owner lose the repository. ``team_ids`` are teams of
    the new owner that get the repository.
    """
    _require_other(row, new_owner)
    await require_room(tx, new_owner.id, most)
    if not await repositories.move(tx, row, owner_id=new_owner.id, name=row.name):
        raise _taken(row, new_owner)
    await collaborations.remove(tx, row.id, new_owner.id)
    await collaborations.revoke_all(tx, row.id)
    for team_id in team_ids:
        await collaborations.grant(tx, row.id, team_id)
    await announce_edit(tx, presenter, row, sender)
    await announce_access(tx, row.id)


async def offer(
    tx: Tx, row: RepositoryRow, new_owner: AccountRow, sender_id: int, team_ids: Sequence[int]
) -> None:
    """Offer the repository to ``new_owner``. Raises Invalid, and Conflict if another offer is pending."""
    _require_other(row, new_owner)
    if await repositories.is_taken(tx, new_owner.id, row.name):
        raise _taken(row, new_owner)
    if not await transfers.add(tx, row.id, sender_id=sender_id, recipient_id=new_owner.id, team_ids=team_ids):
        raise Conflict("a transfer waits for an answer already; POST …/transfer/reject takes it back")


async def end(tx: Tx, waiting: TransferRow) -> None:
    """End a pending transfer. Raises NotFound if it has already ended."""
    if not await transfers.remove(tx, waiting.repository_id, waiting.recipient_id):
        raise NotFound("no transfer waits for an answer")


def _require_other(row: RepositoryRow, new_owner: AccountRow) -> None:
    if new_owner.id == row.owner_id:
        raise Invalid.field("new_owner", "owner", "owns the repository")


def _taken(row: RepositoryRow, new_owner: AccountRow) -> Invalid:
    return Invalid.field("new_owner", "taken", f"{new_owner.login} has a repository {row.name!r} already")
