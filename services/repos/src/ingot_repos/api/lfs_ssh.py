"""``git-lfs-authenticate`` of the SSH server: where a client that has shown its key finds LFS over HTTP."""

from datetime import datetime
from typing import Literal, cast

import msgspec
from litestar import post

from ingot_chassis.errors import Denied
from ingot_repos.api.internal_ssh import SshSession, opened_by_key
from ingot_repos.api.lfs import lfs_root
from ingot_repos.api.request import RepositoryRequest
from ingot_repos.core.imports import REASON_TEXTS
from ingot_repos.core.lfs_tokens import LIFETIME, TOKEN_HEADER, issue
from ingot_repos.core.ssh_sessions import KEY_HEADER

PATH = "/internal/ssh/{owner:str}/{repo:str}/git-lfs-authenticate"


class LfsAccess(msgspec.Struct):
    """What git-lfs reads: the address of LFS, and headers for its requests."""

    href: str
    header: dict[str, str]
    expires_at: datetime
    expires_in: int


@post(PATH + "/download", policy=opened_by_key("git-upload-pack"), include_in_schema=False, status_code=200)
async def authenticate_download(request: RepositoryRequest) -> LfsAccess:
    """Access for downloads."""
    return _access(request, "read")


@post(PATH + "/upload", policy=opened_by_key("git-receive-pack"), include_in_schema=False, status_code=200)
async def authenticate_upload(request: RepositoryRequest) -> LfsAccess:
    """Access for downloads and uploads."""
    return _access(request, "write")


def _access(request: RepositoryRequest, level: Literal["read", "write"]) -> LfsAccess:
    if not request.settings.lfs_enabled:
        raise Denied(REASON_TEXTS["lfs-off"])
    session = cast("SshSession", request.scope["resource"])  # type: ignore[typeddict-item]
    fingerprint = request.headers.get(KEY_HEADER, "")
    text, token = issue(request.components.seal, fingerprint, session.repository.id, level)
    return LfsAccess(
        href=lfs_root(request, session.repository),
        header={TOKEN_HEADER.title(): text},
        expires_at=token.expires_at,
        expires_in=int(LIFETIME.total_seconds()),
    )


routes = [authenticate_download, authenticate_upload]
