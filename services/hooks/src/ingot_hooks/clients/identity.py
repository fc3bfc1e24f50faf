"""Calls to identity: accounts and memberships."""

from ingot_chassis.peers.peers import Peer, segment
from ingot_chassis.security.principal import Membership
from ingot_contracts.identity.accounts import Account


class HttpIdentity:
    """Client of identity's internal API. Raises NotFound for objects that do not exist."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def account(self, account_id: int) -> Account:
        return await self._peer.get(f"/internal/accounts/{account_id}", Account)

    async def account_by_name(self, login: str) -> Account:
        return await self._peer.get(f"/internal/accounts/by-name/{segment(login)}", Account)

    async def memberships(self, account_id: int) -> dict[int, Membership]:
        """Return the memberships of a user by organization id."""
        path = f"/internal/accounts/{account_id}/organizations"
        return await self._peer.get(path, dict[int, Membership])
