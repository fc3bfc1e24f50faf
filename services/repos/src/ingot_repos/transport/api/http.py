"""Git over HTTP: the routes of fetches and pushes, and the access that they need."""

from functools import partial

from litestar import Response, Router, get, post

from ingot_chassis.errors import ApiError, Denied, NotFound, Unauthenticated
from ingot_chassis.http.policy import anyone
from ingot_contracts.identity.units import Unit
from ingot_git.process.errors import RepositoryNotFound
from ingot_git.protocol.push_advertisement import advertise_for_push
from ingot_git.protocol.smart_http import Service
from ingot_repos.access.api.error_forms import for_git, sign_in_first
from ingot_repos.access.api.maintainers import maintained_branches
from ingot_repos.access.api.policies import (
    require_on_disk,
    require_readable,
    resolve,
    resolve_by_id,
)
from ingot_repos.access.api.read_rights import renew_principal, renew_reader, require_scope
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.access.api.wikis import WIKI, decided_by, git_name, split_name, with_files
from ingot_repos.access.rules import levels as access
from ingot_repos.access.rules.read_rights import RenewReader
from ingot_repos.access.rules.resolved import ResolvedRepository
from ingot_repos.protection.rules.decisions import actor_of
from ingot_repos.pushes.rules.pushers import Pusher
from ingot_repos.pushes.rules.ref_updates import require_changeable
from ingot_repos.transport.api.exchanges import NEVER_CACHED, GitAnswer
from ingot_repos.transport.api.sessions import fetch, fetched, push, send_bundle

ONLY_SMART_HTTP = (
    "only the smart HTTP protocol of git is served, not single files (dumb HTTP): "
    "?service=git-upload-pack or ?service=git-receive-pack"
)


@get("/{owner:str}/{repo:str}/info/refs", policy=anyone(), include_in_schema=False)
async def info_refs(request: RepositoryRequest) -> Response[bytes]:
    """Return the refs. This is the first request of every fetch and push."""
    service = _service(request.query_params.get("service", ""))
    if service is None:
        raise Denied(ONLY_SMART_HTTP)
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
    """Serve a fetch."""
    _require_type(request, "git-upload-pack")
    repository = await _resolve(request, "git-upload-pack")
    return fetch(request, repository, _renew_reader(request, repository))


@post(
    "/{owner:str}/{repo:str}/git-receive-pack",
    policy=anyone(),
    include_in_schema=False,
    request_max_body_size=None,
)
async def receive_pack(request: RepositoryRequest) -> GitAnswer:
    """Serve a push."""
    _require_type(request, "git-receive-pack")
    repository = await _resolve(request, "git-receive-pack")
    pusher = await _pusher(request, repository)
    return push(request, repository, pusher, partial(_renew, request, repository))


@get("/{owner:str}/{repo:str}/clone.bundle", policy=anyone(), include_in_schema=False)
async def bundle(request: RepositoryRequest) -> GitAnswer:
    """Return the bundle that a fetch has announced (`bundle-uri`): a file with most of a clone."""
    repository = await _resolve(request, "git-upload-pack")
    require_on_disk(request, repository)
    fetched_repository = fetched(request, repository)
    try:
        commit = await fetched_repository.commit_of_bundle()
    except RepositoryNotFound:
        raise NotFound from None
    if commit is None:
        raise NotFound
    return send_bundle(request, fetched_repository, commit, _renew_reader(request, repository))


async def _pusher(request: RepositoryRequest, repository: ResolvedRepository) -> Pusher:
    actor = actor_of(request.principal, repository.row, repository.level)
    return Pusher(
        request.principal.id,
        actor,
        restricted=request.principal.restricted_to is not None,
        reads_pulls=repository.access.of("pulls") != "none",
        maintained=await maintained_branches(request, repository),
    )


def _renew_reader(request: RepositoryRequest, repository: ResolvedRepository) -> RenewReader:
    id_, unit = decided_by(repository)
    return renew_reader(request, id_, "read", unit)


async def _renew(request: RepositoryRequest, before: ResolvedRepository) -> tuple[ResolvedRepository, Pusher]:
    """Resolve the repository and the pusher again with the current rights of the credential.

    Raises Denied, also if the request has no credential, and the errors of ``resolve_by_id``.
    """
    if not request.principal.credential:  # nothing to look up: it cannot be checked again
        raise Denied("a push under sudo or by a session may not take this long")
    await renew_principal(request, "write:repository")
    id_, unit = decided_by(before)
    try:
        repository = await resolve_by_id(request, id_, "write", unit)
    except Denied:
        if unit == WIKI:
            raise
        repository = await resolve_by_id(request, id_, "signed-in")
    repository = await with_files(request, repository, unit)
    require_changeable(repository.row)
    return repository, await _pusher(request, repository)


async def _advertisement(
    request: RepositoryRequest, repository: ResolvedRepository, service: Service
) -> bytes:
    if service == "git-upload-pack":
        return await fetched(request, repository).advertisement()
    protocol, memory = request.headers.get("git-protocol"), request.settings.max_git_memory
    return await advertise_for_push(request.storage, repository.id, protocol, max_memory=memory)


async def _resolve(request: RepositoryRequest, service: Service) -> ResolvedRepository:
    """Return the repository of the path, or its wiki, for a fetch or push.

    If access is denied, anonymous callers always get 401, so they cannot learn which repositories exist.
    """
    writing = service == "git-receive-pack"
    params = request.path_params
    name, unit = split_name(str(params["repo"]))
    require_scope(request, f"{'write' if writing else 'read'}:repository")
    try:
        if writing:
            repository = await _resolve_for_push(request, str(params["owner"]), name, unit)
            access.require_unarchived(repository.row)
        else:
            repository = await resolve(request, str(params["owner"]), name, unit=unit)
    except (NotFound, Denied, Unauthenticated):
        if request.principal.signed_in:
            raise
        raise sign_in_first(request.settings) from None
    if not repository.is_named(str(params["owner"]), name):
        raise request.moved(owner=repository.row.owner_login, repo=git_name(repository, unit))
    repository = await with_files(request, repository, unit, creates=writing)
    if writing and repository.row.mirror:
        raise Denied("a mirror cannot be pushed to")
    if writing:
        require_on_disk(request, repository)
    else:
        await require_readable(request, repository)
    request.acquire_slot()
    return repository


async def _resolve_for_push(
    request: RepositoryRequest, owner: str, name: str, unit: Unit
) -> ResolvedRepository:
    """Return the repository for callers who may write or propose commits. Raises Denied, NotFound.

    ``push`` checks the required right of each ref.
    """
    try:
        return await resolve(request, owner, name, "write", unit)
    except Denied:
        if unit == WIKI:
            raise
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
