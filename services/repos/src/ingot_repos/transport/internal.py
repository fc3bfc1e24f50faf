"""Internal routes for the SSH server: its host keys, the holders of keys, and sessions of git."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial
from typing import cast

from litestar import get, post

from ingot_chassis.errors import NotFound, TooManyRequests, Unavailable
from ingot_chassis.http.policy import services
from ingot_chassis.security.sealing import Seal
from ingot_git.process.errors import GitTooExpensive
from ingot_git.protocol.sideband import FATAL, packets
from ingot_git.protocol.upload_archive import read_archive_request, refusal_of_archive, upload_archive
from ingot_git.storage.generation import read_generation
from ingot_repos.access.api.limits import Charge, archive_within_limits, require_archive_budget
from ingot_repos.access.api.policies import (
    find_by_id,
)
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.access.api.wikis import decided_by
from ingot_repos.access.rules import deploy_keys
from ingot_repos.access.rules import levels as access
from ingot_repos.access.rules.read_rights import RenewReader
from ingot_repos.access.rules.resolved import ResolvedRepository
from ingot_repos.access.store import deploy_keys as deploy_key_store
from ingot_repos.catalog.store import repositories
from ingot_repos.clients.identity import HttpIdentity
from ingot_repos.placement.rules.loads import RepositoryLoads
from ingot_repos.pushes.api import SshSession, find_session, opened_by_key
from ingot_repos.pushes.rules.pushers import Pusher
from ingot_repos.transport.api.exchanges import Exchange, GitAnswer
from ingot_repos.transport.api.sessions import fetch, push
from ingot_repos.transport.rules import host_keys
from ingot_repos.transport.rules.fetches import answer
from ingot_ssh.sessions import HostKeys, KeyHolder


async def _renew(
    request: RepositoryRequest, before: ResolvedRepository, level: access.RequiredLevel
) -> tuple[ResolvedRepository, Pusher]:
    """Resolve repository and pusher again with the current rights of the key. Raises NotFound, Denied."""
    id_, unit = decided_by(before)
    session = await find_session(request, partial(find_by_id, request, id_), level, unit, proposes=not unit)
    return session.repository, session.pusher


@get("/internal/ssh/host-keys", policy=services("repos"), include_in_schema=False)
async def read_host_keys(request: RepositoryRequest) -> HostKeys:
    """Return the private host keys, which all processes of the SSH server share."""
    return HostKeys(await host_keys.read(request.db, request.part(Seal)))


@get("/internal/ssh/keys", policy=services("repos"), include_in_schema=False)
async def holder_of_key(request: RepositoryRequest, fingerprint: str) -> KeyHolder:
    """Return the holder of a key: a user or, without one, the repository of a deploy key. Raises NotFound."""
    identity = request.part(HttpIdentity)
    try:
        owner = await identity.owner_of_ssh_key(fingerprint)
        return KeyHolder(owner.principal.name, owner.title)
    except NotFound:
        pass
    async with request.db.read() as db:
        keys = await deploy_key_store.list_by_creator(db, fingerprint, deploy_keys.MOST_CREATORS)
    key = await deploy_keys.first_valid(identity, keys)
    async with request.db.read() as db:
        row = await repositories.get_unfiltered(db, key.repository_id)
    if row is None:
        raise NotFound
    return KeyHolder(f"{row.owner_login}/{row.name}", key.title)


@post(
    "/internal/ssh/{owner:str}/{repo:str}/{command:str}",
    policy=opened_by_key(),
    include_in_schema=False,
    request_max_body_size=None,
)
async def run_git(request: RepositoryRequest) -> GitAnswer:
    """Run one session of git.

    The body is the client's output, and the response is git's output. Both are streamed.
    """
    session = cast("SshSession", request.scope["resource"])  # type: ignore[typeddict-item]
    request.acquire_slot()
    repository = session.repository
    renew_reader = partial(_renew, request, repository, "read")
    match request.path_params["command"]:
        case "git-receive-pack":
            renew = partial(_renew, request, repository, "write")
            return push(request, repository, session.pusher, renew, is_session=True)
        case "git-upload-pack":
            return fetch(request, repository, renew_reader, is_session=True)
        case _:
            respond = partial(_archive, repository.id, renew_reader)
            return GitAnswer(respond, request, is_session=True)


async def _archive(repository_id: int, renew: RenewReader, exchange: Exchange) -> None:
    exchange.request.part(RepositoryLoads).count(repository_id)
    archive = _archive_of(repository_id, exchange)
    await answer(exchange, "git-upload-archive", archive, repository_id, renew)


async def _archive_of(repository_id: int, exchange: Exchange) -> AsyncGenerator[bytes, None]:
    """Yield an archive, or a rejection. The request is read before a slot for git is awaited."""
    request, body = exchange.request, exchange.body()
    archive_request = await read_archive_request(body)
    if archive_request is None:
        yield refusal_of_archive("no such ref")
        return
    path, memory = request.storage.path(repository_id), request.settings.max_git_memory
    generation = await request.storage.call(repository_id, read_generation)
    content = (repository_id, generation, archive_request)

    def run(charge: Charge) -> AsyncGenerator[bytes, None]:
        return upload_archive(path, archive_request, body, max_memory=memory, charge=charge)

    try:
        require_archive_budget(request, content)
        async with aclosing(archive_within_limits(repository_id, request, content, run)) as parts:
            async for part in parts:
                yield part
    except (TooManyRequests, Unavailable) as error:
        yield refusal_of_archive(error.message)
    except GitTooExpensive:
        yield packets(FATAL, b"the archive needs more time than allowed; request only some paths\n")


routes = [read_host_keys, holder_of_key, run_git]
