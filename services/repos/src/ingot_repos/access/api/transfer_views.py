"""Pending transfers in responses. Repository administrators and the recipient see them."""

from ingot_contracts.identity.accounts import GHOST
from ingot_contracts.repos.access import reaches
from ingot_contracts.repos.transfers import RepositoryTransfer
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.access.rules import levels as access
from ingot_repos.access.rules.resolved import ResolvedRepository
from ingot_repos.catalog.store import accounts, transfers
from ingot_repos.catalog.store.transfers import TransferRow
from ingot_repos.clients.identity import HttpIdentity


async def transfer_view(
    request: RepositoryRequest, repository: ResolvedRepository, recipient_id: int
) -> RepositoryTransfer | None:
    """Return the pending transfer to ``recipient_id``.

    None if the caller may not see it or if it has ended.
    """
    principal = request.principal
    if not reaches(repository.level, "admin") and not access.acts_for(principal, recipient_id):
        return None
    async with request.db.read() as db:
        waiting = await transfers.get(db, repository.id)
    return await present_transfer(request, waiting) if waiting is not None else None


async def present_transfer(request: RepositoryRequest, waiting: TransferRow) -> RepositoryTransfer:
    """Return a transfer in the form of the API. The caller must be allowed to see it."""
    async with request.db.read() as db:
        rows = await accounts.list_by_ids(db, [waiting.sender_id, waiting.recipient_id])
    people = {row.id: request.presenter.user(row) for row in rows}
    ids = transfers.teams_of(waiting)
    teams = await request.part(HttpIdentity).teams(waiting.recipient_id, ids=ids) if ids else []
    return RepositoryTransfer(
        doer=people.get(waiting.sender_id, GHOST),
        recipient=people.get(waiting.recipient_id, GHOST),
        teams=[team for team in teams if access.knows_team(team, request.principal)],
    )
