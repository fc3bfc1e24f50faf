"""Files and archives at a ref. Files are served as text, image or download, and never run as a page."""

import contextlib
from collections.abc import AsyncGenerator
from hashlib import sha256
from typing import Any, cast
from urllib.parse import quote

import msgspec
import structlog
from litestar import Response, get
from litestar.response import Stream

from ingot_chassis.errors import Invalid, NotFound, TooLarge
from ingot_chassis.http.downloads import StoredFile, file_answer
from ingot_chassis.http.openapi import response_spec
from ingot_chassis.http.ranges import has_etag, requested_range
from ingot_chassis.objects.store import ObjectStore
from ingot_git.history.archive import (
    Archive,
    ArchiveFormat,
    ArchiveName,
    Archives,
    require_paths,
    stream_archive,
)
from ingot_git.history.editorconfig import editor_settings
from ingot_git.history.file_contents import blob_at, file_at
from ingot_git.history.lfs_pointers import read_pointer
from ingot_git.history.objects import Blob, is_safe_file_path, stream_blob
from ingot_git.process.errors import (
    GitError,
    GitFailed,
    GitTimedOut,
    GitTooExpensive,
    ObjectNotFound,
    OutputTooLarge,
    RefNotFound,
    RepositoryNotFound,
)
from ingot_git.protocol.fetch_cache import FetchCache
from ingot_git.refs.refs import BRANCHES, TAGS
from ingot_repos.access.api.limits import Charge, archive_within_limits, require_archive_budget
from ingot_repos.access.api.policies import in_repository, require_on_disk
from ingot_repos.access.api.read_rights import renew_reader, while_readable
from ingot_repos.access.api.request import RepositoryRequest
from ingot_repos.access.api.wikis import decided_by
from ingot_repos.access.rules import levels as access
from ingot_repos.access.rules.resolved import ResolvedRepository
from ingot_repos.commits.api.named_commits import named_commit
from ingot_repos.files.api.media_types import SNIFFED, content_type
from ingot_repos.lfs.rules.objects import LfsObjects, object_key

log = structlog.get_logger()

INLINE_BYTES = 1024 * 1024
MOST_PATHS = 100
"""Limit for the paths of one archive."""
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
    """Editor settings of a file. Settings that no `.editorconfig` sets are omitted."""

    charset: str = ""
    indent_style: str = ""
    indent_size: str = ""
    tab_width: int = 0
    end_of_line: str = ""
    trim_trailing_whitespace: bool = False
    insert_final_newline: bool = False


def _raw_id(_handler: Any, _method: Any, path: list[Any]) -> str:
    """Return the operation id. Ids must be unique, so each spelling of the path has its own id."""
    return "repoGetRawFileOrLFS" if "media" in path else "repoGetRawFile"


# Not set as the route's media type: it would come before the media type of each response.
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
    filepath: str,  # noqa: ARG001 - it is normalized
    ref: str = "",
    render: bool = False,
) -> Response[Any]:
    """Get a file of a branch, tag or commit, by default of the default branch.

    The path is `<ref>/<file>`, or only the file with `ref` in the query. `render` returns any file as text.
    For an LFS pointer the large file is returned.
    """
    repository, text = request.resource, request.rest_of_path(6)
    call = request.storage.call
    try:
        if ref:
            path, blob = await call(repository.id, blob_at, ref, text, max_bytes=INLINE_BYTES)
        else:
            path, blob = await call(repository.id, file_at, text, max_bytes=INLINE_BYTES)
    except (RefNotFound, ObjectNotFound, RepositoryNotFound):
        raise NotFound("not found") from None  # clients compare this text
    return await file_response(request, path, blob, is_text=render)


async def file_response(
    request: RepositoryRequest, path: str, blob: Blob, *, is_text: bool = False
) -> Response[Any]:
    """Return a file of the repository or wiki in ``request.resource``, or the requested range of it."""
    repository = request.resource
    if (file := await _large_file(request, path, blob, is_text=is_text)) is not None:
        return file
    etag = f'"{blob.oid}"'
    headers = INERT | {"ETag": etag, "Accept-Ranges": "bytes", "Cache-Control": _caching(repository)}
    if has_etag(request.headers, etag):
        return Response(None, status_code=304, headers=headers)
    part = requested_range(request.headers, etag, blob.size)
    if part is not None:
        headers["Content-Range"] = f"bytes {part.start}-{part.stop - 1}/{blob.size}"
    start, rest = await _content(request, repository, blob)
    kind = "text/plain" if is_text else content_type(start)
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
    id_, unit = decided_by(repository)
    return while_readable(answer, repository.id, renew_reader(request, id_, "read", unit))


async def _large_file(
    request: RepositoryRequest, path: str, blob: Blob, *, is_text: bool
) -> Response[Any] | None:
    """Return the large file of an LFS pointer; None for other files, if LFS is off, or before the upload."""
    pointer = read_pointer(blob.data or b"")
    if pointer is None or not request.settings.lfs_enabled:
        return None
    require_on_disk(request, request.resource)  # replicas have no large files
    rows = await request.part(LfsObjects).find(
        access.viewer(request.principal), request.resource.row, [pointer.oid]
    )
    if pointer.oid not in rows:
        return None
    request.acquire_slot()
    row, objects = rows[pointer.oid], request.part(ObjectStore)
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
    """Get a ref as an archive `<ref>.zip` or `<ref>.tar.gz`, or as a bundle `<ref>.bundle`.

    All files of an archive are in one folder. A bundle has the history and can be cloned. With `path`, which
    may be repeated, an archive has only these files and folders.
    """
    return await _archive(request, request.rest_of_path(6), [one.strip("/") for one in path or []])


@get(
    "/{owner:str}/{repo:str}/archive/{filepath:path}",
    policy=in_repository("read", "read:repository", on_disk=True),
    include_in_schema=False,
)
async def archive_by_link(request: RepositoryRequest, filepath: str) -> Response[Any]:  # noqa: ARG001
    """Get an archive by the links in tags and releases."""
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
    opened = await _open(repository, request, ArchiveName(repository.id, commit, kind, folder), only)
    chunks = opened.chunks
    # An error in the first part, such as a missing file, has a status. A later one only aborts the response.
    start, is_whole = await _read_start(chunks)
    if is_whole:
        return Response(start, media_type="application/octet-stream", headers=headers)
    if opened.size is not None:
        headers["Content-Length"] = str(opened.size)
    body = _logged(_cut(start, chunks, None))
    answer = Stream(body, media_type="application/octet-stream", headers=headers)
    return while_readable(answer, repository.id, renew_reader(request, repository.id))


async def _open(
    repository: ResolvedRepository, request: RepositoryRequest, name: ArchiveName, only: list[str]
) -> Archive:
    """Return a cached archive, or an archive that git creates once for all concurrent requests."""
    archives = request.part(Archives)
    if not only and (cached := await archives.find(name)) is not None:
        return cached
    content = (repository.id, name.commit, name.archive_format, tuple(only))
    try:
        require_archive_budget(request, content)
    except GitTooExpensive as error:
        raise _too_expensive() from error
    request.acquire_slot()
    path, memory = request.storage.path(repository.id), request.settings.max_git_memory

    def run(charge: Charge) -> AsyncGenerator[bytes, None]:
        chunks = stream_archive(
            path,
            name.commit,
            name.archive_format,
            name.folder,
            only=only,
            size=repository.row.size,
            max_memory=memory,
            charge=charge,
        )
        return chunks if only else archives.keep(name, path, chunks)

    def start() -> AsyncGenerator[bytes, None]:
        return archive_within_limits(repository.id, request, content, run)

    async def is_valid() -> bool:
        return False  # the archive cache has it

    parts = request.part(FetchCache).answer(
        repr((name, only)).encode(),
        start,
        expected_bytes=0,
        is_valid=is_valid,
        signed_in=request.counts_as_signed_in,
        to_file=True,
    )
    return Archive(cast("AsyncGenerator[bytes, None]", parts), None)  # no file ranges are requested


async def _read_start(chunks: AsyncGenerator[bytes, None]) -> tuple[bytes, bool]:
    """Return the first bytes of an archive, and True if they are the whole archive.

    Raises TooLarge if git exceeds a limit of time, memory or depth.
    """
    start = bytearray()
    try:
        async for chunk in chunks:
            start += chunk
            if len(start) >= INLINE_BYTES:
                return bytes(start), False
    except GitTimedOut as error:
        raise _too_expensive() from error
    except GitFailed as error:
        if error.exit_code < 0:  # git descends into folders by recursion until its stack is full
            raise TooLarge("folders are nested too deeply for an archive") from error
        if "memory" in error.stderr:
            raise TooLarge("the archive needs more memory than allowed; request only some paths") from error
        raise
    return bytes(start), True


def _too_expensive() -> TooLarge:
    return TooLarge(
        "the archive needs more time than allowed; clone the repository, or request only some paths"
    )


async def _check_paths(request: RepositoryRequest, commit: str, only: list[str], kind: str) -> None:
    """Check the paths of an archive. Raises Invalid, and NotFound for a path that is not in the commit."""
    if kind == "bundle" or len(only) > MOST_PATHS:
        raise Invalid.field("path", "range", f"is allowed for zip and tar.gz only, up to {MOST_PATHS} times")
    if not all(is_safe_file_path(one) for one in only):
        raise Invalid.field("path", "format", "is not the path of a file or folder")
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
async def editorconfig(
    request: RepositoryRequest,
    filepath: str,  # noqa: ARG001 - it is normalized
    ref: str = "",
) -> EditorConfig:
    """Get the properties of a file from the `.editorconfig` files of `ref` or the default branch."""
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
    """Return the first bytes of a file, and a stream of the rest, or None if there is no rest.

    Raises TooLarge if git needs too much memory.
    """
    if blob.data is not None:
        return blob.data, None
    request.acquire_slot()
    path, memory = request.storage.path(repository.id), request.settings.max_git_memory
    stream = stream_blob(path, blob.oid, max_memory=memory)
    try:
        return await anext(stream, b""), stream
    except GitFailed as error:
        if "memory" in error.stderr:
            raise TooLarge("the file needs more memory than allowed") from error
        raise


async def _cut(
    first: bytes, rest: AsyncGenerator[bytes, None], byte_range: range | None
) -> AsyncGenerator[bytes, None]:
    """Yield the bytes of a stream in ``byte_range``; all without a range."""
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
    """Yield the stream. Log and raise an error of git, which aborts the response."""
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
    """Return the Content-Disposition header (RFC 6266), with an ASCII name for old clients."""
    plain = "".join(c if c.isascii() and c.isprintable() and c not in '"\\,;' else "_" for c in name)
    return f"{kind}; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


routes = [raw, archive, archive_by_link, editorconfig]
