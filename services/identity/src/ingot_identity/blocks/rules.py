"""Blocking of users. A block ends follows in both directions."""

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Invalid
from ingot_contracts.limits import NAME_CHARACTERS
from ingot_identity.access.store import memberships
from ingot_identity.accounts.rules.locks import lock_for_share
from ingot_identity.accounts.store import follows
from ingot_identity.accounts.store.tables import AccountKind
from ingot_identity.blocks import store as blocks


async def block(tx: Tx, blocker_id: int, blocked_id: int, note: str) -> None:
    """Block a user, and end follows in both directions. Raises Invalid, NotFound.

    Users cannot block themselves, and an organization cannot block its members.
    """
    if len(note) > NAME_CHARACTERS:
        raise Invalid.field("note", "length", f"has more than {NAME_CHARACTERS} characters")
    if blocker_id == blocked_id:
        raise Invalid.field("username", "self", "nobody can block themselves")
    await lock_relation(tx, blocker_id, blocked_id)
    blocker = await lock_for_share(tx, blocker_id)
    if blocker.kind == AccountKind.ORGANIZATION and await memberships.exists(tx, blocker_id, blocked_id):
        raise Invalid.field("username", "member", "members of the organization cannot be blocked")
    await blocks.save(tx, blocker_id, blocked_id, note)
    await follows.remove_between(tx, blocker_id, blocked_id)


async def lock_relation(tx: Tx, *account_ids: int) -> None:
    """Lock two accounts against deletion, and serialize changes of the blocks and follows between them.

    Raises NotFound.
    """
    first, second = sorted(account_ids)
    for account_id in (first, second):
        await lock_for_share(tx, account_id)
    await tx.advisory_lock(f"relation of {first} and {second}")
