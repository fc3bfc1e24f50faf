"""Uploaded pictures of accounts: which are accepted."""

import base64
import binascii
import hashlib
import re
from typing import NamedTuple

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Invalid
from ingot_identity.accounts.rules.edits import announce_edit
from ingot_identity.accounts.rules.locks import lock_for_update
from ingot_identity.accounts.rules.presenter import Presenter
from ingot_identity.accounts.store import queries
from ingot_identity.avatars import store

_DATA_URL = re.compile(r"data:image/[a-z.+-]{1,30};base64,")


_TYPES = (
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "image/png"),
    (re.compile(rb"\xff\xd8\xff"), "image/jpeg"),
    (re.compile(rb"GIF8[79]a"), "image/gif"),
    (re.compile(rb"RIFF.{4}WEBP", re.DOTALL), "image/webp"),
)
"""First bytes of each type. SVG is not accepted: it can contain programs."""


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


async def save_picture(tx: Tx, presenter: Presenter, account_id: int, picture: Picture | None) -> None:
    """Replace the picture of an account; with None a drawn one takes its place. Raises NotFound."""
    before = await lock_for_update(tx, account_id)
    if picture is None:
        await store.remove(tx, account_id)
    else:
        await store.save(tx, account_id, **picture._asdict())
    await queries.change(tx, account_id, avatar_digest=picture.digest if picture else "")
    await announce_edit(tx, presenter, before)
