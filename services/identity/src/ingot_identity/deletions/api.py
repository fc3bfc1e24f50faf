"""Routes that delete accounts."""

from datetime import datetime

import msgspec
from litestar import Response, delete, get
from litestar.openapi.datastructures import ResponseSpec

from ingot_chassis.errors import NotFound
from ingot_chassis.jobs.loops import polls
from ingot_contracts.identity.accounts import User
from ingot_identity.access import rules as access
from ingot_identity.access.api import in_organization, of_user
from ingot_identity.access.rules import Level, SignIn
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.deletions import rules as account_deletion
from ingot_identity.deletions import store
from ingot_identity.repositories import store as repositories


class Purge(msgspec.Struct):
    """The progress of a deletion. ``repositories`` is the number at the start."""

    requested_at: datetime
    repositories: int
    repositories_left: int
    organizations_left: int


@delete(
    "/api/v1/admin/users/{username:str}",
    policy=of_user(SignIn.ADMINISTRATOR, "write:admin"),
    operation_id="adminDeleteUser",
    tags=["admin"],
    status_code=202,
    responses={204: ResponseSpec(None, description="The user is deleted")},
)
async def delete_user(request: IdentityRequest, purge: bool = False) -> Response[Purge | None]:
    """Delete a user who owns no repositories and is in no organization.

    With `purge` the user can no longer sign in, and leaves all organizations. The user's repositories are
    deleted, and so are organizations without another owner. If the deletion takes longer than the request,
    the status is 202.
    """
    account, patience = request.account, request.settings.deletion_patience
    if not purge:
        await account_deletion.wait_for_events(request.db, account.id, patience)
    async with request.db.transaction() as tx:
        if purge:
            sender = User(id=request.principal.id, login=request.principal.name)
            await account_deletion.purge_user(tx, request.presenter, account.id, sender)
        else:
            await account_deletion.delete_user(tx, account.id)
        await request.audit(tx, "user.delete", f"user {account.login}", id=account.id, purge=purge)
    progress = await _wait(request, account.id, patience) if purge else None
    return Response(progress, status_code=204 if progress is None else 202)


@get(
    "/api/v1/admin/users/{username:str}/purge",
    policy=of_user(SignIn.ADMINISTRATOR, "read:admin"),
    operation_id="adminGetPurge",
    tags=["admin"],
)
async def get_purge(request: IdentityRequest) -> Purge:
    """Return the progress of the deletion of a user with `purge`. The status is 404 if none is running."""
    progress = await _progress(request, request.account.id)
    if progress is None:
        raise NotFound
    return progress


async def _wait(request: IdentityRequest, user_id: int, patience: float) -> Purge | None:
    """Wait until the user is deleted, at most ``patience`` seconds.

    Return the remaining work; None if the user is deleted.
    """
    progress = None
    async for _ in polls(patience):
        progress = await _progress(request, user_id)
        if progress is None:
            break
    return progress


async def _progress(request: IdentityRequest, user_id: int) -> Purge | None:
    async with request.db.read() as db:
        rows = await store.list_purges(db, user_id)
        left = await repositories.count_owned(db, [row.account_id for row in rows])
    if not rows:
        return None
    return Purge(
        requested_at=min(row.requested_at for row in rows),
        repositories=sum(row.repositories for row in rows),
        repositories_left=left,
        organizations_left=len(rows) - 1,
    )


@delete(
    "/api/v1/orgs/{org:str}",
    policy=in_organization(Level.OWNER, "write:organization"),
    operation_id="orgDelete",
    tags=["organization"],
)
async def delete_organization(request: IdentityRequest) -> None:
    """Delete an organization that owns no repositories."""
    organization_id, patience = request.organization.id, request.settings.deletion_patience
    await account_deletion.wait_for_events(request.db, organization_id, patience)
    async with request.db.transaction() as tx:
        await access.require_owner(tx, request.principal, organization_id)
        await account_deletion.delete_organization(tx, organization_id, deleted_by=request.principal.id)
        subject = f"organization {request.organization.login}"
        await request.audit(tx, "organization.delete", subject, id=organization_id)


routes = [delete_user, get_purge, delete_organization]
