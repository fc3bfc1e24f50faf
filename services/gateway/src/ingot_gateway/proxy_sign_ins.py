"""Users whom a reverse proxy names in headers (``Remote-User``), if a setting trusts its address.

Services never get these headers, from any peer. Only the peer of the socket is trusted, because a client can
write any text into ``X-Forwarded-For``.
"""

from collections.abc import Sequence
from ipaddress import ip_address, ip_network
from typing import NamedTuple

from ingot_chassis.errors import BadRequest
from ingot_chassis.peers.peers import NoRoute
from ingot_chassis.settings import SettingsError
from ingot_contracts.identity.credentials import MOST_PROXY_CHARACTERS, ProxySession, ProxySignIn
from ingot_gateway.clients.identity import HttpIdentity
from ingot_wire.framing import Headers

NO_SESSION = ProxySession(secret="", seconds=0)


class ProxyHeaders(NamedTuple):
    """Names of headers, in lower case."""

    user: bytes
    email: bytes
    name: bytes

    @classmethod
    def of(cls, user: str, email: str, name: str) -> "ProxyHeaders":
        return cls(*(header.strip().lower().encode("latin-1") for header in (user, email, name)))


class ProxiedUser(NamedTuple):
    """A user as named by the reverse proxy. ``email`` and ``name`` may be empty."""

    user: str
    email: str
    name: str


class ProxySignIns:
    """Reads the headers of trusted peers, and starts sessions of the users that they name."""

    def __init__(self, networks: Sequence[str], headers: ProxyHeaders, identity: HttpIdentity) -> None:
        """Parse the networks. Raises SettingsError."""
        try:
            self._networks = [ip_network(network.strip()) for network in networks]
        except ValueError as error:
            raise SettingsError([f"INGOT_GATEWAY_PROXY_SIGN_IN_NETWORKS: {error}"]) from None
        self._headers, self._identity = headers, identity

    def user_of(self, peer: str, headers: Headers) -> ProxiedUser | None:
        """Return the user whom a trusted peer names; None if the peer is not trusted or names no user.

        Raises BadRequest if a name was sent twice, because a client may have added the second name. Also
        raises BadRequest for a name that no user can have.
        """
        if not self._networks or not self._trusts(peer):
            return None
        users = [value for name, value in headers if name == self._headers.user]
        if not any(users):
            return None
        user = _text(users[0])
        if len(users) != 1 or not user:
            header = self._headers.user.decode("latin-1")
            raise BadRequest(f"the header {header} of the reverse proxy is repeated or not readable")
        return ProxiedUser(
            user, self._only(headers, self._headers.email), self._only(headers, self._headers.name)
        )

    async def start(self, user: ProxiedUser, address: str, user_agent: str) -> ProxySession:
        """Start a session of the user. The secret is empty if the user may not sign in with this header.

        The secret is also empty if identity is an older release.
        """
        sign_in = ProxySignIn(**user._asdict(), address=address, user_agent=user_agent)
        try:
            return await self._identity.start_proxy_session(sign_in)
        except NoRoute:
            return NO_SESSION

    def _trusts(self, peer: str) -> bool:
        try:
            address = ip_address(peer)
        except ValueError:
            return False
        address = getattr(address, "ipv4_mapped", None) or address
        return any(address in network for network in self._networks)

    def _only(self, headers: Headers, name: bytes) -> str:
        values = [value for header, value in headers if header == name]
        return _text(values[0]) if len(values) == 1 else ""


def _text(value: bytes) -> str:
    """Return the header as text; empty if it is too long, or not printable UTF-8."""
    try:
        text = value.decode().strip()
    except UnicodeDecodeError:
        return ""
    return text if text.isprintable() and len(text) <= MOST_PROXY_CHARACTERS else ""
