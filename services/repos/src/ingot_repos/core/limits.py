"""How much there may be."""

from ingot_chassis.database import Tx
from ingot_chassis.errors import Denied
from ingot_repos.store import repositories


async def require_room(tx: Tx, owner_id: int, most: int) -> None:
    """Raises Denied when the owner has ``most`` repositories already. 0: no limit.

    Until the transaction ends, others who ask for the same owner wait.
    """
    if most and await repositories.count_owned(tx, owner_id) >= most:
        raise Denied(f"the owner has {most} repositories, and may have no more")
