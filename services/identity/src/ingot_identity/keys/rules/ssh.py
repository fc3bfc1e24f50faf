"""SSH keys of users. A key belongs to one user."""

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Invalid
from ingot_chassis.security import ssh_keys
from ingot_identity.accounts.rules.locks import lock_for_share
from ingot_identity.keys.store import ssh as store
from ingot_identity.keys.store.tables import SshKeyRow


async def add(tx: Tx, account_id: int, *, title: str, key: str, read_only: bool) -> SshKeyRow:
    """Add a key to a user. A ``read_only`` key may fetch, and not push. Raises Invalid."""
    title = title.strip()
    if not title:
        raise Invalid.field("title", "required", "is required")
    public_key = ssh_keys.read(key)
    await lock_for_share(tx, account_id)
    row = await store.add(
        tx,
        account_id,
        title=title,
        content=public_key.content,
        fingerprint=public_key.fingerprint,
        read_only=read_only,
    )
    if row is not None:
        return row
    if await store.exists(tx, public_key.fingerprint):
        raise Invalid.field("key", "taken", "is in use")
    raise Invalid.field("title", "taken", f"there is a key {title!r}")
