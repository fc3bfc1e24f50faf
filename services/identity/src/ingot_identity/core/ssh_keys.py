"""SSH keys of users: one key belongs to one person."""

from typing import Any

from ingot_chassis import ssh_keys
from ingot_chassis.database import Tx
from ingot_chassis.errors import Invalid
from ingot_identity.core.holding import kept
from ingot_identity.store import ssh_keys as store

TITLE_LENGTH = 255


async def add(tx: Tx, account_id: int, *, title: str, key: str) -> Any:
    """Add a key to a user; the row. Raises Invalid."""
    title = title.strip()
    if not title:
        raise Invalid.field("title", "required", "is required")
    if len(title) > TITLE_LENGTH:
        raise Invalid.field("title", "length", f"has more than {TITLE_LENGTH} characters")
    read_key = ssh_keys.read(key)
    await kept(tx, account_id)
    row = await store.add(
        tx, account_id, title=title, content=read_key.content, fingerprint=read_key.fingerprint
    )
    if row is not None:
        return row
    if await store.exists(tx, read_key.fingerprint):
        raise Invalid.field("key", "taken", "is in use")
    raise Invalid.field("title", "taken", f"there is a key {title!r}")
