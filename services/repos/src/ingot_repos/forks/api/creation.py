"""Routes for forks of a repository."""

import msgspec
from litestar import Response, get, post

from ingot_chassis.errors import Conflict, NotFound
from ingot_chassis.jobs.jobs import Jobs
from ingot_chassis.jobs.loops import polls
from ingot_contracts.limits import Name
from ingot_contracts.repos.repositories import Repository
from ingot_repos.access.api.answers import page_of, present
from ingot_repos.access.api.blocks import require_unblocked
from ingot_repos.access.api.policies import in_repository, joined_organization, own_account, sender_of
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.access.rules import levels as access
from ingot_repos.access.rules.resolved import ResolvedRepository
from ingot_repos.catalog.rules import names
from ingot_repos.catalog.store import lists as repository_lists
from ingot_repos.catalog.store import repositories
from ingot_repos.catalog.store.repositories import RepositoryRow
from ingot_repos.catalog.store.states import RepositoryState
from ingot_repos.clients.identity import HttpIdentity
from ingot_repos.forks.rules import creation as forks
from ingot_repos.repositories.rules import deletions
from ingot_repos.repositories.rules.creation import record_owner


class CreateForkOption(msgspec.Struct, kw_only=True):
    """A request for a fork. Without `organization`, the caller owns the fork.

    `name` defaults to the name of the repository.
    """

    organization: Name | None = None
    name: Name | None = None


@post(
    "/api/v1/repos/{owner:str}/{repo:str}/forks",
    policy=in_repository("signed-in", "write:repository"),
    operation_id="createFork",
    tags=["repository"],
    status_code=202,
)
async def create_fork(request: RepositoryRequest, data: CreateForkOption) -> Repository:
    """Fork a repository.

    The response waits some seconds for the copy. A slower copy continues after the response. Answers 409 if
    the new owner already has a fork, or a repository with this name. The status is also 409 if the commits
    cannot be read.
    """
    await require_unblocked(request)
    access.require_unrestricted(request.principal)
    request.acquire_slot()
    repository = request.resource
    if repository.row.state != RepositoryState.READY:
        raise Conflict("the repository is not ready to be forked")
    target = await own_account(request)
    if data.organization:
        target = await joined_organization(request, data.organization)
    name = names.check_repository(data.name or repository.row.name)
    async with request.db.transaction() as tx:
        fork = await forks.request(
            tx,
            request.part(Jobs),
            repository.row,
            target,
            request.principal.id,
            name,
            most=request.max_repositories,
        )
        row = await repositories.get(tx, access.viewer(request.principal), fork.id)
    if row is None:
        raise NotFound
    await record_owner(request.db, request.part(HttpIdentity), request.part(Jobs), request.presenter, row)
    row = await _wait(request, row)
    if row.state == RepositoryState.FAILED:
        sender = await sender_of(request)
        async with request.db.transaction() as tx:
            await deletions.delete(tx, request.part(Jobs), request.presenter, row, sender)
        raise Conflict("the commits of the repository cannot be read; ask an administrator to repair it")
    return await present(request, ResolvedRepository(row, access.access_to(row, request.principal)))


async def _wait(request: RepositoryRequest, fork: RepositoryRow) -> RepositoryRow:
    """Return the fork when its commits are copied, or after ``fork_wait_seconds``.

    Raises NotFound if the fork was deleted.
    """
    viewer = access.viewer(request.principal)
    async for _ in polls(request.settings.fork_wait_seconds):
        async with request.db.read() as db:
            row = await repositories.get(db, viewer, fork.id)
        if row is None:
            raise NotFound("it was deleted during the copy")
        fork = row
        if fork.state != RepositoryState.FORKING:
            break
    return fork


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/forks",
    policy=in_repository("read", "read:repository", unit=None),
    operation_id="listForks",
    tags=["repository"],
)
async def list_forks(request: RepositoryRequest) -> Response[list[Repository]]:
    """List the direct forks of a repository that the caller may see."""
    repository = request.resource
    page = request.page()
    async with request.db.read() as db:
        rows = await repository_lists.list_forks(db, access.viewer(request.principal), repository.id, page)
    return await page_of(request, page, rows)


routes = [create_fork, list_forks]
