"""SSH keys and the picture of a person, from an entry of a directory."""

from collections.abc import Sequence

import structlog

from ingot_chassis.db.audit import Actor, add_entry
from ingot_chassis.db.database import Database
from ingot_chassis.errors import Invalid
from ingot_chassis.http.pictures import Picture, picture_of
from ingot_identity.accounts.rules.locks import lock_for_share, lock_for_update
from ingot_identity.accounts.rules.presenter import Presenter
from ingot_identity.avatars.rules import save_picture
from ingot_identity.keys.rules import ssh as ssh_keys
from ingot_identity.keys.store import ssh as key_store
from ingot_identity.sources.store import identities
from ingot_identity.sources.store.tables import IdentityRow, SourceRow

log = structlog.get_logger()


async def apply_keys(
    db: Database, source: SourceRow, identity: IdentityRow, actor: Actor, keys: Sequence[str]
) -> None:
    """Add the keys of the entry to the account, and remove keys that the entry no longer has."""
    async with db.read() as reader:
        present = {row.fingerprint for row in await key_store.list_of_identity(reader, identity.id)}
        if not await ssh_keys.differ(reader, present, keys):
            return
    async with db.transaction() as tx:
        account = await lock_for_share(tx, identity.account_id)
        current = await identities.get_of_account(tx, account.id, source.id)
        if current is None or current.id != identity.id:
            return  # it was unlinked since
        changes = await ssh_keys.synchronize(tx, identity, source.title, keys)
        for action, rows in (("ssh_key.add", changes.added), ("ssh_key.delete", changes.removed)):
            for row in rows:
                details = {"title": row.title, "fingerprint": row.fingerprint, "source": source.name}
                await add_entry(tx, actor, action, f"user {account.login}", details)
    if changes.refusals:
        log.warning(
            "keys of a directory are not added",
            source=source.name,
            user=account.login,
            count=len(changes.refusals),
            first=changes.refusals[0],
        )


async def apply_avatar(
    db: Database,
    presenter: Presenter,
    source: SourceRow,
    identity: IdentityRow,
    content: bytes,
    most_bytes: int,
) -> None:
    """Replace the account's picture if the picture in the directory has changed.

    An uploaded picture is kept until the next change in the directory. A picture in the directory that cannot
    be used is treated like no picture. Without a picture there, only a picture from the directory is removed.
    """
    picture = _picture_of(source, identity, content, most_bytes)
    digest = picture.digest if picture else ""
    if digest == identity.avatar_digest:
        return
    async with db.transaction() as tx:
        account = await lock_for_update(tx, identity.account_id)
        if picture is not None or account.avatar_digest == identity.avatar_digest:
            await save_picture(tx, presenter, account.id, picture)
        await identities.change(tx, identity.id, avatar_digest=digest)


def _picture_of(source: SourceRow, identity: IdentityRow, content: bytes, most_bytes: int) -> Picture | None:
    try:
        return picture_of(content, most_bytes, field="picture") if content else None
    except Invalid as error:
        log.warning(
            "a picture of a directory is not used",
            source=source.name,
            user=identity.account_id,
            reason=error.message,
        )
        return None
