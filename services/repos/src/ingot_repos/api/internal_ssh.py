"""For the SSH server: its host keys, whose a key is, and sessions of git."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import cast

from litestar import get, post

from ingot_chassis.errors import Denied, NotFound, Unavailable
from ingot_chassis.http.policy import Connection, Policy, services
from ingot_repos.api.exchanges import Exchange, GitAnswer
from ingot_repos.api.git_exchanges import push
from ingot_repos.api.git_fetches import answer, fetch
from ingot_repos.api.policies import (
    find,
    find_by_id,
    require_level,
    require_on_disk,
    require_readable,
)
from ingot_repos.api.push_rights import Pusher
from ingot_repos.api.read_rights import RenewReader
from ingot_repos.api.request import RepositoryRequest, ResolvedRepository
from ingot_repos.api.shared_fetches import within_limits
from ingot_repos.core import access, host_keys
from ingot_repos.core.protections import Actor, actor_of
from ingot_repos.core.ref_updates import require_changeable
from ingot_repos.core.ssh_sessions import KEY_HEADER, LEVELS, HostKeys, KeyHolder
from ingot_repos.git.upload_archive import read_archive_request, refusal_of_archive, upload_archive
from ingot_repos.store import deploy_keys, repositories
from ingot_repos.store.repositories import RepositoryRow

FindRow = Callable[[], Awaitable[RepositoryRow]]
"""Finds the repository of a session, by name or by id; raises NotFound."""


@dataclass(frozen=True)
class SshSession:
    """A repository that a key opens, and who pushes to it with that key."""

    repository: ResolvedRepository
    pusher: Pusher


def opened_by_key(command: str = "") -> Policy:
    """For a session of the repository in the path, with the key in the header; only the SSH server may ask.

    The access is that of the user whose key it is, else that of the deploy key. ``command``: that of the path, if none.
    """

    async def decide(connection: Connection, _level: str) -> SshSession:
        request, names = cast("RepositoryRequest", connection), connection.path_params
        level = cast("access.RequiredLevel | None", LEVELS.get(command or names["command"]))
        if level is None:
            raise NotFound
        owner, name = names["owner"], names["repo"].removesuffix(".git")
        session = await _find_session(
            request, partial(find, request, owner, name), level, proposes=not command
        )
        if level == "write" or command:  # sessions of LFS need its files
            require_on_disk(request, session.repository)
        else:
            await require_readable(request, session.repository)
        return session

    return Policy("service", services=("repos",), decide=decide)


async def _find_session(
    request: RepositoryRequest, find_row: FindRow, level: access.RequiredLevel, *, proposes: bool = True
) -> SshSession:
    """For the key in the header. ``proposes``: users who may read may propose commits. Raises NotFound, Denied."""
    fingerprint = request.headers.get(KEY_HEADER, "")
    try:
        session = await session_of_key(request, find_row, level, fingerprint)
    except Denied:
        if not proposes or level != "write":
            raise
        # `push` decides by the refs.
        session = await session_of_key(request, find_row, "signed-in", fingerprint)
        if not session.pusher.actor.id:
            raise
    if level == "write":
        require_changeable(session.repository.row)
    return session


async def _renew(
    request: RepositoryRequest, repository_id: int, level: access.RequiredLevel
) -> tuple[ResolvedRepository, Pusher]:
    """The repository and who pushes, by what the key opens now. Raises NotFound, Denied."""
    session = await _find_session(request, partial(find_by_id, request, repository_id), level)
    return session.repository, session.pusher


async def session_of_key(
    request: RepositoryRequest, find_row: FindRow, level: access.RequiredLevel, fingerprint: str
) -> SshSession:
    """By the user whose key it is, or by the deploy key. Raises NotFound, Denied.

    ``find_row``: as that user sees the repository. A session that runs goes on with its repository, whoever has the name now.
    """
    refusal: NotFound | Denied = NotFound()
    try:
        user = await request.components.identity.owner_of_ssh_key(fingerprint)
        request.scope["principal"] = user.principal  # type: ignore[typeddict-unknown-key]
        repository = await require_level(request, await find_row(), level)
        actor = actor_of(request.principal, repository.row, repository.level)
        return SshSession(repository, Pusher(request.principal.id, actor, restricted=False))
    except (NotFound, Denied) as error:
        refusal = error
    row = await find_row()
    async with request.db.read() as db:
        key = await deploy_keys.get_opening(db, row.id, fingerprint)
    if key is None:
        raise refusal
    opened = ResolvedRepository(row, access.level_of_deploy_key(level, read_only=key.read_only))
    actor = Actor(0, level=opened.level, is_deploy_key=True)
    # Events name a person: the owner, as for the deploy keys of Gitea.
    return SshSession(opened, Pusher(row.owner_id, actor, restricted=True))


@get("/internal/ssh/host-keys", policy=services("repos"), include_in_schema=False)
async def read_host_keys(request: RepositoryRequest) -> HostKeys:
    """The private keys of the SSH server, the same for all of its processes."""
    return HostKeys(await host_keys.read(request.db, request.components.seal))


@get("/internal/ssh/keys", policy=services("repos"), include_in_schema=False)
async def holder_of_key(request: RepositoryRequest, fingerprint: str) -> KeyHolder:
    """Whose the key is: a user's, else a deploy key."""
    try:
        owner = await request.components.identity.owner_of_ssh_key(fingerprint)
        return KeyHolder(owner.principal.name, owner.title)
    except NotFound:
        pass
    async with request.db.read() as db:
        key = await deploy_keys.get_any(db, fingerprint)
        row = await repositories.get_unfiltered(db, key.repository_id) if key else None
    if key is None or row is None:
        raise NotFound
    return KeyHolder(f"{row.owner_login}/{row.name}", key.title)


@post(
    "/internal/ssh/{owner:str}/{repo:str}/{command:str}",
    policy=opened_by_key(),
    include_in_schema=False,
    request_max_body_size=None,
)
async def run_git(request: RepositoryRequest) -> GitAnswer:
    """One session of git: what the client says is the body, what git says the answer, both at once."""
    session = cast("SshSession", request.scope["resource"])  # type: ignore[typeddict-item]
    request.acquire_slot()
    renew_reader = partial(_renew, request, session.repository.id, "read")
    match request.path_params["command"]:
        case "git-receive-pack":
            renew = partial(_renew, request, session.repository.id, "write")
            respond = partial(push, session.repository, session.pusher, renew)
        case "git-upload-pack":
            respond = partial(fetch, session.repository, renew_reader)
        case _:
            respond = partial(_archive, session.repository, renew_reader)
    return GitAnswer(respond, request, is_session=True)


async def _archive(repository: ResolvedRepository, renew: RenewReader, exchange: Exchange) -> None:
    await answer(repository, exchange, "git-upload-archive", _archive_of(repository, exchange), renew)


async def _archive_of(repository: ResolvedRepository, exchange: Exchange) -> AsyncGenerator[bytes, None]:
    """Room for git is waited for once the client has said what it wants."""
    request, body = exchange.request, exchange.body()
    archive_request = await read_archive_request(body)
    if archive_request is None:
        yield refusal_of_archive("no such ref")
        return
    path = request.storage.path(repository.id)
    stream = upload_archive(path, archive_request, body, max_memory=request.max_git_memory)
    try:
        async with aclosing(within_limits(repository, request, stream)) as parts:
            async for part in parts:
                yield part
    except Unavailable as error:
        yield refusal_of_archive(error.message)


routes = [read_host_keys, holder_of_key, run_git]
