"""Client of identity: finds the account of a credential, and starts sessions for a reverse proxy."""

from ingot_chassis.peers.peers import Peer
from ingot_contracts.identity.credentials import Authenticate, Authenticated, ProxySession, ProxySignIn


class HttpIdentity:
    """Client of identity's internal API. Raises the ApiError of identity, or Unavailable."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def authenticate(self, credential: Authenticate) -> Authenticated:
        return await self._peer.post("/internal/authenticate", credential, Authenticated)

    async def start_proxy_session(self, sign_in: ProxySignIn) -> ProxySession:
        """Start a session of a user whom a reverse proxy names."""
        return await self._peer.post("/internal/proxy-sign-ins", sign_in, ProxySession)
