"""Forks of a repository."""

import msgspec
from litestar import Response, get, post

from ingot_chassis.errors import Conflict, NotFound
from ingot_contracts.limits import Name
from ingot_repos.api.blocks import require_unblocked
from ingot_repos.api.listings import page_of
from ingot_repos.api.policies import in_repository, joined_organization, own_account, sender_of
from ingot_repos.api.repositories import present
from ingot_repos.api.request import RepositoryRequest, ResolvedRepository
from ingot_repos.core import access, forks, names
from ingot_repos.core import repositories as core
from ingot_repos.core.presenter import RepositoryAnswer
from ingot_repos.core.waits import looks
from ingot_repos.store import repositories, repository_lists
from ingot_repos.store.repositories import RepositoryRow
from ingot_repos.store.states import RepositoryState


class CreateFork(msgspec.Struct, kw_only=True):
    """Without `organization` the caller owns the fork."""

    organization: Name | None = None
    name: Name | None = None


@post(
    "/api/v1/repos/{owner:str}/{repo:str}/forks",
    policy=in_repository("signed-in", "write:repository"),
    operation_id="createFork",
    tags=["repository"],
    status_code=202,
)
async def create_fork(request: RepositoryRequest, data: CreateFork) -> RepositoryAnswer:
    """Fork a repository. The answer waits a while for the commits; then they are still being copied."""
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
            request.components.jobs,
            repository.row,
            target,
            request.principal.id,
            name,
            most=request.max_repositories,
        )
        row = await repositories.get(tx, access.viewer(request.principal), fork.id)
    if row is None:
        raise NotFound
    components = request.components
    await core.record_owner(request.db, components.identity, components.jobs, request.presenter, row)
    request.components.workers.wake.set()
    row = await _wait(request, row)
    if row.state == RepositoryState.FAILED:
        sender = await sender_of(request)
        async with request.db.transaction() as tx:
            await core.delete(tx, components.jobs, request.presenter, row, sender)
        request.components.workers.wake.set()
        raise Conflict("the commits of the repository cannot be read; an administrator has to look after it")
    return await present(request, ResolvedRepository(row, access.level(row, request.principal)))


async def _wait(request: RepositoryRequest, fork: RepositoryRow) -> RepositoryRow:
    """The fork as it is when its commits are there, or after ``fork_wait_seconds``. Raises NotFound if it was deleted."""
    viewer = access.viewer(request.principal)
    async for _ in looks(request.settings.fork_wait_seconds):
        async with request.db.read() as db:
            row = await repositories.get(db, viewer, fork.id)
        if row is None:
            raise NotFound("it was deleted meanwhile")
        fork = row
        if fork.state != RepositoryState.FORKING:
            break
    return fork


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/forks",
    policy=in_repository("read", "read:repository"),
    operation_id="listForks",
    tags=["repository"],
)
async def list_forks(request: RepositoryRequest) -> Response[list[RepositoryAnswer]]:
    """Direct forks that the caller may see."""
    repository = request.resource
    page = request.page()
    async with request.db.read() as db:
        rows = await repository_lists.list_forks(db, access.viewer(request.principal), repository.id, page)
    return await page_of(request, page, rows)


routes = [create_fork, list_forks]
