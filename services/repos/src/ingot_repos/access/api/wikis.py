"""The wiki of a repository: access to it, and its files.

A wiki is a git repository that belongs to another repository (ADR 34). Access to the wiki is decided by the
unit ``wiki`` of that repository.
"""

import asyncio
from typing import cast

from ingot_chassis.errors import NotFound, Unavailable
from ingot_chassis.http.policy import Connection, Policy, resource
from ingot_chassis.jobs.loops import polls
from ingot_contracts.identity.units import Unit
from ingot_contracts.repos.access import AccessLevel
from ingot_repos.access.api.policies import (
    require_on_disk,
    require_present_name,
    require_readable,
    resolve,
)
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.access.rules import levels as access
from ingot_repos.access.rules.resolved import ResolvedRepository
from ingot_repos.catalog.store import wikis
from ingot_repos.catalog.store.states import RepositoryState
from ingot_repos.catalog.store.wikis import WikiRow
from ingot_repos.placement.api.replicas import READS
from ingot_repos.placement.rules.owners import OnAnotherShard
from ingot_repos.placement.store import replicas, shards

CODE: Unit = "code"
WIKI: Unit = "wiki"
"""The unit of a repository for which access to its wiki is decided."""
CREATION_SECONDS = 5.0
"""Wait for another request that creates the same wiki."""
_SUFFIX = f".{WIKI}"


def split_name(name: str) -> tuple[str, Unit]:
    """Return the repository name and the unit that a git repository's name in a URL refers to.

    ``app.wiki`` is the unit ``wiki`` of ``app``. Other names refer to the code.
    """
    name = name.removesuffix(".git")
    is_wiki = name.lower().endswith(_SUFFIX) and len(name) > len(_SUFFIX)
    return (name[: -len(_SUFFIX)], WIKI) if is_wiki else (name, CODE)


def git_name(repository: ResolvedRepository, unit: Unit) -> str:
    """Return the current name of a git repository in its URL. ``split_name`` parses it."""
    return f"{repository.row.name}{_SUFFIX if unit == WIKI else ''}.git"


def decided_by(repository: ResolvedRepository) -> tuple[int, Unit]:
    """Return the repository id and the unit that decide access. For a wiki, they name its repository."""
    row = repository.row
    return (row.id, CODE) if row.wiki_of is None else (row.wiki_of, WIKI)


def in_wiki(level: access.RequiredLevel, scope: str, *, creates: bool = False) -> Policy:
    """Policy for routes below ``{owner}/{repo}/wiki``. ``request.resource`` is the wiki.

    Answers 404 while the wiki is switched off, and before its first page unless the route ``creates`` it. In
    an archived repository, only ``read`` is allowed.
    """

    async def decide(connection: Connection, _level: str) -> ResolvedRepository:
        request, names = cast("RepositoryRequest", connection), connection.path_params
        repository = await resolve(request, names["owner"], names["repo"], level, WIKI)
        require_present_name(request, repository)
        if level != "read":
            access.require_unarchived(repository.row)
        wiki = await with_files(request, repository, WIKI, creates=creates)
        if request.method in READS:
            await require_readable(request, wiki)
        else:
            require_on_disk(request, wiki)
        return wiki

    return resource(level, scope, decide)


async def with_files(
    request: RepositoryRequest, repository: ResolvedRepository, unit: Unit, *, creates: bool = False
) -> ResolvedRepository:
    """Return the wiki of the repository for the unit ``wiki``, otherwise the repository.

    With ``creates``, a missing wiki is created. Raises NotFound if the wiki is missing, Unavailable if its
    creation takes too long, and OnAnotherShard.
    """
    if unit != WIKI:
        return repository
    async with request.db.read() as db:
        wiki = await wikis.get(db, repository.id)
    if wiki is None or wiki.state != RepositoryState.READY:
        if not creates:
            raise NotFound("the wiki has no pages yet")
        wiki = await _create(request, repository)
    return ResolvedRepository(
        wikis.as_repository(repository.row, wiki), AccessLevel(level=repository.access.of(WIKI))
    )


async def _create(request: RepositoryRequest, repository: ResolvedRepository) -> WikiRow:
    """Return the wiki after this request or a parallel one has created it on the shard of its repository.

    Raises NotFound, Unavailable, OnAnotherShard.
    """
    require_on_disk(request, repository)
    branch, shard = request.settings.default_branch, request.settings.shard
    async with request.db.transaction() as tx:
        place = await shards.lock_for_share(tx, repository.id)
        if place is None:
            raise NotFound
        if place.shard != shard:
            raise OnAnotherShard(place.shard)
        wiki_id = await wikis.add(tx, repository.id, shard=shard, default_branch=branch)
        if wiki_id is not None:
            await replicas.add_for_wiki(tx, wiki_id, repository.id)
    if wiki_id is not None:
        await _create_files(request, repository.id, wiki_id, branch)
    async for _ in polls(CREATION_SECONDS):
        async with request.db.read() as db:
            wiki = await wikis.get(db, repository.id)
        if wiki is not None and wiki.state == RepositoryState.READY:
            return wiki
    raise Unavailable("the wiki is being created")


async def _create_files(request: RepositoryRequest, repository_id: int, wiki_id: int, branch: str) -> None:
    """Create the files of a wiki, and mark its row as ready. On failure delete the files and the row.

    If the process dies, the sweeper deletes them.
    """
    try:
        await asyncio.to_thread(request.storage.create, wiki_id, branch)
        async with request.db.transaction() as tx:
            await wikis.mark_ready(tx, wiki_id)
    except BaseException:
        await asyncio.shield(_undo(request, repository_id, wiki_id))
        raise


async def _undo(request: RepositoryRequest, repository_id: int, wiki_id: int) -> None:
    await asyncio.to_thread(request.storage.delete, wiki_id)
    async with request.db.transaction() as tx:
        await wikis.remove(tx, repository_id)
