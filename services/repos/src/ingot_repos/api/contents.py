"""Files and archives at a ref. What people push is shown as inert text, image or download, never as a page."""

import contextlib
from collections.abc import AsyncGenerator
from typing import Any
from urllib.parse import quote

import msgspec
import structlog
from litestar import Response, get
from litestar.response import Stream

from ingot_chassis.errors import NotFound
from ingot_chassis.policy import resource
from ingot_repos.api.call import Call, Found
from ingot_repos.api.ranges import is_held, part_asked_for
from ingot_repos.git.archive import ArchiveFormat
from ingot_repos.git.editorconfig import editor_settings
from ingot_repos.git.errors import GitError, ObjectNotFound, OutputTooLarge, RefNotFound, RepositoryNotFound
from ingot_repos.git.objects import Blob, commit_at, file_at, stream_blob

log = structlog.get_logger()

INLINE_BYTES = 1024 * 1024
SNIFFED = 8000
_IMAGES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
)
INERT = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
}
SUFFIXES: tuple[tuple[str, ArchiveFormat], ...] = ((".zip", "zip"), (".tar.gz", "tar.gz"))


class EditorConfig(msgspec.Struct, omit_defaults=True):
    """What editors should do to a file; what is not said is left out."""

    charset: str = ""
    indent_style: str = ""
    indent_size: str = ""
    tab_width: int = 0
    end_of_line: str = ""
    trim_trailing_whitespace: bool = False
    insert_final_newline: bool = False


def content_type(start: bytes) -> str:
    """What a browser may take a file for; never anything that runs."""
    for magic, known in _IMAGES:
        if start.startswith(magic):
            return known
    if start[:4] == b"RIFF" and start[8:12] == b"WEBP":
        return "image/webp"
    return "application/octet-stream" if b"\0" in start[:SNIFFED] else "text/plain"


async def named_commit(request: Call, ref: str) -> str:
    """The commit that a branch, tag or id stands for in the repository of the path. Raises NotFound."""
    try:
        return await request.storage.call(request.found.id, commit_at, ref)
    except (RefNotFound, RepositoryNotFound):
        raise NotFound from None


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/raw/{filepath:path}",
    policy=resource("read", "read:repository"),
    operation_id="repoGetRawFile",
    tags=["repository"],
    on_disk=True,
)
async def raw(request: Call, filepath: str, render: bool = False) -> Response[Any]:  # noqa: ARG001
    """A file of a branch, tag or commit, else of the default branch. `render` shows anything as text."""
    found = request.found
    try:
        path, blob = await request.storage.call(
            found.id, file_at, request.rest_of_path(6), max_bytes=INLINE_BYTES
        )
    except (RefNotFound, ObjectNotFound, RepositoryNotFound):
        raise NotFound from None
    etag = f'"{blob.oid}"'
    headers = INERT | {"ETag": etag, "Accept-Ranges": "bytes", "Cache-Control": _caching(found)}
    if is_held(request.headers, etag):
        return Response(None, status_code=304, headers=headers)
    part = part_asked_for(request.headers, etag, blob.size)
    if part is not None:
        headers["Content-Range"] = f"bytes {part.start}-{part.stop - 1}/{blob.size}"
    start, rest = await _content(request, found, blob)
    kind = "text/plain" if render else content_type(start)
    shown = "attachment" if kind == "application/octet-stream" else "inline"
    headers["Content-Disposition"] = _disposition(shown, path.rsplit("/", 1)[-1])
    wanted = part if part is not None else range(blob.size)
    status = 200 if part is None else 206
    if rest is None:
        return Response(
            start[wanted.start : wanted.stop], media_type=kind, headers=headers, status_code=status
        )
    headers["Content-Length"] = str(len(wanted))
    return Stream(_logged(_cut(start, rest, wanted)), media_type=kind, headers=headers, status_code=status)


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/archive/{filepath:path}",
    policy=resource("read", "read:repository"),
    operation_id="repoGetArchive",
    tags=["repository"],
    on_disk=True,
)
async def archive(request: Call, filepath: str) -> Response[Any]:  # noqa: ARG001
    """`<ref>.zip` or `<ref>.tar.gz`, everything inside one folder."""
    found = request.found
    wanted = request.rest_of_path(6)
    known = [(suffix, kind) for suffix, kind in SUFFIXES if wanted.endswith(suffix)]
    if not known:
        raise NotFound
    suffix, kind = known[0]
    ref = wanted.removesuffix(suffix)
    commit = await named_commit(request, ref)
    folder = found.row.lower_name
    etag = f'"{commit}-{folder}{suffix}"'
    headers = INERT | {
        "ETag": etag,
        "Cache-Control": _caching(found),
        "Content-Disposition": _disposition(
            "attachment", f"{found.row.name}-{ref}{suffix}".replace("/", "-")
        ),
    }
    if is_held(request.headers, etag):
        return Response(None, status_code=304, headers=headers)
    path = request.storage.path(found.id)
    opened = await request.parts.archives.open(found.id, path, commit, kind, folder)
    if opened.size is None:
        request.take_place()
    # What fails early, such as a missing file, is an answer; later it can only break the answer off.
    start = bytearray()
    async for chunk in opened.chunks:
        start += chunk
        if len(start) >= INLINE_BYTES:
            break
    else:
        return Response(bytes(start), media_type="application/octet-stream", headers=headers)
    if opened.size is not None:
        headers["Content-Length"] = str(opened.size)
    body = _cut(bytes(start), opened.chunks, None)
    return Stream(_logged(body), media_type="application/octet-stream", headers=headers)


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/editorconfig/{filepath:path}",
    policy=resource("read", "read:repository"),
    operation_id="repoGetEditorConfig",
    tags=["repository"],
    on_disk=True,
)
async def editorconfig(request: Call, filepath: str, ref: str = "") -> EditorConfig:  # noqa: ARG001
    """What the `.editorconfig` files of `ref`, or of the default branch, say of a file."""
    found = request.found
    commit = await named_commit(request, ref or found.row.default_branch)
    try:
        held = await request.storage.call(found.id, editor_settings, commit, request.rest_of_path(6))
    except (ObjectNotFound, OutputTooLarge) as error:
        raise NotFound(str(error)) from None
    width = held.get("tab_width", "")
    return EditorConfig(
        charset=held.get("charset", ""),
        indent_style=held.get("indent_style", ""),
        indent_size=held.get("indent_size", ""),
        tab_width=int(width) if width.isascii() and width.isdigit() and len(width) < 10 else 0,
        end_of_line=held.get("end_of_line", ""),
        trim_trailing_whitespace=held.get("trim_trailing_whitespace") == "true",
        insert_final_newline=held.get("insert_final_newline") == "true",
    )


async def _content(
    request: Call, found: Found, blob: Blob
) -> tuple[bytes, AsyncGenerator[bytes, None] | None]:
    """The beginning of a file, and the stream of the rest if it is large."""
    if blob.data is not None:
        return blob.data, None
    request.take_place()
    stream = stream_blob(request.storage.path(found.id), blob.oid)
    return await anext(stream, b""), stream


async def _cut(
    first: bytes, rest: AsyncGenerator[bytes, None], wanted: range | None
) -> AsyncGenerator[bytes, None]:
    """What of a stream lies within a part of it; all of it without one."""
    async with contextlib.aclosing(rest):
        chunk, at = first, 0
        while chunk and (wanted is None or at < wanted.stop):
            end = at + len(chunk)
            if wanted is None:
                yield chunk
            elif end > wanted.start:
                yield chunk[max(0, wanted.start - at) : wanted.stop - at]
            at = end
            chunk = await anext(rest, b"")


async def _logged(stream: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """The stream; git's complaint comes too late for a status and breaks the answer off."""
    async with contextlib.aclosing(stream):
        try:
            async for chunk in stream:
                yield chunk
        except GitError as error:
            log.warning("stream broken off", error=str(error))
            raise


def _caching(found: Found) -> str:
    shared = not found.row.private and found.row.owner_visibility == "public"
    return f"{'public' if shared else 'private'}, max-age=0, must-revalidate"


def _disposition(kind: str, name: str) -> str:
    """RFC 6266, with the name in ASCII for old clients."""
    plain = "".join(c if c.isascii() and c.isprintable() and c not in '"\\,;' else "_" for c in name)
    return f"{kind}; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


routes = [raw, archive, editorconfig]
