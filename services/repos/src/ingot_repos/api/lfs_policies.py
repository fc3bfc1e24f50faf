"""Who may call a route of LFS: as for git over HTTP, whoever may fetch reads, and whoever may push writes."""

from functools import partial
from typing import Literal, cast

from ingot_chassis.errors import Denied, NotFound, Unauthenticated
from ingot_chassis.http.policy import Connection, Policy, resource
from ingot_repos.api.internal_ssh import session_of_key
from ingot_repos.api.policies import find, find_by_id, require_on_disk, resolve
from ingot_repos.api.read_rights import RenewReader, renew_reader
from ingot_repos.api.request import RepositoryRequest, ResolvedRepository
from ingot_repos.core import access, lfs_tokens
from ingot_repos.core.imports import REASON_TEXTS
from ingot_repos.core.ref_updates import require_changeable

ASK_FOR_PASSWORD = {"WWW-Authenticate": 'Basic realm="Ingot"'}
LfsLevel = Literal["read", "write"]


def in_lfs(level: LfsLevel) -> Policy:
    """For routes below ``{owner}/{repo}/info/lfs``; ``request.resource`` is the repository."""

    async def decide(connection: Connection, _level: str) -> ResolvedRepository:
        return await enter(cast("RepositoryRequest", connection), level)

    return resource(level, f"{level}:repository", decide)


async def enter(request: RepositoryRequest, level: LfsLevel) -> ResolvedRepository:
    """The repository of the path, for downloads or for uploads and locks.

    Anonymous callers always get 401 instead of a refusal, so that they do not learn which repositories exist. A token
    decides alone who is calling.
    """
    if not request.settings.lfs_enabled:
        raise NotFound(REASON_TEXTS["lfs-off"])
    owner, name = str(request.path_params["owner"]), str(request.path_params["repo"]).removesuffix(".git")
    if text := request.headers.get(lfs_tokens.TOKEN_HEADER):
        return await _enter_by_key(request, owner, name, level, text)
    if request.principal.signed_in and not request.principal.may(f"{level}:repository"):
        raise Denied(f"the token lacks the scope {level}:repository")
    try:
        repository = await resolve(request, owner, name, level)
        if level == "write":
            access.require_unarchived(repository.row)
    except (NotFound, Denied, Unauthenticated):
        if request.principal.signed_in:
            raise
        raise Unauthenticated("sign in to do that", headers=ASK_FOR_PASSWORD) from None
    if not repository.is_named(owner, name):
        raise request.moved(owner=repository.row.owner_login, repo=f"{repository.row.name}.git")
    if level == "write" and repository.row.mirror:
        raise Denied("a mirror cannot be pushed to")
    require_on_disk(request, repository)
    return repository


async def _enter_by_key(
    request: RepositoryRequest, owner: str, name: str, level: LfsLevel, text: str
) -> ResolvedRepository:
    """The same for a client of the SSH server, with the access that its key has now."""
    token = lfs_tokens.read(request.components.seal, text)
    if level == "write" and token.level != "write":
        raise Denied("the token is for downloads")
    session = await session_of_key(request, partial(find, request, owner, name), level, token.fingerprint)
    if session.repository.id != token.repository_id:
        raise NotFound
    if level == "write":
        require_changeable(session.repository.row)
    require_on_disk(request, session.repository)
    return session.repository


def renew_download(request: RepositoryRequest, repository_id: int) -> RenewReader:
    """It raises when the caller may not download from the repository any more. A token that ends meanwhile stops nothing."""
    if text := request.headers.get(lfs_tokens.TOKEN_HEADER):
        fingerprint = lfs_tokens.read(request.components.seal, text).fingerprint
        return partial(
            session_of_key, request, partial(find_by_id, request, repository_id), "read", fingerprint
        )
    return renew_reader(request, repository_id)
