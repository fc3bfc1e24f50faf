"""Forks of a repository."""

from typing import Any

import msgspec
from litestar import Response, get, post

from ingot_chassis.errors import Conflict
from ingot_chassis.policy import resource
from ingot_contracts.repos import Repository
from ingot_repos.api.call import Call
from ingot_repos.api.listings import page_of
from ingot_repos.core import access, forks, names
from ingot_repos.store import repositories


class CreateFork(msgspec.Struct, kw_only=True):
    """Absent organization: the fork becomes the caller's."""

    organization: str | None = None
    name: str | None = None


@post(
    "/api/v1/repos/{owner:str}/{repo:str}/forks",
    policy=resource("signed-in", "write:repository"),
    operation_id="createFork",
    tags=["repository"],
    status_code=202,
)
async def create_fork(request: Call, data: CreateFork) -> Repository:
    """Fork a repository: the answer comes at once, the commits follow."""
    access.require_unconfined(request.who)
    request.take_place()
    found = request.found
    if found.row.state != "ready":
        raise Conflict("the repository is not ready to be forked")
    target: Any = await request.own_account()
    if data.organization:
        target = await request.joined_organization(data.organization)
    name = names.check_repository(data.name or found.row.name)
    async with request.db.transaction() as tx:
        row = await forks.request(
            tx,
            request.parts.jobs,
            found.row,
            target,
            request.who.id,
            name,
            most=request.most_repositories,
        )
        row = await repositories.get(tx, access.viewer(request.who), row.id)
    await request.own(row)
    request.parts.workers.wake.set()
    return (await request.views([row]))[0]


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/forks",
    policy=resource("read", "read:repository"),
    operation_id="listForks",
    tags=["repository"],
)
async def list_forks(request: Call) -> Response[list[Repository]]:
    """Direct forks that the caller may see."""
    found = request.found
    page = request.page()
    async with request.db.read() as db:
        rows = await repositories.list_forks(db, access.viewer(request.who), found.id, page)
    return await page_of(request, page, rows)


routes = [create_fork, list_forks]
