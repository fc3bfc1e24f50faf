"""Routes for site administrators: repository folders that no row of the database names."""

import asyncio
from typing import Annotated

from litestar import Response, delete, get, post
from litestar.params import QueryParameter

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import NotFound
from ingot_chassis.http.policy import admin
from ingot_contracts.limits import NAME_CHARACTERS
from ingot_repos.access.api.policies import own_account
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.access.rules import levels as access
from ingot_repos.access.rules.account_copies import AccountCopies
from ingot_repos.catalog.rules import names
from ingot_repos.placement.api.forwarding import FORWARDED_BY
from ingot_repos.placement.clients import Shards
from ingot_repos.placement.rules.owners import OnAnotherShard
from ingot_repos.placement.store import shards
from ingot_repos.repositories.api.creation import creator_for
from ingot_repos.repositories.rules.creation import InitialFields, NewRepository
from ingot_repos.upkeep.rules import unadopted

Pattern = Annotated[str, QueryParameter(max_length=NAME_CHARACTERS)]


@get(
    "/api/v1/admin/unadopted",
    policy=admin("read:admin"),
    operation_id="adminUnadoptedList",
    tags=["admin"],
)
async def list_folders(request: RepositoryRequest, pattern: Pattern = "") -> Response[list[str]]:
    """List folders of repositories that have no row, on all shards.

    Operators copy such folders to `unadopted/<owner>/<name>.git` in the storage. `-/<id>` is a folder whose
    repository no longer exists. `pattern` is a glob for owners, or for `owner/name`.
    """
    access.require_unrestricted(request.principal)
    page = request.page()
    listed = await unadopted.list_unadopted(request.db, request.storage)
    for shard in await _other_shards(request):
        listed += await request.part(Shards).unadopted(shard)
    matching = sorted({name for name in listed if unadopted.matches(name, pattern)})
    return Response(
        matching[page.offset : page.offset + page.limit], headers=request.page_headers(page, len(matching))
    )


@post(
    "/api/v1/admin/unadopted/{owner:str}/{repo:str}",
    policy=admin(),
    operation_id="adminAdoptRepository",
    tags=["admin"],
    status_code=204,
)
async def adopt(request: RepositoryRequest, owner: str, repo: str) -> None:
    """Create a private repository from the branches and tags of a folder without a row.

    Its objects are checked like pushed objects. A rejected folder is not changed. A folder `-/<id>` becomes a
    repository of the caller, named by its id. The adopted folder goes to the trash, which is emptied after
    two days.
    """
    access.require_unrestricted(request.principal)
    request.acquire_slot()
    async with unadopted.alone(request.db, request.settings.shard):
        folder = await _find(request, owner, repo)
        creator = await own_account(request)
        is_orphan = folder.owner == unadopted.NO_OWNER
        account = creator if is_orphan else await request.part(AccountCopies).get_by_login(owner)
        name = names.check_repository(repo)

        async def note(tx: Tx) -> None:
            subject = f"repository {account.login}/{name}"
            await request.audit(tx, "repository.adopt", subject, folder=folder.full_name)

        async with unadopted.staged_copy(request.storage, folder) as staged:
            main = unadopted.main_branch(staged, request.settings.default_branch)
            fields = InitialFields(private=True)
            new = NewRepository(name=name, fields=fields, default_branch=main, staged=staged.path)
            await creator_for(request).create(account, creator, new, most=0, note=note)
        await asyncio.to_thread(request.storage.discard_folder, folder.path)


@delete(
    "/api/v1/admin/unadopted/{owner:str}/{repo:str}",
    policy=admin(),
    operation_id="adminDeleteUnadoptedRepository",
    tags=["admin"],
)
async def remove(request: RepositoryRequest, owner: str, repo: str) -> None:
    """Delete a folder without a row. It goes to the trash, which is emptied after two days."""
    access.require_unrestricted(request.principal)
    async with unadopted.alone(request.db, request.settings.shard):
        folder = await _find(request, owner, repo)
        async with request.db.transaction() as tx:
            await request.audit(tx, "repository.delete_unadopted", f"folder {folder.full_name}")
        await asyncio.to_thread(request.storage.discard_folder, folder.path)


async def _find(request: RepositoryRequest, owner: str, name: str) -> unadopted.UnadoptedFolder:
    """Return the named folder on this shard. Raises NotFound, Conflict, OnAnotherShard, Unavailable."""
    try:
        return await unadopted.find(request.db, request.storage, owner, name)
    except NotFound:
        if FORWARDED_BY in request.headers:
            raise
    for shard in await _other_shards(request):
        if f"{owner}/{name}" in await request.part(Shards).unadopted(shard):
            raise OnAnotherShard(shard)
    raise NotFound


async def _other_shards(request: RepositoryRequest) -> list[str]:
    async with request.db.read() as db:
        added = await shards.list_added(db)
    return sorted({*added, *request.part(Shards).names} - {request.settings.shard})


routes = [list_folders, adopt, remove]
