"""Uploaded pictures of accounts: which are accepted."""

import base64
import binascii
import hashlib
import re
from typing import NamedTuple

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Invalid
from ingot_identity.store import avatars

_DATA_URL = re.compile(r"data:image/[a-z.+-]{1,30};base64,")
_TYPES = (
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "image/png"),
    (re.compile(rb"\xff\xd8\xff"), "image/jpeg"),
    (re.compile(rb"GIF8[79]a"), "image/gif"),
    (re.compile(rb"RIFF.{4}WEBP", re.DOTALL), "image/webp"),
)
"""How files of each type begin. SVG is not among them: it can hold programs."""


class Picture(NamedTuple):
    """``digest`` is the SHA-256 of ``content`` in hex."""

    digest: str
    media_type: str
    content: bytes


def read_picture(image: str, most_bytes: int) -> Picture:
    """The picture in ``image``, which is base64, also in a data URL. Its type is what its content says.

    Raises Invalid.
    """
    text = image.strip()
    url = _DATA_URL.match(text)
    try:
        content = base64.b64decode("".join(text[url.end() if url else 0 :].split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise Invalid.field("image", "format", "is not base64") from error
    if not content:
        raise Invalid.field("image", "required", "is required")
    if len(content) > most_bytes:
        raise Invalid.field("image", "length", f"has more than {most_bytes} bytes")
    for start, media_type in _TYPES:
        if start.match(content):
            return Picture(hashlib.sha256(content).hexdigest(), media_type, content)
    raise Invalid.field("image", "type", "is no PNG, JPEG, GIF or WebP")


async def save_picture(tx: Tx, account_id: int, picture: Picture | None) -> dict[str, str]:
    """Replace the picture of a locked account, with None by a drawn one; the columns of the account that change."""
    if picture is None:
        await avatars.remove(tx, account_id)
        return {"avatar_digest": ""}
    await avatars.save(tx, account_id, **picture._asdict())
    return {"avatar_digest": picture.digest}
