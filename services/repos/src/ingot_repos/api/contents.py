"""Files and archives at a ref. Files are served as inert text, image or download, never as a page."""

import contextlib
from collections.abc import AsyncGenerator
from hashlib import sha256
from typing import Any
from urllib.parse import quote

import msgspec
import structlog
from litestar import Response, get
from litestar.response import Stream

from ingot_chassis.errors import Invalid, NotFound, TooLarge
from ingot_chassis.http.downloads import StoredFile, file_answer
from ingot_chassis.http.openapi import response_spec
from ingot_chassis.http.ranges import has_etag, requested_range
from ingot_repos.api.media_types import SNIFFED, content_type
from ingot_repos.api.policies import in_repository, require_on_disk
from ingot_repos.api.read_rights import renew_reader, while_readable
from ingot_repos.api.request import RepositoryRequest, ResolvedRepository
from ingot_repos.api.shared_fetches import within_limits
from ingot_repos.core import access
from ingot_repos.core.lfs_objects import object_key
from ingot_repos.git.archive import Archive, ArchiveFormat, require_paths, stream_archive
from ingot_repos.git.editorconfig import editor_settings
from ingot_repos.git.errors import (
    GitError,
    GitFailed,
    ObjectNotFound,
    OutputTooLarge,
    RefNotFound,
    RepositoryNotFound,
)
from ingot_repos.git.file_contents import blob_at
from ingot_repos.git.lfs_pointers import read_pointer
from ingot_repos.git.named_refs import named_ref
from ingot_repos.git.objects import Blob, file_at, is_safe_file_path, stream_blob
from ingot_repos.git.refs import BRANCHES, TAGS

log = structlog.get_logger()

INLINE_BYTES = 1024 * 1024
MOST_PATHS = 100
"""Of one archive."""
INERT = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
}
SUFFIXES: tuple[tuple[str, ArchiveFormat], ...] = (
    (".zip", "zip"),
    (".tar.gz", "tar.gz"),
    (".bundle", "bundle"),
)


class EditorConfig(msgspec.Struct, omit_defaults=True):
    """How editors should write a file; properties that no `.editorconfig` sets are left out."""

    charset: str = ""
    indent_style: str = ""
    indent_size: str = ""
    tab_width: int = 0
    end_of_line: str = ""
    trim_trailing_whitespace: bool = False
    insert_final_newline: bool = False


async def named_commit(request: RepositoryRequest, ref: str) -> str:
    """The commit of a branch, a tag, an id or a full ref name in the repository of the path. Raises NotFound."""
    try:
        return (await request.storage.call(request.resource.id, named_ref, ref)).commit
    except (RefNotFound, RepositoryNotFound):
        raise NotFound from None


def _raw_id(_handler: Any, _method: Any, path: list[Any]) -> str:
    """Ids are unique in an API description, so each spelling of the path has its own."""
    return "repoGetRawFileOrLFS" if "media" in path else "repoGetRawFile"


# Not as the media type of the route: that would stand before the one of each answer.
CONTENT = {200: response_spec(bytes, "The file", media_type="application/octet-stream")}


@get(
    [
        "/api/v1/repos/{owner:str}/{repo:str}/raw/{filepath:path}",
        "/api/v1/repos/{owner:str}/{repo:str}/media/{filepath:path}",
    ],
    policy=in_repository("read", "read:repository", on_disk=True),
    operation_id=_raw_id,
    tags=["repository"],
    responses=CONTENT,
)
async def raw(
    request: RepositoryRequest,
    filepath: str,  # noqa: ARG001 - it comes normalized
    ref: str = "",
    render: bool = False,
) -> Response[Any]:
    """A file of a branch, tag or commit, else of the default branch. `render` shows anything as text.

    The path is `<ref>/<file>`, or only the file with `ref` in the query. A pointer of LFS stands for the large file.
    """
    repository, text = request.resource, request.rest_of_path(6)
    call = request.storage.call
    try:
        if ref:
            path, blob = await call(repository.id, blob_at, ref, text, max_bytes=INLINE_BYTES)
        else:
            path, blob = await call(repository.id, file_at, text, max_bytes=INLINE_BYTES)
    except (RefNotFound, ObjectNotFound, RepositoryNotFound):
        raise NotFound("not found") from None  # a client compares this text
    if (file := await _large_file(request, path, blob, is_text=render)) is not None:
        return file
    etag = f'"{blob.oid}"'
    headers = INERT | {"ETag": etag, "Accept-Ranges": "bytes", "Cache-Control": _caching(repository)}
    if has_etag(request.headers, etag):
        return Response(None, status_code=304, headers=headers)
    part = requested_range(request.headers, etag, blob.size)
    if part is not None:
        headers["Content-Range"] = f"bytes {part.start}-{part.stop - 1}/{blob.size}"
    start, rest = await _content(request, repository, blob)
    kind = "text/plain" if render else content_type(start)
    disposition = "attachment" if kind == "application/octet-stream" else "inline"
    headers["Content-Disposition"] = _disposition(disposition, path.rsplit("/", 1)[-1])
    byte_range = part if part is not None else range(blob.size)
    status = 200 if part is None else 206
    if rest is None:
        return Response(
            start[byte_range.start : byte_range.stop], media_type=kind, headers=headers, status_code=status
        )
    headers["Content-Length"] = str(len(byte_range))
    body = _logged(_cut(start, rest, byte_range))
    answer = Stream(body, media_type=kind, headers=headers, status_code=status)
    return while_readable(answer, repository.id, renew_reader(request, repository.id))


async def _large_file(
    request: RepositoryRequest, path: str, blob: Blob, *, is_text: bool
) -> Response[Any] | None:
    """The large file that a pointer of LFS stands for; None for another file, without LFS, and while nobody has uploaded it."""
    pointer = read_pointer(blob.data or b"")
    if pointer is None or not request.settings.lfs_enabled:
        return None
    require_on_disk(request, request.resource)  # a replica has no large files
    rows = await request.components.lfs.find(
        access.viewer(request.principal), request.resource.row, [pointer.oid]
    )
    if pointer.oid not in rows:
        return None
    request.acquire_slot()
    row, objects = rows[pointer.oid], request.components.objects
    key = object_key(row.uuid)
    start = b"".join([part async for part in objects.read(key, range(min(SNIFFED, row.size)))])
    kind = "text/plain" if is_text else content_type(start)
    inline = kind != "application/octet-stream"
    file = StoredFile(key, path.rsplit("/", 1)[-1], row.size, row.oid, kind, inline)
    is_public = _is_public(request.resource)
    answer = await file_answer(request.headers, objects, file, cached_by="public" if is_public else "private")
    return while_readable(answer, request.resource.id, renew_reader(request, request.resource.id))


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/archive/{filepath:path}",
    policy=in_repository("read", "read:repository", on_disk=True),
    operation_id="repoGetArchive",
    tags=["repository"],
)
async def archive(
    request: RepositoryRequest,
    filepath: str,  # noqa: ARG001
    path: list[str] | None = None,
) -> Response[Any]:
    """`<ref>.zip` or `<ref>.tar.gz`, everything inside one folder, or `<ref>.bundle`, its history to be cloned.

    With `path`, which may be there several times, only those files and folders.
    """
    return await _archive(request, request.rest_of_path(6), [one.strip("/") for one in path or []])


@get(
    "/{owner:str}/{repo:str}/archive/{filepath:path}",
    policy=in_repository("read", "read:repository", on_disk=True),
    include_in_schema=False,
)
async def archive_by_link(request: RepositoryRequest, filepath: str) -> Response[Any]:  # noqa: ARG001
    """The same, where links of tags and releases lead."""
    return await _archive(request, request.rest_of_path(3), [])


async def _archive(request: RepositoryRequest, name: str, only: list[str]) -> Response[Any]:
    repository = request.resource
    formats = [(suffix, kind) for suffix, kind in SUFFIXES if name.endswith(suffix)]
    if not formats:
        raise NotFound
    suffix, kind = formats[0]
    ref = name.removesuffix(suffix)
    commit = await named_commit(request, ref)
    if only:
        await _check_paths(request, commit, only, kind)
    folder, shown = repository.row.lower_name, ref.removeprefix(BRANCHES).removeprefix(TAGS)
    part = f"-{sha256(repr(only).encode()).hexdigest()[:16]}" if only else ""
    etag = f'"{commit}-{folder}{part}{suffix}"'
    headers = INERT | {
        "ETag": etag,
        "Cache-Control": _caching(repository),
        "Content-Disposition": _disposition(
            "attachment", f"{repository.row.name}-{shown}{suffix}".replace("/", "-")
        ),
    }
    if has_etag(request.headers, etag):
        return Response(None, status_code=304, headers=headers)
    folder_of_git, memory = request.storage.path(repository.id), request.max_git_memory
    if only:
        opened = Archive(
            stream_archive(folder_of_git, commit, kind, folder, only=only, max_memory=memory), None
        )
    else:
        opened = await request.components.archives.open(
            repository.id, folder_of_git, commit, kind, folder, max_memory=memory
        )
    chunks = opened.chunks
    if opened.size is None:
        request.acquire_slot()
        chunks = within_limits(repository, request, chunks)
    # An error in the first part, such as a missing file, has a status; a later one can only break the answer off.
    start, is_whole = await _beginning(chunks)
    if is_whole:
        return Response(start, media_type="application/octet-stream", headers=headers)
    if opened.size is not None:
        headers["Content-Length"] = str(opened.size)
    body = _logged(_cut(start, chunks, None))
    answer = Stream(body, media_type="application/octet-stream", headers=headers)
    return while_readable(answer, repository.id, renew_reader(request, repository.id))


async def _beginning(chunks: AsyncGenerator[bytes, None]) -> tuple[bytes, bool]:
    """The first bytes of an archive, and whether these are all. Raises TooLarge when git gives up on it."""
    start = bytearray()
    try:
        async for chunk in chunks:
            start += chunk
            if len(start) >= INLINE_BYTES:
                return bytes(start), False
    except GitFailed as error:
        if error.exit_code < 0:  # git walks into folders by recursion, until its stack is used up
            raise TooLarge("git cannot make an archive of folders that are so deep") from error
        if "memory" in error.stderr:
            raise TooLarge("git would need more memory for the archive than it may have") from error
        raise
    return bytes(start), True


async def _check_paths(request: RepositoryRequest, commit: str, only: list[str], kind: str) -> None:
    """Raises Invalid, and NotFound for a path that the commit has not."""
    if kind == "bundle" or len(only) > MOST_PATHS:
        raise Invalid.field("path", "range", f"is for zip and tar.gz, {MOST_PATHS} times at most")
    if not all(is_safe_file_path(one) for one in only):
        raise Invalid.field("path", "format", "is no path of a file or folder")
    try:
        await request.storage.call(request.resource.id, require_paths, commit, only)
    except ObjectNotFound:
        raise NotFound from None


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/editorconfig/{filepath:path}",
    policy=in_repository("read", "read:repository", on_disk=True),
    operation_id="repoGetEditorConfig",
    tags=["repository"],
)
async def editorconfig(request: RepositoryRequest, filepath: str, ref: str = "") -> EditorConfig:  # noqa: ARG001
    """The properties of a file by the `.editorconfig` files of `ref`, else of the default branch."""
    repository = request.resource
    commit = await named_commit(request, ref or repository.row.default_branch)
    try:
        properties = await request.storage.call(
            repository.id, editor_settings, commit, request.rest_of_path(6)
        )
    except (ObjectNotFound, OutputTooLarge) as error:
        raise NotFound(str(error)) from None
    width = properties.get("tab_width", "")
    return EditorConfig(
        charset=properties.get("charset", ""),
        indent_style=properties.get("indent_style", ""),
        indent_size=properties.get("indent_size", ""),
        tab_width=int(width) if width.isascii() and width.isdigit() and len(width) < 10 else 0,
        end_of_line=properties.get("end_of_line", ""),
        trim_trailing_whitespace=properties.get("trim_trailing_whitespace") == "true",
        insert_final_newline=properties.get("insert_final_newline") == "true",
    )


async def _content(
    request: RepositoryRequest, repository: ResolvedRepository, blob: Blob
) -> tuple[bytes, AsyncGenerator[bytes, None] | None]:
    """The beginning of a file, and the stream of the rest if it is large. Raises TooLarge when git gives up on it."""
    if blob.data is not None:
        return blob.data, None
    request.acquire_slot()
    path, memory = request.storage.path(repository.id), request.max_git_memory
    stream = stream_blob(path, blob.oid, max_memory=memory)
    try:
        return await anext(stream, b""), stream
    except GitFailed as error:
        if "memory" in error.stderr:
            raise TooLarge("git would need more memory for the file than it may have") from error
        raise


async def _cut(
    first: bytes, rest: AsyncGenerator[bytes, None], byte_range: range | None
) -> AsyncGenerator[bytes, None]:
    """The bytes of a stream that are in ``byte_range``; all without one."""
    async with contextlib.aclosing(rest):
        chunk, at = first, 0
        while chunk and (byte_range is None or at < byte_range.stop):
            end = at + len(chunk)
            if byte_range is None:
                yield chunk
            elif end > byte_range.start:
                yield chunk[max(0, byte_range.start - at) : byte_range.stop - at]
            at = end
            chunk = await anext(rest, b"")


async def _logged(stream: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """The stream. An error of git comes too late for a status, so it is logged and breaks the answer off."""
    async with contextlib.aclosing(stream):
        try:
            async for chunk in stream:
                yield chunk
        except GitError as error:
            log.warning("stream broken off", error=str(error))
            raise


def _is_public(repository: ResolvedRepository) -> bool:
    return not repository.row.private and repository.row.owner_visibility == "public"


def _caching(repository: ResolvedRepository) -> str:
    return f"{'public' if _is_public(repository) else 'private'}, max-age=0, must-revalidate"


def _disposition(kind: str, name: str) -> str:
    """RFC 6266, with the name in ASCII for old clients."""
    plain = "".join(c if c.isascii() and c.isprintable() and c not in '"\\,;' else "_" for c in name)
    return f"{kind}; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


routes = [raw, archive, archive_by_link, editorconfig]
