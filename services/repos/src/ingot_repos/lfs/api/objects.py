"""LFS objects: the batch API for downloads and uploads, and the basic transfer."""

import re
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from litestar import MediaType, Response, Router, get, post, put
from msgspec import UNSET, UnsetType

from ingot_chassis.errors import Conflict, Invalid, NotFound
from ingot_chassis.http.downloads import StoredFile, file_answer
from ingot_chassis.objects.store import ObjectStore
from ingot_chassis.security.sealing import Seal
from ingot_contracts.limits import Name
from ingot_repos.access.api.error_forms import LFS, for_lfs
from ingot_repos.access.api.read_rights import while_readable
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.access.rules import levels as access
from ingot_repos.access.rules.resolved import ResolvedRepository
from ingot_repos.lfs.api.policies import enter, in_lfs, renew_download
from ingot_repos.lfs.rules.objects import LfsObjects, object_key
from ingot_repos.lfs.rules.tokens import TOKEN_HEADER, headers_of, issue, read
from ingot_repos.lfs.store.objects import LfsObjectRow
from ingot_repos.pushes.rules.journal import Pushes

ROOT = "/{owner:str}/{repo:str}/info/lfs"
MOST_OBJECTS = 1000
"""Limit of objects per batch. The client sends 100 at once."""
MOST_TRANSFERS = 20
"""Limit of transfer types that a client may name. Only a few exist."""
_OID = re.compile(r"[0-9a-f]{64}")
_SIZE = re.compile(r"[0-9]{1,18}")


class LfsObject(msgspec.Struct):
    """An object. ``oid`` is the SHA-256 of its bytes in hexadecimal digits."""

    oid: Name
    size: int


class Batch(msgspec.Struct):
    """A request for transfers: the operation of the client and its objects."""

    operation: Literal["download", "upload"]
    objects: list[LfsObject]
    transfers: Annotated[list[Name], msgspec.Meta(max_length=MOST_TRANSFERS)] = []
    hash_algo: Name = "sha256"


class Action(msgspec.Struct):
    """A request that the client has to make. Its ``header`` is valid until ``expires_at``.

    Both are omitted if the caller has no credential.
    """

    href: str
    header: dict[str, str] | UnsetType = UNSET
    expires_at: datetime | UnsetType = UNSET


class ObjectError(msgspec.Struct):
    """An error of one object. ``code`` is an HTTP status code."""

    code: int
    message: str


class ObjectAnswer(msgspec.Struct):
    """An object with its actions. An upload without ``actions`` is already stored.

    ``authenticated``: the actions contain the credential, so the client does not ask its user for one.
    """

    oid: str
    size: int
    authenticated: bool | UnsetType = UNSET
    actions: dict[str, Action] | UnsetType = UNSET
    error: ObjectError | UnsetType = UNSET


class BatchAnswer(msgspec.Struct):
    transfer: str
    objects: list[ObjectAnswer]
    hash_algo: str


@post(ROOT + "/objects/batch", policy=in_lfs("read"), include_in_schema=False, status_code=200)
async def batch(request: RepositoryRequest, data: Batch) -> Response[BatchAnswer]:
    """Return for each object the request that downloads or uploads it, or an error."""
    repository = request.resource if data.operation == "download" else await enter(request, "write")
    if data.hash_algo != "sha256":
        raise Conflict("only sha256 is supported")
    if data.transfers and "basic" not in data.transfers:
        raise Invalid.field("transfers", "unknown", "must include basic, the only supported transfer")
    if len(data.objects) > MOST_OBJECTS:
        raise Invalid.field("objects", "too_many", f"names more than {MOST_OBJECTS} objects")
    answer = _downloads if data.operation == "download" else _uploads
    objects = await answer(request, repository, data.objects)
    return Response(BatchAnswer("basic", objects, "sha256"), media_type=LFS)


@get(ROOT + "/objects/{oid:str}", policy=in_lfs("read"), include_in_schema=False)
async def download(request: RepositoryRequest, oid: str) -> Response[Any]:
    """Return the bytes of an object, or a range of them."""
    repository = request.resource
    lfs, viewer = request.part(LfsObjects), access.viewer(request.principal)
    rows = await lfs.find(viewer, repository.row, [oid])
    if oid not in rows:
        raise NotFound
    request.acquire_slot()
    row = rows[oid]
    answer = await file_answer(
        request.headers,
        request.part(ObjectStore),
        StoredFile(object_key(row.uuid), oid, row.size, oid),
        cached_by="private",
    )
    return while_readable(answer, repository.id, renew_download(request, repository.id))


@put(
    ROOT + "/objects/{oid:str}/{size:str}",
    policy=in_lfs("write"),
    include_in_schema=False,
    status_code=200,
    media_type=MediaType.TEXT,  # the response has no body
    request_max_body_size=None,
)
async def upload(request: RepositoryRequest, oid: str, size: str) -> None:
    """Store an object. The body is its bytes, whose SHA-256 must be ``oid``."""
    if not _OID.fullmatch(oid):
        raise Invalid.field("oid", "format", "is not a SHA-256 in hexadecimal digits")
    if not _SIZE.fullmatch(size):
        raise Invalid.field("size", "format", "is not a number of bytes")
    request.acquire_slot()
    repository = request.resource.row
    async with request.part(Pushes).uploading(repository.id, request.principal.id):
        await request.part(LfsObjects).upload(repository, oid, int(size), request.stream())


@post(
    ROOT + "/verify",
    policy=in_lfs("write"),
    include_in_schema=False,
    status_code=200,
    media_type=MediaType.TEXT,  # the response has no body
)
async def verify(request: RepositoryRequest, data: LfsObject) -> None:
    """Check after an upload that the repository has an object of this size."""
    row = (await request.part(LfsObjects).of_repository(request.resource.row, [data.oid])).get(data.oid)
    if row is None:
        raise NotFound("the repository has no such object")
    if row.size != data.size:
        raise Invalid.field("size", "wrong", f"is wrong: the object has {row.size} bytes")


async def _downloads(
    request: RepositoryRequest, repository: ResolvedRepository, objects: list[LfsObject]
) -> list[ObjectAnswer]:
    rows = await request.part(LfsObjects).find(
        access.viewer(request.principal), repository.row, {one.oid for one in objects}
    )
    action = _actions(request, repository, "read")

    def answer(requested: LfsObject) -> ObjectAnswer:
        row = rows.get(requested.oid)
        if row is None:
            return _refusal(requested, 404, "the repository has no such object")
        return _wrong_size(requested, row) or _with_actions(
            requested, {"download": action(f"objects/{requested.oid}")}
        )

    return [answer(one) for one in objects]


async def _uploads(
    request: RepositoryRequest, repository: ResolvedRepository, objects: list[LfsObject]
) -> list[ObjectAnswer]:
    lfs = request.part(LfsObjects)
    sizes = {one.oid: one.size for one in objects if _OID.fullmatch(one.oid) and one.size >= 0}
    own = await lfs.share(access.viewer(request.principal), repository.row, sizes)
    room = await lfs.free_bytes(repository.row)
    action = _actions(request, repository, "write")

    def answer(offered: LfsObject) -> ObjectAnswer:
        nonlocal room
        if offered.oid not in sizes:
            return _refusal(offered, 422, "the oid is not a SHA-256, or the size is negative")
        if offered.oid in own:
            return _wrong_size(offered, own[offered.oid]) or ObjectAnswer(offered.oid, offered.size)
        if offered.size > lfs.limits.max_object_bytes:
            return _refusal(offered, 422, f"an object may have at most {lfs.limits.max_object_bytes} bytes")
        if room is not None and offered.size > room:
            return _refusal(offered, 507, "the LFS quota of the repository's owner is used up")
        room = None if room is None else room - offered.size
        actions = {
            "upload": action(f"objects/{offered.oid}/{offered.size}"),
            "verify": action("verify"),
        }
        return _with_actions(offered, actions)

    return [answer(one) for one in objects]


def lfs_root(request: RepositoryRequest, repository: ResolvedRepository) -> str:
    """Return the URL of the LFS endpoint of the repository."""
    return f"{request.presenter.root}{repository.full_name}.git/info/lfs"


def _actions(
    request: RepositoryRequest, repository: ResolvedRepository, level: Literal["read", "write"]
) -> Callable[[str], Action]:
    """Return a function that creates an action for a path below the LFS endpoint.

    The action's headers have the token of the request, or a new token for the credential of the request.
    Without these headers git-lfs would first send each object without a credential.
    """
    root, principal, seal = lfs_root(request, repository), request.principal, request.part(Seal)
    text = request.headers.get(TOKEN_HEADER, "")
    if text:
        token = read(seal, text)
    elif principal.credential:
        text, token = issue(
            seal, repository.id, level, account_id=principal.id, credential=principal.credential
        )
    else:
        return lambda path: Action(f"{root}/{path}")
    header = headers_of(text)
    return lambda path: Action(f"{root}/{path}", header, token.expires_at)


def _with_actions(requested: LfsObject, actions: dict[str, Action]) -> ObjectAnswer:
    is_authenticated = any(action.header is not UNSET for action in actions.values())
    return ObjectAnswer(requested.oid, requested.size, True if is_authenticated else UNSET, actions)


def _wrong_size(requested: LfsObject, row: LfsObjectRow) -> ObjectAnswer | None:
    if requested.size == row.size:
        return None
    return _refusal(requested, 422, f"the object has {row.size} bytes")


def _refusal(requested: LfsObject, code: int, message: str) -> ObjectAnswer:
    return ObjectAnswer(requested.oid, requested.size, error=ObjectError(code, message))


ROUTES = Router("/", route_handlers=[batch, download, upload, verify], middleware=[for_lfs])
