"""Collaborators: people whom a repository's administrators let in directly."""

import msgspec
from litestar import Response, delete, get, put

from ingot_chassis.errors import Invalid, NotFound
from ingot_chassis.policy import resource
from ingot_contracts.identity import User
from ingot_repos.api.call import Call
from ingot_repos.core.grants import announce_access
from ingot_repos.store import collaborations
from ingot_repos.store.accounts import AccountRow

MODES = ("read", "write", "admin")


class AddCollaborator(msgspec.Struct, kw_only=True):
    """Absent permission: write for a new one, unchanged for one that is there."""

    permission: str | None = None


async def _user(request: Call, login: str) -> AccountRow:
    try:
        row = await request.visible_account(login)
    except NotFound:
        raise Invalid.field("collaborator", "unknown", f"there is no user {login!r}") from None
    if row.kind != "user":
        raise Invalid.field("collaborator", "kind", f"{login!r} is no user")
    return row


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/collaborators",
    policy=resource("write", "read:repository"),
    operation_id="repoListCollaborators",
    tags=["repository"],
)
async def list_collaborators(request: Call) -> Response[list[User]]:
    """Collaborators in the order of their addition."""
    found = request.found
    page = request.page()
    async with request.db.read() as db:
        rows, total = await collaborations.list_accounts(db, found.id, page)
    return Response([request.viewing.user(row) for row in rows], headers=request.page_headers(page, total))


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/collaborators/{collaborator:str}",
    policy=resource("write", "read:repository"),
    operation_id="repoCheckCollaborator",
    tags=["repository"],
    status_code=204,
)
async def check_collaborator(request: Call, collaborator: str) -> None:
    """Whether a user is a collaborator: 204 or 404."""
    found = request.found
    row = await _user(request, collaborator)
    async with request.db.read() as db:
        if not await collaborations.is_collaborator(db, found.id, row.id):
            raise NotFound


@put(
    "/api/v1/repos/{owner:str}/{repo:str}/collaborators/{collaborator:str}",
    policy=resource("admin", "write:repository"),
    operation_id="repoAddCollaborator",
    tags=["repository"],
    status_code=204,
)
async def add_collaborator(request: Call, collaborator: str, data: AddCollaborator) -> None:
    """Let a user in, or change what they may do."""
    found = request.found
    row = await _user(request, collaborator)
    if row.id == found.row.owner_id:
        raise Invalid.field("collaborator", "owner", "owns the repository")
    mode = data.permission
    if mode is not None and mode not in MODES:
        mode = "read"
    async with request.db.transaction() as tx:
        await collaborations.put(tx, found.id, row.id, mode)
        await announce_access(tx, found.id)


@delete(
    "/api/v1/repos/{owner:str}/{repo:str}/collaborators/{collaborator:str}",
    policy=resource("signed-in", "write:repository"),
    operation_id="repoDeleteCollaborator",
    tags=["repository"],
)
async def remove_collaborator(request: Call, owner: str, repo: str, collaborator: str) -> None:
    """Take a user out; they may take out themselves."""
    found = request.found
    if collaborator.lower() != request.who.name.lower():
        found = await request.repository(owner, repo, "admin")
    row = await _user(request, collaborator)
    async with request.db.transaction() as tx:
        if await collaborations.remove(tx, found.id, row.id):
            await announce_access(tx, found.id)


routes = [list_collaborators, check_collaborator, add_collaborator, remove_collaborator]
