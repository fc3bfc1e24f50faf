"""Blocking users, and following, which a block forbids in both directions."""

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Denied, Invalid
from ingot_contracts.limits import NAME_CHARACTERS
from ingot_identity.core.locks import lock_for_share
from ingot_identity.store import blocks, follows, members
from ingot_identity.store.tables import AccountKind


async def block(tx: Tx, blocker_id: int, blocked_id: int, note: str) -> None:
    """Block a user; neither follows the other any more. Raises Invalid, NotFound.

    Nobody blocks themselves, and an organization does not block its members.
    """
    if len(note) > NAME_CHARACTERS:
        raise Invalid.field("note", "length", f"has more than {NAME_CHARACTERS} characters")
    if blocker_id == blocked_id:
        raise Invalid.field("username", "self", "nobody can block themselves")
    await _lock_relation(tx, blocker_id, blocked_id)
    blocker = await lock_for_share(tx, blocker_id)
    if blocker.kind == AccountKind.ORGANIZATION and await members.exists(tx, blocker_id, blocked_id):
        raise Invalid.field("username", "member", "members of the organization cannot be blocked")
    await blocks.save(tx, blocker_id, blocked_id, note)
    await follows.remove_between(tx, blocker_id, blocked_id)


async def follow(tx: Tx, follower_id: int, followed_id: int) -> None:
    """Follow a user. To follow oneself has no effect. Raises Denied while one of the two blocks the other, NotFound."""
    if follower_id == followed_id:
        return
    await _lock_relation(tx, follower_id, followed_id)
    if await blocks.exists_between(tx, follower_id, followed_id):
        raise Denied("one of you has blocked the other")
    await follows.add(tx, follower_id, followed_id)


async def _lock_relation(tx: Tx, *account_ids: int) -> None:
    """Nobody deletes one of the two accounts, and no follow begins while a block does. Raises NotFound."""
    first, second = sorted(account_ids)
    for account_id in (first, second):
        await lock_for_share(tx, account_id)
    await tx.advisory_lock(f"relation of {first} and {second}")
