"""Pictures that users upload: the accepted types, and their responses."""

import base64
import binascii
import hashlib
import re
from typing import Annotated, Any, NamedTuple

import msgspec
from litestar import Response
from litestar.datastructures import Headers

from ingot_chassis.errors import Invalid
from ingot_chassis.http.downloads import INERT
from ingot_chassis.http.ranges import has_etag

MOST_BYTES = 4_194_304
"""The largest value in bytes of a setting that limits pictures."""
DIGEST_LENGTH = 64

_DATA_URL = re.compile(r"data:image/[a-z.+-]{1,30};base64,")
_TYPES = (
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "image/png"),
    (re.compile(rb"\xff\xd8\xff"), "image/jpeg"),
    (re.compile(rb"GIF8[79]a"), "image/gif"),
    (re.compile(rb"RIFF.{4}WEBP", re.DOTALL), "image/webp"),
)
"""First bytes of each type. SVG is not accepted: it can contain programs."""


class UploadAvatar(msgspec.Struct):
    """An upload. `image` is a PNG, JPEG, GIF or WebP in base64, also as a data URL."""

    image: Annotated[str, msgspec.Meta(max_length=MOST_BYTES * 3 // 2)] = ""


class Picture(NamedTuple):
    """An uploaded picture. ``digest`` is the SHA-256 of ``content`` in hex."""

    digest: str
    media_type: str
    content: bytes


def read_picture(image: str, most_bytes: int, *, field: str = "image") -> Picture:
    """Return the picture in ``image``: base64 or a data URL. The type is detected from its bytes.

    Raises Invalid.
    """
    text = image.strip()
    url = _DATA_URL.match(text)
    try:
        content = base64.b64decode("".join(text[url.end() if url else 0 :].split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise Invalid.field(field, "format", "is not base64") from error
    if not content:
        raise Invalid.field(field, "required", "is required")
    return picture_of(content, most_bytes, field=field)


def picture_of(content: bytes, most_bytes: int, *, field: str) -> Picture:
    """Return the picture with these bytes. Its type is detected from the bytes. Raises Invalid."""
    if len(content) > most_bytes:
        raise Invalid.field(field, "length", f"has more than {most_bytes} bytes")
    for start, media_type in _TYPES:
        if start.match(content):
            return Picture(hashlib.sha256(content).hexdigest(), media_type, content)
    raise Invalid.field(field, "type", "is no PNG, JPEG, GIF or WebP")


def is_digest(text: str) -> bool:
    """True if ``text`` has the form of a picture's digest, or of the seed of a generated picture."""
    return len(text) <= DIGEST_LENGTH and text.isascii() and text.isalnum()


def picture_response(
    headers: Headers, content: bytes, *, etag: str, media_type: str, cache_control: str
) -> Response[Any]:
    """Return the response for a picture: 304 if the client already has it.

    ``headers`` are the headers of the request.
    """
    answered = INERT | {"Cache-Control": cache_control, "ETag": etag}
    if has_etag(headers, etag):
        return Response(None, status_code=304, headers=answered)
    return Response(content, media_type=media_type, headers=answered)
