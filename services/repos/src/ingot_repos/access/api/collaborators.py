"""Collaborators: users to whom repository administrators gave access."""

from typing import cast

import msgspec
from litestar import Response, delete, get, put

from ingot_chassis.errors import Invalid, NotFound
from ingot_contracts.identity.accounts import User
from ingot_contracts.identity.units import Unit
from ingot_contracts.limits import Name
from ingot_contracts.repos.access import Level, reaches
from ingot_repos.access.api.policies import (
    collaboration,
    in_repository,
    principal_of,
    refresh_memberships,
    visible_account,
)
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.access.rules import grants
from ingot_repos.access.rules import levels as access
from ingot_repos.access.store import collaborations
from ingot_repos.access.store.collaborations import CollaboratorRow
from ingot_repos.catalog.store import repositories
from ingot_repos.catalog.store.accounts import AccountRow
from ingot_repos.catalog.store.states import AccountKind
from ingot_repos.clients.identity import HttpIdentity

MODES = ("read", "write", "admin")
ISSUES_OR_PULLS: tuple[Unit, ...] = ("issues", "pulls")


class CollaboratorPermission(msgspec.Struct, kw_only=True):
    """The effective permission of a user, from any source. `role_name` equals `permission`.

    `permission` is the lowest level of all units, ignoring units without access.
    """

    permission: Level
    role_name: Level
    user: User


class Collaborator(User, frozen=True, kw_only=True):
    """A collaborator, with the `permission` given to them. A team may give the same user more access."""

    permission: Level


class AddCollaboratorOption(msgspec.Struct, kw_only=True):
    """A request to add a collaborator.

    Without `permission`, a new collaborator gets write access, and an existing one keeps the current access.
    A value other than `read`, `write` and `admin` counts as `read`.
    """

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
    policy=in_repository("write", "read:repository", unit=None),
    operation_id="repoListCollaborators",
    tags=["repository"],
)
async def list_collaborators(request: RepositoryRequest) -> Response[list[Collaborator]]:
    """List the collaborators in the order in which they were added."""
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
    policy=in_repository("write", "read:repository", unit=None),
    operation_id="repoCheckCollaborator",
    tags=["repository"],
    status_code=204,
)
async def check_collaborator(request: RepositoryRequest, collaborator: str) -> None:
    """Answer 204 if the user is a collaborator, else 404."""
    repository = request.resource
    account = await visible_account(request, collaborator)
    async with request.db.read() as db:
        if not await collaborations.is_collaborator(db, repository.id, account.id):
            raise NotFound


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/collaborators/{collaborator:str}/permission",
    policy=collaboration("read:repository"),
    operation_id="repoGetRepoPermissions",
    tags=["repository"],
)
async def get_permission(request: RepositoryRequest, collaborator: str) -> CollaboratorPermission:
    """Return the permission of a user. Only repository administrators and this user may request it."""
    repository = request.resource
    account = await visible_account(request, collaborator)
    if account.kind != AccountKind.USER:
        raise NotFound
    principal = await principal_of(request, account.id)
    async with request.db.read() as db:
        row = await repositories.get(db, access.viewer(principal), repository.id)
    if row is None:
        raise NotFound
    level = access.shown_level(access.access_to(row, principal))
    return CollaboratorPermission(permission=level, role_name=level, user=request.presenter.user(account))


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/assignees",
    policy=in_repository("read", "read:repository", unit=None),
    operation_id="repoGetAssignees",
    tags=["repository"],
)
async def list_assignees(request: RepositoryRequest) -> list[User]:
    """List users to whom issues can be assigned.

    These users have write access as owner, collaborator or team member, to issues or pull requests. Site
    administrators without such access are not listed.
    """
    return await _with_access(request, ("write", "admin"), ISSUES_OR_PULLS)


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/assignees/{assignee:str}",
    policy=in_repository("read", "read:repository", unit=None),
    operation_id="repoCheckAssignee",
    tags=["repository"],
    status_code=204,
)
async def check_assignee(request: RepositoryRequest, assignee: str) -> None:
    """Answer 204 if issues can be assigned to the user, else 404."""
    users = await _with_access(request, ("write", "admin"), ISSUES_OR_PULLS)
    if not any(user.login.lower() == assignee.lower() for user in users):
        raise NotFound


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/reviewers",
    policy=in_repository("read", "read:repository", unit=None),
    operation_id="repoGetReviewers",
    tags=["repository"],
)
async def list_reviewers(request: RepositoryRequest) -> list[User]:
    """List users who can be asked for a review.

    These are the owner, the collaborators, and the members of teams that may read pull requests.
    """
    return await _with_access(request, MODES, ("pulls",))


async def _with_access(
    request: RepositoryRequest, modes: tuple[str, ...], units: tuple[Unit, ...]
) -> list[User]:
    """Return owners, collaborators with one of ``modes`` and members of teams, ordered by login.

    A team counts if it has one of ``modes`` in one of ``units``. Members of teams are listed only for members
    of the organization, and for callers with write access.
    """
    row, access_ = request.resource.row, request.resource.access
    members: list[int] = []
    shown = any(reaches(access_.of(unit), "write") for unit in units)
    if row.owner_kind == AccountKind.ORGANIZATION and not shown and request.principal.signed_in:
        shown = access.knows_teams_of(row, access_.level, await refresh_memberships(request))
    if row.owner_kind == AccountKind.ORGANIZATION and shown:
        async with request.db.read() as db:
            team_ids = await collaborations.team_ids(db, row.id)
        members = await request.part(HttpIdentity).members_of_teams(
            row.owner_id, team_ids, write="read" not in modes, units=units
        )
    async with request.db.read() as db:
        rows = await collaborations.list_with_access(db, row.id, [row.owner_id, *members], modes)
    return [request.presenter.user(row) for row in rows]


@put(
    "/api/v1/repos/{owner:str}/{repo:str}/collaborators/{collaborator:str}",
    policy=in_repository("admin", "write:repository", unit=None),
    operation_id="repoAddCollaborator",
    tags=["repository"],
    status_code=204,
)
async def add_collaborator(
    request: RepositoryRequest, collaborator: str, data: AddCollaboratorOption
) -> None:
    """Add a collaborator or change the permission of an existing one."""
    repository = request.resource
    row = await _user(request, collaborator)
    if row.id == repository.row.owner_id:
        raise Invalid.field("collaborator", "owner", "owns the repository")
    mode = data.permission or None  # clients send an empty text for "not set"
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
    """Remove a collaborator. Every collaborator may remove themselves."""
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
