"""Pictures of repositories. A repository without an uploaded picture has an empty ``avatar_url``."""

from typing import Any

from litestar import Response, delete, get, post

from ingot_chassis.errors import NotFound
from ingot_chassis.http.pictures import Picture, UploadAvatar, picture_response, read_picture
from ingot_repos.access.api.policies import in_repository, repository_by_id, sender_of
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.repositories.rules import edits
from ingot_repos.repositories.store import avatars


@get(
    "/avatars/repositories/{repository_id:int}/{digest:str}",
    policy=repository_by_id("read:repository", anonymous=True),
    include_in_schema=False,
)
async def avatar(request: RepositoryRequest, digest: str) -> Response[Any]:
    """Return the picture of a repository, for callers who may read the repository."""
    row = request.resource.row
    if digest != row.avatar_digest:
        raise NotFound
    async with request.db.read() as db:
        picture = await avatars.get(db, row.id)
    if picture is None:
        raise NotFound
    return picture_response(
        request.headers,
        picture.content,
        etag=f'"{digest}"',
        media_type=picture.media_type,
        cache_control="private, max-age=86400",
    )


@post(
    "/api/v1/repos/{owner:str}/{repo:str}/avatar",
    policy=in_repository("admin", "write:repository", unit=None),
    operation_id="repoUpdateAvatar",
    tags=["repository"],
    status_code=204,
)
async def upload_avatar(request: RepositoryRequest, data: UploadAvatar) -> None:
    """Upload a picture of the repository. It replaces the earlier picture."""
    await _save(request, read_picture(data.image, request.settings.avatar_bytes))


@delete(
    "/api/v1/repos/{owner:str}/{repo:str}/avatar",
    policy=in_repository("admin", "write:repository", unit=None),
    operation_id="repoDeleteAvatar",
    tags=["repository"],
)
async def delete_avatar(request: RepositoryRequest) -> None:
    """Delete the uploaded picture."""
    await _save(request, None)


async def _save(request: RepositoryRequest, picture: Picture | None) -> None:
    row, sender = request.resource.row, await sender_of(request)
    digest = picture.digest if picture else ""
    async with request.db.transaction() as tx:
        await edits.edit(tx, request.presenter, row, sender, {"avatar_digest": digest})
        if picture is None:
            await avatars.remove(tx, row.id)
        else:
            await avatars.save(tx, row.id, media_type=picture.media_type, content=picture.content)


routes = [avatar, upload_avatar, delete_avatar]
