"""Giving repositories to other owners."""

from contextlib import suppress
from typing import Annotated

import msgspec
from litestar import post

from ingot_chassis.errors import ApiError, Denied, Invalid
from ingot_chassis.policy import MAX_ID, resource
from ingot_contracts.identity import Ownership
from ingot_contracts.repos import Repository
from ingot_repos.api.call import Call
from ingot_repos.core import access, transfers
from ingot_repos.store import repositories
from ingot_repos.store.accounts import AccountRow


class TransferRepository(msgspec.Struct, kw_only=True):
    """`team_ids` are teams of an organization that gets it."""

    new_owner: str
    team_ids: Annotated[list[int], msgspec.Meta(max_length=50)] = []


@post(
    "/api/v1/repos/{owner:str}/{repo:str}/transfer",
    policy=resource("owner", "write:repository"),
    operation_id="repoTransfer",
    tags=["repository"],
    status_code=202,
)
async def transfer_repository(request: Call, data: TransferRepository) -> Repository:
    """Give a repository to oneself, or to an organization that one owns; administrators give to anybody."""
    access.require_unconfined(request.who)
    row = request.found.row
    new_owner = await _receiver(request, data.new_owner)
    await _check_teams(request, new_owner, data.team_ids)
    sender = await request.sender()
    async with request.db.transaction() as tx:
        await transfers.transfer(
            tx, request.viewing, row, new_owner, sender, data.team_ids, most=request.most_repositories
        )
        moved = await repositories.get(tx, access.viewer(request.who), row.id)
    # What does not get through here its event tells as well, a moment later.
    with suppress(ApiError):
        told = Ownership(owner_id=new_owner.id, name=row.name, private=row.private, before=row.owner_id)
        await request.parts.identity.own(row.id, told)
    return (await request.views([moved]))[0]


async def _receiver(request: Call, login: str) -> AccountRow:
    """Raises NotFound, Denied."""
    account = await request.account(login)
    if account.kind == "organization":
        return await request.owned_organization(login)
    if account.id != request.who.id and not request.who.admin:
        raise Denied("only administrators give repositories to other people")
    return account


async def _check_teams(request: Call, new_owner: AccountRow, team_ids: list[int]) -> None:
    for team_id in team_ids:
        team = await request.parts.identity.team(team_id) if 0 < team_id <= MAX_ID else None
        if team is None or team.organization_id != new_owner.id:
            raise Invalid.field("team_ids", "unknown", f"{team_id} is no team of {new_owner.login}")


routes = [transfer_repository]
