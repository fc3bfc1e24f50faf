"""LFS: which objects may be downloaded or must be uploaded (the batch API), and the transfers themselves (basic)."""

import re
from typing import Annotated, Any, Literal

import msgspec
from litestar import MediaType, Response, Router, get, post, put
from msgspec import UNSET, UnsetType

from ingot_chassis.errors import Conflict, Invalid, NotFound
from ingot_chassis.http.downloads import StoredFile, file_answer
from ingot_contracts.limits import Name
from ingot_repos.api.error_forms import LFS, for_lfs
from ingot_repos.api.lfs_policies import enter, in_lfs, renew_download
from ingot_repos.api.read_rights import while_readable
from ingot_repos.api.request import RepositoryRequest, ResolvedRepository
from ingot_repos.core import access
from ingot_repos.core.lfs_objects import object_key
from ingot_repos.core.lfs_tokens import TOKEN_HEADER
from ingot_repos.store.lfs_objects import LfsObjectRow

ROOT = "/{owner:str}/{repo:str}/info/lfs"
MOST_OBJECTS = 1000
"""Of one batch; the client asks for 100 at once."""
MOST_TRANSFERS = 20
"""Of the ways to transfer that a client names, of which there are a few."""
_OID = re.compile(r"[0-9a-f]{64}")
_SIZE = re.compile(r"[0-9]{1,18}")


class LfsObject(msgspec.Struct):
    """``oid`` is the SHA-256 of the bytes in hexadecimal digits."""

    oid: Name
    size: int


class Batch(msgspec.Struct):
    """What the client wants to do, and with which objects."""

    operation: Literal["download", "upload"]
    objects: list[LfsObject]
    transfers: Annotated[list[Name], msgspec.Meta(max_length=MOST_TRANSFERS)] = []
    hash_algo: Name = "sha256"


class Action(msgspec.Struct):
    """A request that the client has to make, with these headers; without them as it has made the batch."""

    href: str
    header: dict[str, str] | UnsetType = UNSET


class ObjectError(msgspec.Struct):
    """Why an object cannot be transferred; ``code`` as the status of HTTP."""

    code: int
    message: str


class ObjectAnswer(msgspec.Struct):
    """An object with what is to be done; an uploaded object without ``actions`` is there already."""

    oid: str
    size: int
    actions: dict[str, Action] | UnsetType = UNSET
    error: ObjectError | UnsetType = UNSET


class BatchAnswer(msgspec.Struct):
    transfer: str
    objects: list[ObjectAnswer]
    hash_algo: str


@post(ROOT + "/objects/batch", policy=in_lfs("read"), include_in_schema=False, status_code=200)
async def batch(request: RepositoryRequest, data: Batch) -> Response[BatchAnswer]:
    """Say for each object how it is downloaded or uploaded, or why it cannot be."""
    repository = request.resource if data.operation == "download" else await enter(request, "write")
    if data.hash_algo != "sha256":
        raise Conflict("objects are known by their SHA-256 only")
    if data.transfers and "basic" not in data.transfers:
        raise Invalid.field("transfers", "unknown", "does not name basic, the one transfer that there is")
    if len(data.objects) > MOST_OBJECTS:
        raise Invalid.field("objects", "too_many", f"names more than {MOST_OBJECTS} objects")
    answer = _downloads if data.operation == "download" else _uploads
    objects = await answer(request, repository, data.objects)
    return Response(BatchAnswer("basic", objects, "sha256"), media_type=LFS)


@get(ROOT + "/objects/{oid:str}", policy=in_lfs("read"), include_in_schema=False)
async def download(request: RepositoryRequest, oid: str) -> Response[Any]:
    """The bytes of an object, or a part of them."""
    repository = request.resource
    lfs, viewer = request.components.lfs, access.viewer(request.principal)
    rows = await lfs.find(viewer, repository.row, [oid])
    if oid not in rows:
        raise NotFound
    request.acquire_slot()
    row = rows[oid]
    answer = await file_answer(
        request.headers,
        request.components.objects,
        StoredFile(object_key(row.uuid), oid, row.size, oid),
        cached_by="private",
    )
    return while_readable(answer, repository.id, renew_download(request, repository.id))


@put(
    ROOT + "/objects/{oid:str}/{size:str}",
    policy=in_lfs("write"),
    include_in_schema=False,
    status_code=200,
    media_type=MediaType.TEXT,  # so there is no body
    request_max_body_size=None,
)
async def upload(request: RepositoryRequest, oid: str, size: str) -> None:
    """Store an object; the body is its bytes, whose hash must be ``oid``."""
    if not _OID.fullmatch(oid):
        raise Invalid.field("oid", "format", "is no SHA-256 in hexadecimal digits")
    if not _SIZE.fullmatch(size):
        raise Invalid.field("size", "format", "is no number of bytes")
    request.acquire_slot()
    repository, components = request.resource.row, request.components
    async with components.pushes.uploading(repository.id, request.principal.id):
        await components.lfs.upload(repository, oid, int(size), request.stream())


@post(
    ROOT + "/verify",
    policy=in_lfs("write"),
    include_in_schema=False,
    status_code=200,
    media_type=MediaType.TEXT,  # as above
)
async def verify(request: RepositoryRequest, data: LfsObject) -> None:
    """Whether the repository has an object of this size, after its upload."""
    row = (await request.components.lfs.of_repository(request.resource.row, [data.oid])).get(data.oid)
    if row is None:
        raise NotFound("the repository has no such object")
    if row.size != data.size:
        raise Invalid.field("size", "wrong", f"is not that of the object, which has {row.size} bytes")


async def _downloads(
    request: RepositoryRequest, repository: ResolvedRepository, objects: list[LfsObject]
) -> list[ObjectAnswer]:
    rows = await request.components.lfs.find(
        access.viewer(request.principal), repository.row, {one.oid for one in objects}
    )
    root, header = lfs_root(request, repository), _header(request)

    def answer(requested: LfsObject) -> ObjectAnswer:
        row = rows.get(requested.oid)
        if row is None:
            return _refusal(requested, 404, "the repository has no such object")
        return _wrong_size(requested, row) or ObjectAnswer(
            requested.oid,
            requested.size,
            actions={"download": Action(f"{root}/objects/{requested.oid}", header)},
        )

    return [answer(one) for one in objects]


async def _uploads(
    request: RepositoryRequest, repository: ResolvedRepository, objects: list[LfsObject]
) -> list[ObjectAnswer]:
    lfs = request.components.lfs
    sizes = {one.oid: one.size for one in objects if _OID.fullmatch(one.oid) and one.size >= 0}
    own = await lfs.share(access.viewer(request.principal), repository.row, sizes)
    room = await lfs.free_bytes(repository.row)
    root, header = lfs_root(request, repository), _header(request)

    def answer(offered: LfsObject) -> ObjectAnswer:
        nonlocal room
        if offered.oid not in sizes:
            return _refusal(offered, 422, "the oid is no SHA-256, or the size is negative")
        if offered.oid in own:
            return _wrong_size(offered, own[offered.oid]) or ObjectAnswer(offered.oid, offered.size)
        if offered.size > lfs.limits.max_object_bytes:
            return _refusal(offered, 422, f"an object may have at most {lfs.limits.max_object_bytes} bytes")
        if room is not None and offered.size > room:
            return _refusal(offered, 507, "the owner of the repository has no room for it")
        room = None if room is None else room - offered.size
        actions = {
            "upload": Action(f"{root}/objects/{offered.oid}/{offered.size}", header),
            "verify": Action(f"{root}/verify", header),
        }
        return ObjectAnswer(offered.oid, offered.size, actions=actions)

    return [answer(one) for one in objects]


def lfs_root(request: RepositoryRequest, repository: ResolvedRepository) -> str:
    """The address below which the repository has its LFS."""
    return f"{request.presenter.root}{repository.full_name}.git/info/lfs"


def _header(request: RepositoryRequest) -> dict[str, str] | UnsetType:
    """The token of a client of the SSH server, which git-lfs does not send to actions by itself."""
    token = request.headers.get(TOKEN_HEADER)
    return {TOKEN_HEADER.title(): token} if token else UNSET


def _wrong_size(requested: LfsObject, row: LfsObjectRow) -> ObjectAnswer | None:
    if requested.size == row.size:
        return None
    return _refusal(requested, 422, f"the object has {row.size} bytes")


def _refusal(requested: LfsObject, code: int, message: str) -> ObjectAnswer:
    return ObjectAnswer(requested.oid, requested.size, error=ObjectError(code, message))


ROUTES = Router("/", route_handlers=[batch, download, upload, verify], middleware=[for_lfs])
