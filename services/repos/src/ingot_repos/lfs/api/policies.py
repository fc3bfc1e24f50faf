"""Policies of the LFS routes.

Downloads need the same access as fetches. Uploads and locks need the same access as pushes.
"""

from functools import partial
from typing import Literal, cast

from ingot_chassis.errors import Denied, NotFound, Unauthenticated
from ingot_chassis.http.policy import Connection, Policy, resource
from ingot_chassis.security.principal import Principal
from ingot_chassis.security.sealing import Seal
from ingot_repos.access.api.error_forms import sign_in_first
from ingot_repos.access.api.policies import find, find_by_id, require_on_disk, resolve
from ingot_repos.access.api.read_rights import renew_reader
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.access.rules import levels as access
from ingot_repos.access.rules.read_rights import RenewReader
from ingot_repos.access.rules.resolved import ResolvedRepository
from ingot_repos.clients.identity import HttpIdentity
from ingot_repos.lfs.rules import tokens as lfs_tokens
from ingot_repos.lfs.rules.objects import LFS_OFF
from ingot_repos.pushes.api import session_of_key
from ingot_repos.pushes.rules.ref_updates import require_changeable

LfsLevel = Literal["read", "write"]


def in_lfs(level: LfsLevel) -> Policy:
    """Policy for routes below ``{owner}/{repo}/info/lfs``. Sets ``request.resource``."""

    async def decide(connection: Connection, _level: str) -> ResolvedRepository:
        return await enter(cast("RepositoryRequest", connection), level)

    return resource(level, f"{level}:repository", decide)


async def enter(request: RepositoryRequest, level: LfsLevel) -> ResolvedRepository:
    """Return the repository in the path, for downloads or for uploads and locks.

    If access is denied, anonymous callers always get 401, so they cannot learn which repositories exist. If
    the request has a token, only the token identifies the caller.
    """
    if not request.settings.lfs_enabled:
        raise NotFound(LFS_OFF)
    owner, name = str(request.path_params["owner"]), str(request.path_params["repo"]).removesuffix(".git")
    if text := request.headers.get(lfs_tokens.TOKEN_HEADER):
        return await _enter_by_token(request, owner, name, level, text)
    return await _enter(request, owner, name, level)


async def _enter(request: RepositoryRequest, owner: str, name: str, level: LfsLevel) -> ResolvedRepository:
    """Return the repository with the access of the caller."""
    if request.principal.signed_in and not request.principal.may(f"{level}:repository"):
        raise Denied(f"the token lacks the scope {level}:repository")
    try:
        repository = await resolve(request, owner, name, level)
        if level == "write":
            access.require_unarchived(repository.row)
    except (NotFound, Denied, Unauthenticated):
        if request.principal.signed_in:
            raise
        raise sign_in_first(request.settings) from None
    if not repository.is_named(owner, name):
        raise request.moved(owner=repository.row.owner_login, repo=f"{repository.row.name}.git")
    if level == "write" and repository.row.mirror:
        raise Denied("a mirror cannot be pushed to")
    require_on_disk(request, repository)
    return repository


async def _enter_by_token(
    request: RepositoryRequest, owner: str, name: str, level: LfsLevel, text: str
) -> ResolvedRepository:
    """Return the repository with the current access of the key or credential that the token names."""
    token = lfs_tokens.read(request.part(Seal), text)
    if level == "write" and token.level != "write":
        raise Denied("the token is for downloads")
    if not token.fingerprint:
        await _enter_credential(request, token)
        repository = await _enter(request, owner, name, level)
        if repository.id != token.repository_id:
            raise NotFound
        return repository
    session = await session_of_key(request, partial(find, request, owner, name), level, token.fingerprint)
    if session.repository.id != token.repository_id:
        raise NotFound
    if level == "write":
        require_changeable(session.repository.row)
    require_on_disk(request, session.repository)
    return session.repository


async def _enter_credential(request: RepositoryRequest, token: lfs_tokens.LfsToken) -> None:
    """Make the request act for the credential of the token, in its current state. Raises Unauthenticated."""
    old = Principal(id=token.account_id, credential=token.credential)
    try:
        principal = await request.part(HttpIdentity).renewed(old)
    except NotFound:
        raise Unauthenticated("the credential of the token is not valid") from None
    request.scope["principal"] = principal  # type: ignore[typeddict-unknown-key]


def renew_download(request: RepositoryRequest, repository_id: int) -> RenewReader:
    """Return a check that raises if the caller may no longer download from the repository.

    Expiry of the token during a download does not stop the download.
    """
    text = request.headers.get(lfs_tokens.TOKEN_HEADER)
    if text and (fingerprint := lfs_tokens.read(request.part(Seal), text).fingerprint):
        return partial(
            session_of_key, request, partial(find_by_id, request, repository_id), "read", fingerprint
        )
    return renew_reader(request, repository_id)
