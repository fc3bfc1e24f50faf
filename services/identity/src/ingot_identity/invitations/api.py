"""Routes for invitations to teams, for owners of the organization. Other callers get 404 for the team."""

import msgspec
from litestar import Response, delete, get, post

from ingot_contracts.identity.invitations import Invitation
from ingot_contracts.limits import Name
from ingot_identity.access import rules as access
from ingot_identity.access.api import of_team_in_organization
from ingot_identity.access.store.teams import TeamRow
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.invitations import rules, store
from ingot_identity.invitations.rules import present
from ingot_identity.invitations.store import Invited
from ingot_identity.messages.components import MessageComponents

TEAM = "/api/v1/orgs/{org:str}/teams/{team_id:int}"


class InviteOption(msgspec.Struct, kw_only=True):
    """An invitation by mail, with a link. The response does not reveal if the address has an account."""

    email: Name


@post(
    f"{TEAM}/members",
    policy=of_team_in_organization("write:organization"),
    operation_id="orgInviteTeamMember",
    tags=["organization"],
    status_code=201,
)
async def invite(request: IdentityRequest, data: InviteOption) -> Invitation:
    """Invite a person to a team by mail. An earlier invitation of this address to the team is withdrawn."""
    team: TeamRow = request.resource
    messages = request.part(MessageComponents).messages
    async with request.db.transaction() as tx:
        await access.require_team_owner(tx, request.principal, team)
        inviter = await rules.get_inviter(tx, request.principal.id)
        row = await rules.invite_to_team(tx, messages, inviter, team, data.email)
        address = messages.unseal(row.sealed_address)
        await request.audit(tx, "team.invite", _subject(team), id=row.id, email=address)
    return present(row, inviter, address, request.presenter)


@get(
    f"{TEAM}/invitations",
    policy=of_team_in_organization("read:organization"),
    operation_id="orgListTeamInvitations",
    tags=["organization"],
)
async def list_invitations(request: IdentityRequest) -> Response[list[Invitation]]:
    """List open invitations to a team, oldest first."""
    page = request.page()
    async with request.db.read() as db:
        rows, total = await store.list_page(db, Invited(team_id=request.resource.id), page)
        inviters = await rules.list_inviters(db, rows)
    messages = request.part(MessageComponents).messages
    listed = [
        present(row, inviters[row.inviter_id], messages.unseal(row.sealed_address), request.presenter)
        for row in rows
    ]
    return Response(listed, headers=request.page_headers(page, total))


@delete(
    f"{TEAM}/invitations/{{invitation_id:int}}",
    policy=of_team_in_organization("write:organization"),
    operation_id="orgWithdrawTeamInvitation",
    tags=["organization"],
)
async def withdraw(request: IdentityRequest, invitation_id: int) -> None:
    """Withdraw an invitation. Its link stops working."""
    team: TeamRow = request.resource
    async with request.db.transaction() as tx:
        await access.require_team_owner(tx, request.principal, team)
        row = await rules.withdraw(tx, invitation_id, Invited(team_id=team.id))
        await request.audit(tx, "team.withdraw_invitation", _subject(team), id=row.id)


def _subject(team: TeamRow) -> str:
    """Return the subject of an entry in the audit log."""
    return f"team {team.name} ({team.id}) of organization {team.organization_id}"


routes = [invite, list_invitations, withdraw]
