"""For the other shards only: what a repository consists of, and the bytes of it, for a move."""

import asyncio
import re
from collections.abc import AsyncGenerator, Iterator
from typing import Any

from litestar import Response, get, post
from litestar.response import Stream

from ingot_chassis.errors import BadRequest, Conflict, NotFound
from ingot_chassis.http.policy import services
from ingot_repos.api.request import RepositoryRequest
from ingot_repos.clients.shards import FileList
from ingot_repos.core import lfs_objects, release_assets
from ingot_repos.git.copies import Contents, is_object_file, read_contents, read_files
from ingot_repos.git.errors import RepositoryDamaged, RepositoryNotFound

SHARDS = services("repos")
BINARY = "application/octet-stream"
_KEY = re.compile(rf"({lfs_objects.OBJECTS}|{release_assets.OBJECTS}|moves)(/[a-z0-9-]+)+")


@get("/internal/moves/{repository_id:int}", policy=SHARDS, include_in_schema=False)
async def contents(request: RepositoryRequest, repository_id: int) -> Contents:
    """Refs, and the files of objects. Whose repository it is now does not matter: only shards ask."""
    try:
        return await asyncio.to_thread(read_contents, request.storage.path(repository_id))
    except RepositoryNotFound:
        raise NotFound from None
    except RepositoryDamaged as error:
        raise Conflict("its refs cannot be read") from error


@post("/internal/moves/{repository_id:int}/files", policy=SHARDS, include_in_schema=False, status_code=200)
async def files(request: RepositoryRequest, repository_id: int, data: FileList) -> Stream:
    """The bytes of files, one behind the other. It ends early when git has packed one of them meanwhile."""
    if not all(map(is_object_file, data.paths)):
        raise BadRequest("only files of objects can be had")
    return Stream(_in_thread(read_files(request.storage.path(repository_id), data.paths)), media_type=BINARY)


@get("/internal/moves/objects/{key:path}", policy=SHARDS, include_in_schema=False)
async def stored_object(request: RepositoryRequest, key: str) -> Response[Any]:
    """The bytes of an object of LFS, or of a file of a release."""
    key, objects = key.removeprefix("/"), request.components.objects
    size = await objects.size(key) if _KEY.fullmatch(key) else None
    if size is None:
        raise NotFound
    return Stream(objects.read(key, range(size)), media_type=BINARY)


async def _in_thread(chunks: Iterator[bytes]) -> AsyncGenerator[bytes, None]:
    while chunk := await asyncio.to_thread(next, chunks, b""):
        yield chunk


routes = [contents, files, stored_object]
