"""Routes for invitations to repositories. identity stores the invitations and sends their links."""

import msgspec
from litestar import Response, delete, get, post

from ingot_chassis.errors import Denied, NotFound
from ingot_chassis.http.policy import services
from ingot_contracts.identity.invitations import (
    Invitation,
    InvitationCode,
    InviteToRepository,
    LinkedInvitation,
)
from ingot_contracts.limits import Name
from ingot_contracts.repos.access import reaches
from ingot_repos.access.api.collaborators import MODES
from ingot_repos.access.api.policies import in_repository, principal_of
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.access.rules import grants
from ingot_repos.access.rules import levels as access
from ingot_repos.access.rules.resolved import ResolvedRepository
from ingot_repos.access.store import collaborations
from ingot_repos.catalog.store import repositories
from ingot_repos.clients.identity import HttpIdentity


class InviteCollaboratorOption(msgspec.Struct, kw_only=True):
    """An invitation by mail, which has a link. Without `permission`, the person gets write access.

    The response does not reveal whether an account has the address.
    """

    email: Name
    permission: Name = ""


@post(
    "/api/v1/repos/{owner:str}/{repo:str}/collaborators",
    policy=in_repository("admin", "write:repository", unit=None),
    operation_id="repoInviteCollaborator",
    tags=["repository"],
    status_code=201,
)
async def invite(request: RepositoryRequest, data: InviteCollaboratorOption) -> Invitation:
    """Invite a person as a collaborator by mail. An earlier invitation of the address is withdrawn."""
    repository = request.resource
    permission = data.permission or "write"
    invitation = await request.part(HttpIdentity).invite(
        repository.id,
        InviteToRepository(
            email=data.email,
            permission=permission if permission in MODES else "read",
            inviter_id=request.principal.id,
        ),
    )
    async with request.db.transaction() as tx:
        await request.audit(
            tx,
            "collaborator.invite",
            repository.audit_subject,
            id=invitation.id,
            email=invitation.email,
            permission=invitation.permission,
        )
    return invitation


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/invitations",
    policy=in_repository("admin", "read:repository", unit=None),
    operation_id="repoListInvitations",
    tags=["repository"],
)
async def list_invitations(request: RepositoryRequest) -> Response[list[Invitation]]:
    """List open invitations to a repository, oldest first."""
    page = request.page()
    listed = await request.part(HttpIdentity).invitations(request.resource.id, page.number, page.limit)
    return Response(list(listed.rows), headers=request.page_headers(page, listed.total))


@delete(
    "/api/v1/repos/{owner:str}/{repo:str}/invitations/{invitation_id:int}",
    policy=in_repository("admin", "write:repository", unit=None),
    operation_id="repoWithdrawInvitation",
    tags=["repository"],
)
async def withdraw(request: RepositoryRequest, invitation_id: int) -> None:
    """Withdraw an invitation. Its link stops working."""
    repository = request.resource
    await request.part(HttpIdentity).withdraw_invitation(repository.id, invitation_id)
    async with request.db.transaction() as tx:
        subject = repository.audit_subject
        await request.audit(tx, "collaborator.withdraw_invitation", subject, id=invitation_id)


@post("/internal/invitations", policy=services("web"), include_in_schema=False, status_code=200)
async def accept(request: RepositoryRequest, data: InvitationCode) -> LinkedInvitation:
    """Accept an invitation by its link: make the caller a collaborator, and end the invitation.

    An existing collaborator keeps the current permission. Raises NotFound if the link is not valid. Raises
    Denied if the caller owns the repository, or if the inviter may no longer add collaborators.
    """
    access.require_signed_in(request.principal)
    identity, account_id = request.part(HttpIdentity), request.principal.id
    linked = await identity.invitation(data.code)
    if linked.kind != "repository":
        raise NotFound
    repository = await _of_inviter(request, linked)
    if repository.row.owner_id == account_id:
        raise Denied("the repository is yours already")
    linked = await identity.accept_invitation(data)
    async with request.db.transaction() as tx:
        if not await collaborations.is_collaborator(tx, repository.id, account_id):
            await grants.add_collaborator(tx, repository.id, account_id, linked.permission)
        subject = repository.audit_subject
        await request.audit(
            tx, "collaborator.accept_invitation", subject, by=linked.inviter, permission=linked.permission
        )
    return linked


async def _of_inviter(request: RepositoryRequest, linked: LinkedInvitation) -> ResolvedRepository:
    """Return the repository with the access of the inviter.

    Raises Denied if the inviter may not add collaborators.
    """
    inviter = await principal_of(request, linked.inviter_id)
    async with request.db.read() as db:
        row = await repositories.get(db, access.viewer(inviter), linked.repository_id)
    if row is not None and inviter.signed_in:
        repository = ResolvedRepository(row, access.access_to(row, inviter))
        if reaches(repository.access.level, "admin"):
            return repository
    raise Denied(
        f"{linked.inviter} may not invite people to {linked.target} any more; ask for a new invitation"
    )


routes = [invite, list_invitations, withdraw, accept]
