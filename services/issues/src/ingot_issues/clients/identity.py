"""What issues asks identity: who is behind an id or a name."""

from typing import Protocol

from ingot_chassis.peers import Peer, segment
from ingot_contracts.identity import Account


class Identity(Protocol):
    """Raises NotFound for nobody, Unavailable when identity does not answer."""

    async def account(self, account_id: int) -> Account: ...

    async def account_named(self, login: str) -> Account: ...


class IdentityPeer:
    """Asks over the internal API."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def account(self, account_id: int) -> Account:
        return await self._peer.get(f"/internal/accounts/{account_id}", Account)

    async def account_named(self, login: str) -> Account:
        return await self._peer.get(f"/internal/accounts/by-name/{segment(login)}", Account)
