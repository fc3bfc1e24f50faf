"""An internal route for other services: memberships."""

from litestar import get

from ingot_chassis.http.policy import services
from ingot_chassis.security.principal import Membership
from ingot_identity.accounts.request import IdentityRequest
from ingot_identity.members import rules as members


@get(
    "/internal/accounts/{account_id:int}/organizations",
    policy=services("repos", "issues", "hooks"),
    include_in_schema=False,
)
async def organizations_of_account(
    request: IdentityRequest, account_id: int, public: bool = False
) -> dict[int, Membership]:
    """Return current memberships of a user. Peers call this before they deny access with an old principal.

    ``?public=true``: only public memberships, for responses to other users.
    """
    async with request.db.read() as db:
        return await members.memberships_of(db, account_id, public_only=public)


routes = [organizations_of_account]
