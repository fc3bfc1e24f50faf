"""Routes for pictures of accounts: uploaded, or a pattern generated from the digest in the URL.

Email addresses are sent to no external service.
"""

import hashlib
from typing import Any

from litestar import Response, delete, get, post

from ingot_chassis.errors import NotFound
from ingot_chassis.http.pictures import (
    DIGEST_LENGTH,
    Picture,
    UploadAvatar,
    is_digest,
    picture_response,
    read_picture,
)
from ingot_chassis.http.policy import anyone, signed_in
from ingot_identity.access import rules as access
from ingot_identity.access.api import in_organization
from ingot_identity.access.rules import Level
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.avatars import store
from ingot_identity.avatars.rules import save_picture

CELLS = 5


@get("/avatars/{digest:str}", policy=anyone(), include_in_schema=False)
async def avatar(request: IdentityRequest, digest: str) -> Response[Any]:
    """Return the uploaded picture, or else an SVG of 5 by 5 cells that the digest determines."""
    if not is_digest(digest):
        raise NotFound
    row = None
    if len(digest) == DIGEST_LENGTH:
        async with request.db.read() as db:
            row = await store.get(db, digest)
    if row is not None:
        content, media_type, etag = row.content, row.media_type, f'"{digest}"'
    else:
        content = _drawn(hashlib.sha256(digest.encode()).digest())
        media_type, etag = "image/svg+xml", f'"drawn-{digest}"'
    return picture_response(
        request.headers, content, etag=etag, media_type=media_type, cache_control="public, max-age=86400"
    )


@post(
    "/api/v1/user/avatar",
    policy=signed_in("write:user"),
    operation_id="userUpdateAvatar",
    tags=["user"],
    status_code=204,
)
async def upload_own_avatar(request: IdentityRequest, data: UploadAvatar) -> None:
    """Upload a picture of the caller. It replaces the current picture."""
    await _save_own(request, read_picture(data.image, request.settings.avatar_bytes))


@delete("/api/v1/user/avatar", policy=signed_in("write:user"), operation_id="userDeleteAvatar", tags=["user"])
async def delete_own_avatar(request: IdentityRequest) -> None:
    """Delete the uploaded picture. A generated picture replaces it."""
    await _save_own(request, None)


@post(
    "/api/v1/orgs/{org:str}/avatar",
    policy=in_organization(Level.OWNER, "write:organization"),
    operation_id="orgUpdateAvatar",
    tags=["organization"],
    status_code=204,
)
async def upload_avatar(request: IdentityRequest, data: UploadAvatar) -> None:
    """Upload a picture of the organization. It replaces the current picture."""
    await _save(request, read_picture(data.image, request.settings.avatar_bytes))


@delete(
    "/api/v1/orgs/{org:str}/avatar",
    policy=in_organization(Level.OWNER, "write:organization"),
    operation_id="orgDeleteAvatar",
    tags=["organization"],
)
async def delete_avatar(request: IdentityRequest) -> None:
    """Delete the uploaded picture. A generated picture replaces it."""
    await _save(request, None)


async def _save_own(request: IdentityRequest, picture: Picture | None) -> None:
    async with request.db.transaction() as tx:
        await save_picture(tx, request.presenter, request.principal.id, picture)


async def _save(request: IdentityRequest, picture: Picture | None) -> None:
    organization_id = request.organization.id
    async with request.db.transaction() as tx:
        await access.require_owner(tx, request.principal, organization_id)
        await save_picture(tx, request.presenter, organization_id, picture)


def _drawn(seed: bytes) -> bytes:
    hue = seed[0] * 360 // 256
    cells = []
    for row in range(CELLS):
        for column in range((CELLS + 1) // 2):
            if seed[1 + row * 3 + column] % 2:
                cells += [f"M{x} {row}h1v1h-1z" for x in {column, CELLS - 1 - column}]
    path = "".join(sorted(cells))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-1 -1 7 7">'
        f'<rect x="-1" y="-1" width="7" height="7" fill="#f4f4f4"/>'
        f'<path d="{path}" fill="hsl({hue} 55% 45%)"/></svg>'
    ).encode()


routes = [avatar, upload_own_avatar, delete_own_avatar, upload_avatar, delete_avatar]
