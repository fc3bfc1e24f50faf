"""identity, as the gateway needs it: whose credential is this?"""

from typing import Protocol

from ingot_chassis.peers import Peer
from ingot_contracts.identity import Authenticate, Authenticated


class Identity(Protocol):
    """Raises the ApiError that identity answered, or Unavailable."""

    async def authenticate(self, credential: Authenticate) -> Authenticated: ...


class IdentityOverPeer:
    """The real one."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def authenticate(self, credential: Authenticate) -> Authenticated:
        return await self._peer.post("/internal/authenticate", credential, Authenticated)
