"""What a repository shows of a transfer that waits: to its administrators, and to whoever may answer."""

from ingot_contracts.identity import GHOST
from ingot_contracts.repos import reaches
from ingot_contracts.transfers import RepositoryTransfer
from ingot_repos.api.request import RepositoryRequest, ResolvedRepository
from ingot_repos.core import access
from ingot_repos.store import accounts, transfers
from ingot_repos.store.transfers import TransferRow


async def transfer_view(
    request: RepositoryRequest, repository: ResolvedRepository, recipient_id: int
) -> RepositoryTransfer | None:
    """The transfer that waits for the answer of ``recipient_id``; None if the caller may not know of it, or it has ended."""
    principal = request.principal
    if not reaches(repository.level, "admin") and not access.acts_for(principal, recipient_id):
        return None
    async with request.db.read() as db:
        waiting = await transfers.get(db, repository.id)
    return await present_transfer(request, waiting) if waiting is not None else None


async def present_transfer(request: RepositoryRequest, waiting: TransferRow) -> RepositoryTransfer:
    """A transfer that the caller may know of."""
    async with request.db.read() as db:
        rows = await accounts.list_by_ids(db, [waiting.sender_id, waiting.recipient_id])
    people = {row.id: request.presenter.user(row) for row in rows}
    ids = transfers.teams_of(waiting)
    teams = await request.components.identity.teams(waiting.recipient_id, ids=ids) if ids else []
    return RepositoryTransfer(
        doer=people.get(waiting.sender_id, GHOST),
        recipient=people.get(waiting.recipient_id, GHOST),
        teams=[team for team in teams if access.knows_team(team, request.principal)],
    )
