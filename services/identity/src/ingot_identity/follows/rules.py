"""Following of users. If one user blocks another, neither can follow the other."""

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Denied
from ingot_identity.blocks import store as block_store
from ingot_identity.blocks.rules import lock_relation
from ingot_identity.follows import store


async def follow(tx: Tx, follower_id: int, followed_id: int) -> None:
    """Follow a user. Following oneself has no effect.

    Raises Denied if one of the two blocks the other, and NotFound.
    """
    if follower_id == followed_id:
        return
    await lock_relation(tx, follower_id, followed_id)
    if await block_store.exists_between(tx, follower_id, followed_id):
        raise Denied("one of you has blocked the other")
    await store.add(tx, follower_id, followed_id)
