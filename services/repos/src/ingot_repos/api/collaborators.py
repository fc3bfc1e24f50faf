"""Collaborators: users to whom administrators of a repository gave access to it."""

from typing import cast

import msgspec
from litestar import Response, delete, get, put

from ingot_chassis.errors import Invalid, NotFound
from ingot_contracts.identity import User
from ingot_contracts.limits import Name
from ingot_contracts.repos import Level, reaches
from ingot_repos.api.policies import (
    collaboration,
    in_repository,
    principal_of,
    refresh_memberships,
    visible_account,
)
from ingot_repos.api.request import RepositoryRequest
from ingot_repos.core import access, grants
from ingot_repos.store import collaborations, repositories
from ingot_repos.store.accounts import AccountRow
from ingot_repos.store.collaborations import CollaboratorRow
from ingot_repos.store.states import AccountKind

MODES = ("read", "write", "admin")


class CollaboratorPermission(msgspec.Struct, kw_only=True):
    """What somebody may do, by whatever way; `role_name` is the same."""

    permission: Level
    role_name: Level
    user: User


class Collaborator(User, frozen=True, kw_only=True):
    """`permission` is what was given to them here; a team may let them do more."""

    permission: Level


class AddCollaborator(msgspec.Struct, kw_only=True):
    """Without `permission`: write for a new collaborator, unchanged for one who is there."""

    permission: Name | None = None


async def _user(request: RepositoryRequest, login: str) -> AccountRow:
    try:
        row = await visible_account(request, login)
    except NotFound:
        raise Invalid.field("collaborator", "unknown", f"there is no user {login!r}") from None
    if row.kind != AccountKind.USER:
        raise Invalid.field("collaborator", "kind", f"{login!r} is not a user")
    return row


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/collaborators",
    policy=in_repository("write", "read:repository"),
    operation_id="repoListCollaborators",
    tags=["repository"],
)
async def list_collaborators(request: RepositoryRequest) -> Response[list[Collaborator]]:
    """Collaborators in the order of their addition."""
    repository = request.resource
    page = request.page()
    async with request.db.read() as db:
        rows, total = await collaborations.list_accounts(db, repository.id, page)
    listed = [_view(request, row) for row in rows]
    return Response(listed, headers=request.page_headers(page, total))


def _view(request: RepositoryRequest, row: CollaboratorRow) -> Collaborator:
    user = msgspec.structs.asdict(request.presenter.user(row))
    return Collaborator(**user, permission=cast("Level", row.mode))


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/collaborators/{collaborator:str}",
    policy=in_repository("write", "read:repository"),
    operation_id="repoCheckCollaborator",
    tags=["repository"],
    status_code=204,
)
async def check_collaborator(request: RepositoryRequest, collaborator: str) -> Response[None]:
    """204 when a user is a collaborator, else 404; both without a body."""
    repository = request.resource
    row = await _user(request, collaborator)
    async with request.db.read() as db:
        is_there = await collaborations.is_collaborator(db, repository.id, row.id)
    return Response(None, status_code=204 if is_there else 404, media_type="text/plain")


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/collaborators/{collaborator:str}/permission",
    policy=collaboration("read:repository"),
    operation_id="repoGetRepoPermissions",
    tags=["repository"],
)
async def get_permission(request: RepositoryRequest, collaborator: str) -> CollaboratorPermission:
    """What a user may do: for administrators of the repository, and for the user."""
    repository = request.resource
    account = await visible_account(request, collaborator)
    if account.kind != AccountKind.USER:
        raise NotFound
    principal = await principal_of(request, account.id)
    async with request.db.read() as db:
        row = await repositories.get(db, access.viewer(principal), repository.id)
    if row is None:
        raise NotFound
    level = access.level(row, principal)
    return CollaboratorPermission(permission=level, role_name=level, user=request.presenter.user(account))


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/assignees",
    policy=in_repository("read", "read:repository"),
    operation_id="repoGetAssignees",
    tags=["repository"],
)
async def list_assignees(request: RepositoryRequest) -> list[User]:
    """Users to whom issues can be assigned: all who may write to the repository by more than being site administrators."""
    return await _with_access(request, ("write", "admin"))


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/assignees/{assignee:str}",
    policy=in_repository("read", "read:repository"),
    operation_id="repoCheckAssignee",
    tags=["repository"],
    status_code=204,
)
async def check_assignee(request: RepositoryRequest, assignee: str) -> Response[None]:
    """204 when issues can be assigned to the user, else 404; both without a body."""
    users = await _with_access(request, ("write", "admin"))
    is_there = any(user.login.lower() == assignee.lower() for user in users)
    return Response(None, status_code=204 if is_there else 404, media_type="text/plain")


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/reviewers",
    policy=in_repository("read", "read:repository"),
    operation_id="repoGetReviewers",
    tags=["repository"],
)
async def list_reviewers(request: RepositoryRequest) -> list[User]:
    """Users who can be asked for a review: owners, collaborators, and members of teams that have the repository."""
    return await _with_access(request, MODES)


async def _with_access(request: RepositoryRequest, modes: tuple[str, ...]) -> list[User]:
    """The owner or owners, collaborators with one of ``modes``, and members of such teams, by login.

    Who is in an organization is for its members, and for those who may write to the repository.
    """
    row, level = request.resource.row, request.resource.level
    members: list[int] = []
    shown = reaches(level, "write")
    if row.owner_kind == AccountKind.ORGANIZATION and not shown and request.principal.signed_in:
        shown = access.knows_teams_of(row, level, await refresh_memberships(request))
    if row.owner_kind == AccountKind.ORGANIZATION and shown:
        async with request.db.read() as db:
            team_ids = await collaborations.team_ids(db, row.id)
        members = await request.components.identity.members_of_teams(
            row.owner_id, team_ids, write="read" not in modes
        )
    async with request.db.read() as db:
        rows = await collaborations.list_with_access(db, row.id, [row.owner_id, *members], modes)
    return [request.presenter.user(row) for row in rows]


@put(
    "/api/v1/repos/{owner:str}/{repo:str}/collaborators/{collaborator:str}",
    policy=in_repository("admin", "write:repository"),
    operation_id="repoAddCollaborator",
    tags=["repository"],
    status_code=204,
)
async def add_collaborator(request: RepositoryRequest, collaborator: str, data: AddCollaborator) -> None:
    """Add a collaborator, or change their permission."""
    repository = request.resource
    row = await _user(request, collaborator)
    if row.id == repository.row.owner_id:
        raise Invalid.field("collaborator", "owner", "owns the repository")
    mode = data.permission or None  # clients send what they leave open as an empty text
    if mode is not None and mode not in MODES:
        mode = "read"
    async with request.db.transaction() as tx:
        await grants.add_collaborator(tx, repository.id, row.id, mode)
        subject = repository.audit_subject
        await request.audit(tx, "collaborator.add", subject, user=row.login, permission=mode or "")


@delete(
    "/api/v1/repos/{owner:str}/{repo:str}/collaborators/{collaborator:str}",
    policy=collaboration("write:repository"),
    operation_id="repoDeleteCollaborator",
    tags=["repository"],
)
async def remove_collaborator(request: RepositoryRequest, collaborator: str) -> None:
    """Remove a collaborator; everybody may remove themselves."""
    repository = request.resource
    row = await _user(request, collaborator)
    async with request.db.transaction() as tx:
        if await collaborations.remove(tx, repository.id, row.id):
            await grants.announce_access(tx, repository.id)
            subject = repository.audit_subject
            await request.audit(tx, "collaborator.remove", subject, user=row.login)


routes = [
    list_collaborators,
    check_collaborator,
    get_permission,
    list_assignees,
    check_assignee,
    list_reviewers,
    add_collaborator,
    remove_collaborator,
]
