"""Internal routes for other shards: the files and refs of a repository for a move or a replica."""

import asyncio
import re
from typing import Any

from litestar import Response, get, post
from litestar.response import Stream

from ingot_chassis.errors import BadRequest, Conflict, NotFound
from ingot_chassis.http.policy import services
from ingot_chassis.objects.store import ObjectStore
from ingot_git.process.errors import RepositoryDamaged, RepositoryNotFound
from ingot_git.process.streaming import in_threads
from ingot_git.storage.copies import Contents, is_object_file, read_contents, read_files
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.archives.rules import exports
from ingot_repos.lfs.rules import objects as lfs_objects
from ingot_repos.placement.clients import FileList
from ingot_repos.releases.rules import assets as release_assets

SHARDS = services("repos")
BINARY = "application/octet-stream"
_KEY = re.compile(rf"({lfs_objects.OBJECTS}|{release_assets.OBJECTS}|{exports.OBJECTS}|moves)(/[a-z0-9-]+)+")


@get("/internal/moves/{repository_id:int}", policy=SHARDS, include_in_schema=False)
async def contents(request: RepositoryRequest, repository_id: int) -> Contents:
    """Return refs and object files. Raises NotFound, and Conflict if the refs cannot be read.

    Shards copy repositories of other shards, so ownership is not checked.
    """
    try:
        return await asyncio.to_thread(read_contents, request.storage.path(repository_id))
    except RepositoryNotFound:
        raise NotFound from None
    except RepositoryDamaged as error:
        raise Conflict("its refs cannot be read") from error


@post("/internal/moves/{repository_id:int}/files", policy=SHARDS, include_in_schema=False, status_code=200)
async def files(request: RepositoryRequest, repository_id: int, data: FileList) -> Stream:
    """Return the bytes of files in sequence.

    The stream ends early if git has packed one of the files since.
    """
    if not all(map(is_object_file, data.paths)):
        raise BadRequest("only object files can be read")
    return Stream(in_threads(read_files(request.storage.path(repository_id), data.paths)), media_type=BINARY)


@get("/internal/moves/objects/{key:path}", policy=SHARDS, include_in_schema=False)
async def stored_object(request: RepositoryRequest, key: str) -> Response[Any]:
    """Return the bytes of an LFS object, a release asset or an archive."""
    key, objects = key.removeprefix("/"), request.part(ObjectStore)
    size = await objects.size(key) if _KEY.fullmatch(key) else None
    if size is None:
        raise NotFound
    return Stream(objects.read(key, range(size)), media_type=BINARY)


routes = [contents, files, stored_object]
