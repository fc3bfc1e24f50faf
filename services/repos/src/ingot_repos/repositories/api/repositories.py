"""Routes that show a repository, and delete it."""

from contextlib import suppress

from litestar import delete, get

from ingot_chassis.errors import ApiError
from ingot_chassis.jobs.jobs import Jobs
from ingot_contracts.repos.repositories import Repository
from ingot_repos.access.api.answers import present
from ingot_repos.access.api.policies import (
    in_repository,
    repository_by_id,
    sender_of,
)
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.clients.identity import HttpIdentity
from ingot_repos.repositories.rules import deletions


@get(
    "/api/v1/repos/{owner:str}/{repo:str}",
    policy=in_repository("read", "read:repository", unit=None),
    operation_id="repoGet",
    tags=["repository"],
)
async def get_repository(request: RepositoryRequest) -> Repository:
    """Return a repository."""
    return await present(request, request.resource)


@get(
    "/api/v1/repositories/{repository_id:int}",
    policy=repository_by_id("read:repository"),
    operation_id="repoGetByID",
    tags=["repository"],
)
async def get_by_id(request: RepositoryRequest) -> Repository:
    """Return a repository by id."""
    return await present(request, request.resource)


@delete(
    "/api/v1/repos/{owner:str}/{repo:str}",
    policy=in_repository("owner", "write:repository", unit=None),
    operation_id="repoDelete",
    tags=["repository"],
)
async def delete_repository(request: RepositoryRequest) -> None:
    """Delete a repository.

    Its owner, owners of the organization and site administrators may.
    """
    row = request.resource.row
    sender = await sender_of(request)
    async with request.db.transaction() as tx:
        await deletions.delete(tx, request.part(Jobs), request.presenter, row, sender)
        await request.audit(tx, "repository.delete", request.resource.audit_subject, id=row.id)
    with suppress(ApiError):  # identity gets the event as well
        await request.part(HttpIdentity).disown(row.id)


routes = [get_repository, get_by_id, delete_repository]
