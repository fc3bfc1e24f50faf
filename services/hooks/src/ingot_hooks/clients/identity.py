"""What hooks asks identity: whose name is that, and what is a person in organizations now."""

from typing import Protocol

from ingot_chassis.peers import Peer, segment
from ingot_chassis.principal import Membership
from ingot_contracts.identity import Account


class Identity(Protocol):
    async def account_by_name(self, login: str) -> Account:
        """Raises NotFound."""

    async def account(self, account_id: int) -> Account:
        """Raises NotFound."""

    async def memberships(self, user_id: int) -> dict[int, Membership]: ...


class PeerIdentity:
    """Identity through its internal API."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def account_by_name(self, login: str) -> Account:
        return await self._peer.get(f"/internal/accounts/by-name/{segment(login)}", Account)

    async def account(self, account_id: int) -> Account:
        return await self._peer.get(f"/internal/accounts/{account_id}", Account)

    async def memberships(self, user_id: int) -> dict[int, Membership]:
        return await self._peer.get(f"/internal/accounts/{user_id}/organizations", dict[int, Membership])
