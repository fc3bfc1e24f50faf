"""Downloads of objects, whole or in part, in a form that browsers never execute."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

import structlog
from litestar import Response
from litestar.datastructures import Headers
from litestar.response import Stream

from ingot_chassis.http.ranges import has_etag, requested_range
from ingot_chassis.objects.store import ObjectStore

log = structlog.get_logger()

INERT = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
}


class StoredFile(NamedTuple):
    """A stored object with the name and type for its readers. ``size`` is in bytes.

    ``inline``: browsers show it as ``media_type`` instead of saving it.
    """

    key: str
    name: str
    size: int
    sha256: str
    media_type: str = "application/octet-stream"
    inline: bool = False


async def file_answer(
    headers: Headers,
    objects: ObjectStore,
    file: StoredFile,
    *,
    cached_by: Literal["public", "private"],
    before_end: Callable[[], Awaitable[None]] | None = None,
) -> Response[Any]:
    """Return the file, or the range that ``headers`` request; 304 if the client already has the file.

    ``before_end`` is awaited before the last bytes of the file are sent: once for each whole download. Raises
    RangeNotSatisfiable, ObjectLost.
    """
    etag = f'"{file.sha256}"'
    answer_headers = INERT | {
        "ETag": etag,
        "Accept-Ranges": "bytes",
        "Cache-Control": f"{cached_by}, max-age=0, must-revalidate",
    }
    if has_etag(headers, etag):
        return Response(None, status_code=304, headers=answer_headers)
    part = requested_range(headers, etag, file.size)
    byte_range = part if part is not None else range(file.size)
    if part is not None:
        answer_headers["Content-Range"] = f"bytes {part.start}-{part.stop - 1}/{file.size}"
    answer_headers |= {
        "Content-Disposition": disposition("inline" if file.inline else "attachment", file.name),
        "Content-Length": str(len(byte_range)),
    }
    rest = objects.read(file.key, byte_range)
    # A lost file gets an error status. A later failure can only abort the response.
    first = await anext(rest, b"")
    ends = byte_range.stop == file.size
    return Stream(
        _sent(file.key, first, rest, before_end if ends else None),
        media_type=file.media_type,
        headers=answer_headers,
        status_code=200 if part is None else 206,
    )


def disposition(kind: Literal["inline", "attachment"], name: str) -> str:
    """Return Content-Disposition (RFC 6266), with an ASCII name for old clients."""
    plain = "".join(c if c.isascii() and c.isprintable() and c not in '"\\,;' else "_" for c in name)
    return f"{kind}; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


async def _sent(
    key: str,
    part: bytes,
    rest: AsyncGenerator[bytes, None],
    before_end: Callable[[], Awaitable[None]] | None,
) -> AsyncGenerator[bytes, None]:
    try:
        async for next_part in rest:
            yield part
            part = next_part
        if before_end is not None:
            await before_end()
        yield part
    except Exception:
        log.exception("a download was broken off", key=key)
        raise
    finally:
        await rest.aclose()
