"""The address of the client: the peer of the socket, or the address that a trusted proxy reports."""

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import structlog

from ingot_chassis.settings import SettingsError

log = structlog.get_logger()

_NARROW = {4: 24, 6: 64}
"""The shortest prefix that causes no warning, by IP version. There are only few proxies."""


class TrustedProxies:
    """Networks of proxies whose ``X-Forwarded-For`` is trusted."""

    def __init__(self, networks: Sequence[str]) -> None:
        """Parse the networks. Raises SettingsError."""
        try:
            self._networks = [ip_network(network) for network in networks]
        except ValueError as error:
            raise SettingsError([f"INGOT_GATEWAY_TRUSTED_PROXIES: {error}"]) from None
        for network in self._networks:
            if network.prefixlen < _NARROW[network.version] and not network.is_loopback:
                log.warning(
                    "trusted proxies are a wide network: everything in it can claim any address, so name "
                    "the proxies alone",
                    network=str(network),
                )

    def client(self, peer: str, forwarded_for: bytes) -> str:
        """Return the nearest address that is not a trusted proxy, or the farthest if all are trusted.

        Each proxy appends the address of its own peer on the right. So entries are read from the right, and
        are reliable up to the first address that is not trusted.
        """
        if not self._networks or not forwarded_for:
            return peer
        client = peer
        for entry in reversed(forwarded_for.decode("latin-1").split(",")):
            if not self._trusts(client):
                break
            address = _address(entry.strip())
            if address is None:
                break
            client = str(address)
        return client

    def _trusts(self, text: str) -> bool:
        address = _address(text)
        return address is not None and any(address in network for network in self._networks)


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
