"""Requests to identity: which account does a credential belong to?"""

from ingot_chassis.peers.peers import Peer
from ingot_contracts.identity.credentials import Authenticate, Authenticated


class HttpIdentity:
    """identity's internal API. Raises the ApiError that identity answered, or Unavailable."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def authenticate(self, credential: Authenticate) -> Authenticated:
        return await self._peer.post("/internal/authenticate", credential, Authenticated)
