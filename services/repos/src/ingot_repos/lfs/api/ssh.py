"""The command ``git-lfs-authenticate`` of the SSH server: it returns the HTTP address of LFS."""

from datetime import datetime
from typing import Literal, cast

import msgspec
from litestar import post

from ingot_chassis.errors import Denied
from ingot_chassis.security.sealing import Seal
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.lfs.api.objects import lfs_root
from ingot_repos.lfs.rules.objects import LFS_OFF
from ingot_repos.lfs.rules.tokens import LIFETIME, headers_of, issue
from ingot_repos.pushes.api import SshSession, opened_by_key
from ingot_ssh.sessions import KEY_HEADER

PATH = "/internal/ssh/{owner:str}/{repo:str}/git-lfs-authenticate"


class LfsAccess(msgspec.Struct):
    """The reply that git-lfs reads: the address of LFS and headers for its requests."""

    href: str
    header: dict[str, str]
    expires_at: datetime
    expires_in: int


@post(PATH + "/download", policy=opened_by_key("git-upload-pack"), include_in_schema=False, status_code=200)
async def authenticate_download(request: RepositoryRequest) -> LfsAccess:
    """Return the address and the headers for downloads."""
    return _access(request, "read")


@post(PATH + "/upload", policy=opened_by_key("git-receive-pack"), include_in_schema=False, status_code=200)
async def authenticate_upload(request: RepositoryRequest) -> LfsAccess:
    """Return the address and the headers for downloads and uploads."""
    return _access(request, "write")


def _access(request: RepositoryRequest, level: Literal["read", "write"]) -> LfsAccess:
    if not request.settings.lfs_enabled:
        raise Denied(LFS_OFF)
    session = cast("SshSession", request.scope["resource"])  # type: ignore[typeddict-item]
    fingerprint = request.headers.get(KEY_HEADER, "")
    text, token = issue(request.part(Seal), session.repository.id, level, fingerprint=fingerprint)
    return LfsAccess(
        href=lfs_root(request, session.repository),
        header=headers_of(text),
        expires_at=token.expires_at,
        expires_in=int(LIFETIME.total_seconds()),
    )


routes = [authenticate_download, authenticate_upload]
