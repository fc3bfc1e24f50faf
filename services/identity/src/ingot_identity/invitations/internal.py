"""Internal routes for invitations: to repositories for repos, and by link for web and repos."""

from litestar import delete, get, post

from ingot_chassis.errors import NotFound, Unauthenticated
from ingot_chassis.http.policy import services
from ingot_contracts.identity.invitations import (
    Invitation,
    InvitationCode,
    Invitations,
    InviteToRepository,
    LinkedInvitation,
)
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.invitations import rules, store
from ingot_identity.invitations.components import InvitationComponents
from ingot_identity.invitations.rules import InvitationLink, present
from ingot_identity.invitations.store import Invited
from ingot_identity.messages.components import MessageComponents

REPOSITORY = "/internal/repositories/{repository_id:int}/invitations"


@post(REPOSITORY, policy=services("repos"), include_in_schema=False, status_code=200)
async def invite(request: IdentityRequest, repository_id: int, data: InviteToRepository) -> Invitation:
    """Invite a person to a repository by mail."""
    messages = request.part(MessageComponents).messages
    async with request.db.transaction() as tx:
        inviter = await rules.get_inviter(tx, data.inviter_id)
        row = await rules.invite_to_repository(
            tx, messages, inviter, repository_id, data.email, data.permission
        )
    return present(row, inviter, messages.unseal(row.sealed_address), request.presenter)


@get(REPOSITORY, policy=services("repos"), include_in_schema=False)
async def list_invitations(request: IdentityRequest, repository_id: int) -> Invitations:
    """List open invitations to a repository, oldest first."""
    page, messages = request.page(), request.part(MessageComponents).messages
    async with request.db.read() as db:
        rows, total = await store.list_page(db, Invited(repository_id=repository_id), page)
        inviters = await rules.list_inviters(db, rows)
    listed = [
        present(row, inviters[row.inviter_id], messages.unseal(row.sealed_address), request.presenter)
        for row in rows
    ]
    return Invitations(rows=listed, total=total)


@delete(f"{REPOSITORY}/{{invitation_id:int}}", policy=services("repos"), include_in_schema=False)
async def withdraw(request: IdentityRequest, repository_id: int, invitation_id: int) -> None:
    """Withdraw an invitation. Its link stops working."""
    async with request.db.transaction() as tx:
        await rules.withdraw(tx, invitation_id, Invited(repository_id=repository_id))


@get("/internal/invitations", policy=services("web", "repos"), include_in_schema=False)
async def get_invitation(request: IdentityRequest, code: str) -> LinkedInvitation:
    """Return the invitation of a link, or 404 if it has ended."""
    async with request.db.read() as db:
        link = await rules.find(db, request.part(MessageComponents).messages, code)
    if link is None:
        raise NotFound
    return _linked(request, link)


@post("/internal/team-invitations", policy=services("web"), include_in_schema=False, status_code=200)
async def accept_to_team(request: IdentityRequest, data: InvitationCode) -> LinkedInvitation:
    """Add the caller to the team of a link."""
    principal = request.principal
    if not principal.signed_in:
        raise Unauthenticated("sign in to accept the invitation")
    messages = request.part(MessageComponents).messages
    async with request.db.transaction() as tx:
        link = await rules.accept_to_team(tx, messages, data.code, principal.id)
        await request.audit(
            tx, "team.accept_invitation", link.target.words, id=link.invitation.id, by=link.inviter.login
        )
    return _linked(request, link)


@post("/internal/repository-invitations", policy=services("repos"), include_in_schema=False, status_code=200)
async def accept_to_repository(request: IdentityRequest, data: InvitationCode) -> LinkedInvitation:
    """End the invitation to a repository. repos then adds the collaborator."""
    async with request.db.transaction() as tx:
        link = await rules.accept_to_repository(tx, request.part(MessageComponents).messages, data.code)
    return _linked(request, link)


def _linked(request: IdentityRequest, link: InvitationLink) -> LinkedInvitation:
    row = link.invitation
    return LinkedInvitation(
        kind="team" if link.target.team is not None else "repository",
        target=link.target.words,
        path=link.target.path,
        inviter_id=link.inviter.id,
        inviter=link.inviter.login,
        repository_id=row.repository_id or 0,
        permission=row.permission,
        expires_at=row.expires_at,
        may_register=request.part(InvitationComponents).may_register and not row.registered,
    )


routes = [invite, list_invitations, withdraw, get_invitation, accept_to_team, accept_to_repository]
