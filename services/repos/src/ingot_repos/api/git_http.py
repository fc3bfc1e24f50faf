"""Git over HTTP: the requests of a client, and who may send them."""

import contextlib
from collections.abc import AsyncGenerator
from functools import partial

from litestar import Response, Router, get, post

from ingot_chassis.errors import ApiError, Denied, NotFound, Unauthenticated
from ingot_chassis.http.policy import anyone
from ingot_repos.api.error_forms import for_git
from ingot_repos.api.exchanges import NEVER_CACHED, GitAnswer
from ingot_repos.api.git_exchanges import push
from ingot_repos.api.git_fetches import fetch, send_bundle
from ingot_repos.api.policies import (
    require_on_disk,
    require_readable,
    resolve,
    resolve_by_id,
)
from ingot_repos.api.push_rights import Pusher
from ingot_repos.api.read_rights import renew_principal, renew_reader, require_scope
from ingot_repos.api.request import RepositoryRequest, ResolvedRepository
from ingot_repos.api.shared_fetches import commit_of_bundle, offers_bundle, shared
from ingot_repos.core import access
from ingot_repos.core.protections import actor_of
from ingot_repos.core.ref_updates import require_changeable
from ingot_repos.git.bundle_uris import with_bundle_uri
from ingot_repos.git.errors import RepositoryNotFound
from ingot_repos.git.push_advertisement import advertise_for_push
from ingot_repos.git.smart_http import Service, advertise, speaks_v2

ASK_FOR_PASSWORD = {"WWW-Authenticate": 'Basic realm="Ingot"'}


@get("/{owner:str}/{repo:str}/info/refs", policy=anyone(), include_in_schema=False)
async def info_refs(request: RepositoryRequest) -> Response[bytes]:
    """The refs: the first request of every fetch and push."""
    service = _service(request.query_params.get("service", ""))
    if service is None:
        raise NotFound
    repository = await _resolve(request, service)
    try:
        answer = await _advertisement(request, repository, service)
    except RepositoryNotFound:
        raise NotFound from None
    headers = {name.decode(): value.decode() for name, value in NEVER_CACHED}
    return Response(answer, media_type=f"application/x-{service}-advertisement", headers=headers)


@post(
    "/{owner:str}/{repo:str}/git-upload-pack",
    policy=anyone(),
    include_in_schema=False,
    request_max_body_size=None,
)
async def upload_pack(request: RepositoryRequest) -> GitAnswer:
    """A fetch."""
    _require_type(request, "git-upload-pack")
    repository = await _resolve(request, "git-upload-pack")
    return GitAnswer(partial(fetch, repository, renew_reader(request, repository.id)), request)


@post(
    "/{owner:str}/{repo:str}/git-receive-pack",
    policy=anyone(),
    include_in_schema=False,
    request_max_body_size=None,
)
async def receive_pack(request: RepositoryRequest) -> GitAnswer:
    """A push."""
    _require_type(request, "git-receive-pack")
    repository = await _resolve(request, "git-receive-pack")
    pusher = _pusher(request, repository)
    return GitAnswer(partial(push, repository, pusher, partial(_renew, request, repository.id)), request)


@get("/{owner:str}/{repo:str}/clone.bundle", policy=anyone(), include_in_schema=False)
async def bundle(request: RepositoryRequest) -> GitAnswer:
    """Most of what a clone needs, as a file (`bundle-uri`), where a fetch says that there is one."""
    repository = await _resolve(request, "git-upload-pack")
    require_on_disk(request, repository)
    try:
        commit = await commit_of_bundle(repository, request)
    except RepositoryNotFound:
        raise NotFound from None
    if commit is None:
        raise NotFound
    renew = renew_reader(request, repository.id)
    return GitAnswer(partial(send_bundle, repository, commit, renew), request)


def _pusher(request: RepositoryRequest, repository: ResolvedRepository) -> Pusher:
    actor = actor_of(request.principal, repository.row, repository.level)
    return Pusher(request.principal.id, actor, restricted=request.principal.restricted_to is not None)


async def _renew(request: RepositoryRequest, repository_id: int) -> tuple[ResolvedRepository, Pusher]:
    """The repository and who pushes, by what the credential of the request is now. Raises as ``_resolve``."""
    if not request.principal.credential:  # nobody can say whether it still holds
        raise Denied("a push under sudo or by a session may not take this long")
    await renew_principal(request, "write:repository")
    try:
        repository = await resolve_by_id(request, repository_id, "write")
    except Denied:
        repository = await resolve_by_id(request, repository_id, "signed-in")
    require_changeable(repository.row)
    return repository, _pusher(request, repository)


async def _advertisement(
    request: RepositoryRequest, repository: ResolvedRepository, service: Service
) -> bytes:
    """In versions 0 and 1 of the protocol it has all refs, so those of a fetch are remembered."""
    path, protocol = request.storage.path(repository.id), request.headers.get("git-protocol")
    if service == "git-receive-pack":
        return await advertise_for_push(
            request.storage, repository.id, protocol, max_memory=request.max_git_memory
        )
    if speaks_v2(protocol):
        answer = await advertise(path, service, protocol, max_memory=request.max_git_memory)
        return with_bundle_uri(answer) if offers_bundle(repository, request) else answer

    async def start() -> AsyncGenerator[bytes, None]:
        yield await advertise(path, service, protocol, max_memory=request.max_git_memory)

    parts = await shared(repository, request, b"advertisement", b"", start)
    async with contextlib.aclosing(parts):
        return b"".join([bytes(part) async for part in parts])


async def _resolve(request: RepositoryRequest, service: Service) -> ResolvedRepository:
    """The repository of the path, for fetching or pushing.

    Anonymous callers always get 401 instead of a refusal, so that they do not learn which repositories exist.
    """
    writing = service == "git-receive-pack"
    params = request.path_params
    name = str(params["repo"]).removesuffix(".git")
    require_scope(request, f"{'write' if writing else 'read'}:repository")
    try:
        if writing:
            repository = await _resolve_for_push(request, str(params["owner"]), name)
            access.require_unarchived(repository.row)
        else:
            repository = await resolve(request, str(params["owner"]), name)
    except (NotFound, Denied, Unauthenticated):
        if request.principal.signed_in:
            raise
        raise Unauthenticated("sign in to do that", headers=ASK_FOR_PASSWORD) from None
    if not repository.is_named(str(params["owner"]), name):
        raise request.moved(owner=repository.row.owner_login, repo=f"{repository.row.name}.git")
    if writing and repository.row.mirror:
        raise Denied("a mirror cannot be pushed to")
    if writing:
        require_on_disk(request, repository)
    else:
        await require_readable(request, repository)
    request.acquire_slot()
    return repository


async def _resolve_for_push(request: RepositoryRequest, owner: str, name: str) -> ResolvedRepository:
    """For those who may write, and for those who may propose commits: with ``push`` it depends on the refs."""
    try:
        return await resolve(request, owner, name, "write")
    except Denied:
        return await resolve(request, owner, name, "signed-in")


def _service(name: str) -> Service | None:
    match name:
        case "git-upload-pack" | "git-receive-pack":
            return name
        case _:
            return None


def _require_type(request: RepositoryRequest, service: Service) -> None:
    if request.headers.get("content-type") != f"application/x-{service}-request":
        raise UnsupportedRequest


class UnsupportedRequest(ApiError):
    """The Content-Type must be the one that git sends."""

    status = 415


routes = [Router("/", route_handlers=[info_refs, upload_pack, receive_pack, bundle], middleware=[for_git])]
