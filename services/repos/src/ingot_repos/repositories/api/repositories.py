"""Routes that show or delete a repository, and delete all repositories of an organization."""

from contextlib import suppress

from litestar import Response, delete, get
from litestar.openapi.datastructures import ResponseSpec

from ingot_chassis.errors import ApiError
from ingot_chassis.jobs.jobs import Jobs
from ingot_contracts.repos.repositories import Repository
from ingot_repos.access.api.answers import present
from ingot_repos.access.api.policies import (
    in_repository,
    owner_of_organization,
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

    Its owner, owners of its organization and site administrators may delete it.
    """
    row = request.resource.row
    sender = await sender_of(request)
    async with request.db.transaction() as tx:
        await deletions.delete(tx, request.part(Jobs), request.presenter, row, sender)
        await request.audit(tx, "repository.delete", request.resource.audit_subject, id=row.id)
    with suppress(ApiError):  # identity gets the event as well
        await request.part(HttpIdentity).disown(row.id)


@delete(
    "/api/v1/orgs/{org:str}/repos",
    policy=owner_of_organization("write:organization"),
    operation_id="orgDeleteRepos",
    tags=["organization"],
    status_code=202,
    responses={204: ResponseSpec(None, description="The organization has no repositories")},
)
async def delete_of_organization(request: RepositoryRequest) -> Response[bytes]:
    """Delete all current repositories of an organization, one after the other.

    Answers 202 while they are being deleted, 204 if there are none.
    """
    account, sender = request.account, await sender_of(request)
    async with request.db.transaction() as tx:
        if not await deletions.request_deletion_of_all(tx, request.part(Jobs), account.id, sender):
            return Response(b"", status_code=204)
        await request.audit(tx, "organization.delete_repositories", f"organization {account.login}")
    return Response(b"", status_code=202, media_type="text/plain")


routes = [get_repository, get_by_id, delete_repository, delete_of_organization]
