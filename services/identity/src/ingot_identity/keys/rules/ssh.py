"""SSH keys of users. A key belongs to one user. Users and directories add keys."""

from collections.abc import Collection
from typing import NamedTuple

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Conflict, Invalid
from ingot_chassis.security import ssh_keys
from ingot_identity.accounts.rules.locks import lock_for_share
from ingot_identity.keys.store import ssh as store
from ingot_identity.keys.store.tables import SshKeyRow
from ingot_identity.sources.store.tables import IdentityRow

MOST_OF_DIRECTORY = 50
"""Maximum number of keys of one person that a directory gives."""


async def add(tx: Tx, account_id: int, *, title: str, key: str, read_only: bool) -> SshKeyRow:
    """Add a key to a user. A ``read_only`` key can only fetch. Raises Invalid."""
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


async def remove_by_hand(tx: Tx, row: SshKeyRow) -> None:
    """Delete a key for its owner or an administrator. Raises Conflict for a key that a directory added."""
    if row.identity_id is not None:
        title = (await store.sources_of(tx, row.account_id)).get(row.identity_id, "a directory")
        raise Conflict(f"{title} gave this key and would give it again; remove it there")
    await store.remove(tx, row.id)


class KeyChanges(NamedTuple):
    """Keys of a directory that were added to or removed from an account, and reasons for skipped keys."""

    added: list[SshKeyRow]
    removed: list[SshKeyRow]
    refusals: list[str]


async def differ(db: Executor, present: Collection[str], keys: Collection[str]) -> bool:
    """True if ``synchronize`` would change the keys of an account. ``present`` are its current fingerprints.

    Keys that cannot be read, or that belong to an account, do not count, because they are never added.
    """
    readable, present = _by_fingerprint(keys)[0].keys(), {*present}
    if not present <= readable:
        return True
    missing = readable - present
    taken = await store.list_by_fingerprint(db, missing) if missing else []
    return len(taken) < len(missing)


async def synchronize(tx: Tx, identity: IdentityRow, source_title: str, keys: Collection[str]) -> KeyChanges:
    """Replace the linked account's keys of a directory by ``keys``. Keys that the user added stay.

    Keys that cannot be read, or that belong to an account, are skipped. The account must be locked.
    """
    readable, refusals = _by_fingerprint(keys)
    present = {row.fingerprint: row for row in await store.list_of_identity(tx, identity.id)}
    removed = [row for fingerprint, row in present.items() if fingerprint not in readable]
    for row in removed:
        await store.remove(tx, row.id)
    added = list[SshKeyRow]()
    for fingerprint, key in readable.items():
        if fingerprint in present:
            continue
        added_row = await store.add(
            tx,
            identity.account_id,
            title=f"{source_title}: {fingerprint}",
            content=key.content,
            fingerprint=fingerprint,
            identity_id=identity.id,
        )
        if added_row is None:
            refusals.append(f"{fingerprint} is in use")
        else:
            added.append(added_row)
    return KeyChanges(added, removed, refusals)


def _by_fingerprint(keys: Collection[str]) -> tuple[dict[str, ssh_keys.PublicKey], list[str]]:
    """Return the usable keys by fingerprint, and the reasons why other keys cannot be used."""
    readable, refusals = dict[str, ssh_keys.PublicKey](), list[str]()
    for text in keys:
        try:
            key = ssh_keys.read(text)
        except Invalid as error:
            refusals.append(f"a key {error.errors[0].message}")
            continue
        if len(readable) < MOST_OF_DIRECTORY:
            readable[key.fingerprint] = key
        else:
            refusals.append(f"a person has at most {MOST_OF_DIRECTORY} keys")
    return readable, refusals
