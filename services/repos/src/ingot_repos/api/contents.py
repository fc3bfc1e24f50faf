"""Files and archives at a ref. What people push is shown as inert text, image or download, never as a page."""

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any
from urllib.parse import quote

import structlog
from litestar import Response, get
from litestar.response import Stream

from ingot_chassis.errors import NotFound
from ingot_chassis.policy import resource
from ingot_repos.api.call import Call, Found
from ingot_repos.git.archive import ArchiveFormat, stream_archive
from ingot_repos.git.errors import GitError, ObjectNotFound, RefNotFound, RepositoryNotFound
from ingot_repos.git.objects import is_reachable, read_blob, stream_blob
from ingot_repos.git.refs import Resolved, resolve, resolve_path

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


def content_type(start: bytes) -> str:
    """What a browser may take a file for; never anything that runs."""
    for magic, known in _IMAGES:
        if start.startswith(magic):
            return known
    if start[:4] == b"RIFF" and start[8:12] == b"WEBP":
        return "image/webp"
    return "application/octet-stream" if b"\0" in start[:SNIFFED] else "text/plain"


async def commit_at(request: Call, found: Found, resolved: Resolved) -> str:
    """The commit, if it belongs to this repository's history and not only to its storage. Raises NotFound."""
    if resolved.kind == "commit" and not await request.storage.call(found.id, is_reachable, resolved.commit):
        raise NotFound
    return resolved.commit


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/raw/{filepath:path}",
    policy=resource("read", "read:repository"),
    on_disk=True,
    operation_id="repoGetRawFile",
    tags=["repository"],
)
async def raw(request: Call, filepath: str) -> Response[Any]:  # noqa: ARG001
    """A file of a branch, tag or commit, else of the default branch."""
    found = request.found
    try:
        resolved, path = await request.storage.call(found.id, resolve_path, request.rest_of_path(6))
        commit = await commit_at(request, found, resolved)
        blob = await request.storage.call(found.id, read_blob, commit, path, max_bytes=INLINE_BYTES)
    except (RefNotFound, ObjectNotFound, RepositoryNotFound):
        raise NotFound from None
    etag = f'"{blob.oid}"'
    headers = INERT | {
        "ETag": etag,
        "Cache-Control": f"{'private' if found.row.private else 'public'}, max-age=0, must-revalidate",
    }
    if etag in request.headers.get("if-none-match", ""):
        return Response(None, status_code=304, headers=headers)
    if blob.data is None:
        headers["Content-Length"] = str(blob.size)
        headers["Content-Disposition"] = _disposition("attachment", path.rsplit("/", 1)[-1])
        body = _logged(stream_blob(request.storage.path(found.id), blob.oid))
        return Stream(body, media_type="application/octet-stream", headers=headers)
    kind = content_type(blob.data[:SNIFFED])
    download = kind == "application/octet-stream"
    headers["Content-Disposition"] = _disposition(
        "attachment" if download else "inline", path.rsplit("/", 1)[-1]
    )
    return Response(blob.data, media_type=kind, headers=headers)


@get(
    "/api/v1/repos/{owner:str}/{repo:str}/archive/{filepath:path}",
    policy=resource("read", "read:repository"),
    on_disk=True,
    operation_id="repoGetArchive",
    tags=["repository"],
)
async def archive(request: Call, filepath: str) -> Stream:  # noqa: ARG001
    """`<ref>.zip` or `<ref>.tar.gz`, everything inside one folder."""
    found = request.found
    wanted = request.rest_of_path(6)
    known = [(suffix, kind) for suffix, kind in SUFFIXES if wanted.endswith(suffix)]
    if not known:
        raise NotFound
    suffix, kind = known[0]
    ref = wanted.removesuffix(suffix)
    try:
        resolved = await request.storage.call(found.id, resolve, ref)
    except (RefNotFound, RepositoryNotFound):
        raise NotFound from None
    commit = await commit_at(request, found, resolved)
    folder = found.row.lower_name
    stream = stream_archive(request.storage.path(found.id), commit, kind, folder)
    return Stream(
        _logged(stream),
        media_type="application/octet-stream",
        headers=INERT
        | {
            "Content-Disposition": _disposition(
                "attachment", f"{found.row.name}-{ref}{suffix}".replace("/", "-")
            )
        },
    )


async def _logged(stream: AsyncGenerator[bytes, None]) -> AsyncIterator[bytes]:
    """The stream; git's complaint comes too late for a status and breaks the answer off."""
    async with contextlib.aclosing(stream):
        try:
            async for chunk in stream:
                yield chunk
        except GitError as error:
            log.warning("stream broken off", error=str(error))
            raise


def _disposition(kind: str, name: str) -> str:
    """RFC 6266, with the name in ASCII for old clients."""
    plain = "".join(c if c.isascii() and c.isprintable() and c not in '"\\,;' else "_" for c in name)
    return f"{kind}; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


routes = [raw, archive]
