"""Transfers of repositories to other owners."""

from contextlib import suppress
from typing import Annotated

import msgspec
from litestar import get, post

from ingot_chassis.errors import ApiError, Denied, Invalid, NotFound
from ingot_chassis.http.policy import MAX_ID
from ingot_contracts.identity.accounts import Ownership
from ingot_contracts.limits import Name
from ingot_contracts.repos.repositories import Repository
from ingot_contracts.repos.transfers import RepositoryTransfer
from ingot_repos.access.api.answers import present
from ingot_repos.access.api.policies import (
    acts_for,
    in_repository,
    principal_of,
    sender_of,
    visible_account,
    waiting_transfer,
)
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.access.api.transfer_views import present_transfer
from ingot_repos.access.rules import levels as access
from ingot_repos.access.rules.account_copies import AccountCopies
from ingot_repos.access.rules.resolved import ResolvedRepository
from ingot_repos.catalog.store import repositories
from ingot_repos.catalog.store.accounts import AccountRow
from ingot_repos.catalog.store.transfers import TransferRow, teams_of
from ingot_repos.clients.identity import HttpIdentity
from ingot_repos.repositories.rules import transfers


class TransferRepository(msgspec.Struct, kw_only=True):
    """A request to transfer a repository. `team_ids` are teams of the new owner that get the repository."""

    new_owner: Name
    team_ids: Annotated[list[int], msgspec.Meta(max_length=50)] = []


@post(
    "/api/v1/repos/{owner:str}/{repo:str}/transfer",
    policy=in_repository("owner", "write:repository", unit=None),
    operation_id="repoTransfer",
    tags=["repository"],
    status_code=202,
)
async def transfer_repository(request: RepositoryRequest, data: TransferRepository) -> Repository:
    """Transfer a repository.

    The transfer is immediate if the caller is the new owner, or an owner of the new organization. It is also
    immediate for site administrators. Otherwise the new owner has to accept it. Only one offer may be pending
    (409). An owner who has blocked the caller gets no offer (403).
    """
    access.require_unrestricted(request.principal)
    row = request.resource.row
    new_owner = await visible_account(request, data.new_owner)
    await _check_teams(request, new_owner, data.team_ids)
    if await acts_for(request, new_owner.id):
        return await _move(request, new_owner, data.team_ids)
    # The new owner sees an offer, so it must not be a way around a block.
    if await request.part(HttpIdentity).is_blocked(new_owner.id, request.principal.id):
        raise Denied("the new owner has blocked you")
    async with request.db.transaction() as tx:
        await transfers.offer(tx, row, new_owner, request.principal.id, data.team_ids)
        subject = request.resource.audit_subject
        await request.audit(tx, "repository.transfer", subject, to=new_owner.login, state="waiting")
        offered = await repositories.get(tx, access.viewer(request.principal), row.id)
    if offered is None:
        raise NotFound
    return await present(request, ResolvedRepository(offered, request.resource.access))


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/transfer",
    policy=waiting_transfer("read:repository", for_giver=True),
    operation_id="repoGetTransfer",
    tags=["repository"],
)
async def get_transfer(request: RepositoryRequest) -> RepositoryTransfer:
    """Return the pending transfer.

    Callers who may accept, reject or cancel the transfer may read it. The new owner needs no access to the
    repository.
    """
    return await present_transfer(request, request.waiting_transfer.row)


@post(
    "/api/v1/repos/{owner:str}/{repo:str}/transfer/accept",
    policy=waiting_transfer("write:repository"),
    operation_id="acceptRepoTransfer",
    tags=["repository"],
    status_code=202,
)
async def accept_transfer(request: RepositoryRequest) -> Repository:
    """Accept the transfer of a repository to the caller or to an organization that the caller owns."""
    waiting = request.waiting_transfer.row
    await _require_giver(request, waiting)
    new_owner = await request.part(AccountCopies).get(waiting.recipient_id)
    ids = teams_of(waiting)
    if ids:
        ids = [team.id for team in await request.part(HttpIdentity).teams(new_owner.id, ids=ids)]
    return await _move(request, new_owner, ids, waiting)


@post(
    "/api/v1/repos/{owner:str}/{repo:str}/transfer/reject",
    policy=waiting_transfer("write:repository", for_giver=True),
    operation_id="rejectRepoTransfer",
    tags=["repository"],
    status_code=200,
)
async def reject_transfer(request: RepositoryRequest) -> Repository:
    """Reject or cancel a pending transfer.

    Allowed for the new owner, owners of the receiving organization, and callers who may transfer the
    repository.
    """
    async with request.db.transaction() as tx:
        await transfers.end(tx, request.waiting_transfer.row)
        subject = request.waiting_transfer.repository.audit_subject
        await request.audit(tx, "repository.transfer", subject, state="rejected")
    return await present(request, request.waiting_transfer.repository)


async def _move(
    request: RepositoryRequest,
    new_owner: AccountRow,
    team_ids: list[int],
    waiting: TransferRow | None = None,
) -> Repository:
    """Transfer the repository in the path and end ``waiting``. Raises Invalid, Denied, NotFound."""
    row = request.waiting_transfer.repository.row if waiting is not None else request.resource.row
    sender = await sender_of(request)
    async with request.db.transaction() as tx:
        if waiting is not None:
            await transfers.end(tx, waiting)
        await transfers.transfer(
            tx, request.presenter, row, new_owner, sender, team_ids, most=request.max_repositories
        )
        subject = f"repository {row.owner_login}/{row.name}"
        await request.audit(tx, "repository.transfer", subject, to=new_owner.login, state="done")
        moved = await repositories.get(tx, access.viewer(request.principal), row.id)
    if moved is None:
        raise NotFound
    # If this fails, identity learns the owner from the event.
    with suppress(ApiError):
        ownership = Ownership(owner_id=new_owner.id, name=row.name, private=row.private, before=row.owner_id)
        await request.part(HttpIdentity).own(row.id, ownership)
    return await present(request, ResolvedRepository(moved, access.access_to(moved, request.principal)))


async def _require_giver(request: RepositoryRequest, waiting: TransferRow) -> None:
    """Raise NotFound if the sender of the transfer may no longer transfer the repository."""
    giver = await principal_of(request, waiting.sender_id)
    async with request.db.read() as db:
        row = await repositories.get(db, access.viewer(giver), waiting.repository_id)
    if row is None or access.level(row, giver) != "owner":
        raise NotFound("no transfer waits for an answer")


async def _check_teams(request: RepositoryRequest, new_owner: AccountRow, team_ids: list[int]) -> None:
    """Raise Invalid for teams of other owners, and for teams that the caller may not see."""
    existing: set[int] = set()
    if any(0 < team_id <= MAX_ID for team_id in team_ids):
        ids = [team_id for team_id in team_ids if 0 < team_id <= MAX_ID]
        teams = await request.part(HttpIdentity).teams(new_owner.id, ids=ids)
        existing = {team.id for team in teams if access.knows_team(team, request.principal)}
    for team_id in team_ids:
        if team_id not in existing:
            raise Invalid.field("team_ids", "unknown", f"{team_id} is not a team of {new_owner.login}")


routes = [transfer_repository, get_transfer, accept_transfer, reject_transfer]
