"""An internal route for other services: blocks."""

from litestar import get

from ingot_chassis.http.policy import services
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.blocks import store as blocks


@get(
    "/internal/accounts/{account_id:int}/blocks/{user_id:int}",
    policy=services("repos", "issues"),
    include_in_schema=False,
)
async def is_blocked(request: IdentityRequest, account_id: int, user_id: int) -> bool:
    """True if the account blocks the user."""
    async with request.db.read() as db:
        return await blocks.exists(db, account_id, user_id)


routes = [is_blocked]
