"""Range requests and conditional requests for files (RFC 9110, sections 13 and 14)."""

import re

from litestar.datastructures import Headers

from ingot_chassis.errors import ApiError

_RANGE = re.compile(r"bytes=(\d{0,19})-(\d{0,19})", re.IGNORECASE)


class RangeNotSatisfiable(ApiError):
    """The file has no such part."""

    status = 416

    def __init__(self, size: int) -> None:
        super().__init__(headers={"Content-Range": f"bytes */{size}"})


def has_etag(headers: Headers, etag: str) -> bool:
    """Return whether the client already has the representation with this strong ETag."""
    tags = [tag.strip().removeprefix("W/") for tag in headers.get("if-none-match", "").split(",")]
    return etag in tags or "*" in tags


def requested_range(headers: Headers, etag: str, size: int) -> range | None:
    """Return the bytes that a Range header requests; None for the whole file.

    Several ranges, or a range of another version of the file, are answered with the whole file. Raises
    RangeNotSatisfiable.
    """
    match = _RANGE.fullmatch(headers.get("range", "").strip())
    if match is None or headers.get("if-range", etag) != etag:
        return None
    first, last = match.groups()
    if first:
        part = range(int(first), min(int(last) + 1, size) if last else size)
        if last and int(last) < int(first):
            return None
    elif last:
        part = range(max(0, size - int(last)), size)
    else:
        return None
    if not part:
        raise RangeNotSatisfiable(size)
    return part
