"""The limit of repositories that an account may own."""

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Denied
from ingot_repos.catalog.store import repositories


async def require_room(tx: Tx, owner_id: int, most: int) -> None:
    """Raise Denied if the owner already has ``most`` repositories. 0 means no limit.

    Locks the account of the owner until the transaction ends.
    """
    if most and await repositories.count_owned(tx, owner_id) >= most:
        raise Denied(f"the owner has {most} repositories, and may have no more")
