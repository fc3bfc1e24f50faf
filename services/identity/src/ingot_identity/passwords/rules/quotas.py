"""Limits for anonymous requests from one network that send mail or create rows."""

import hashlib

from ingot_chassis.errors import TooManyRequests
from ingot_chassis.http.concurrency import network_of
from ingot_identity.passwords.rules.throttle import WINDOW
from ingot_identity.passwords.store import ExpiringValues


class NetworkQuota:
    """A limit of ``most`` requests per purpose and network.

    It resets ``WINDOW`` seconds after the last accepted request.
    """

    def __init__(self, values: ExpiringValues, *, most: int) -> None:
        self._values, self._most = values, most

    async def take(self, purpose: str, address: str) -> None:
        """Count a request. Raises TooManyRequests. Requests without an address have no limit."""
        network = network_of(address)
        if not network:
            return

        def count(values: list[bytes | None]) -> list[bytes | None]:
            taken = int(values[0] or 0)
            if taken >= self._most:
                raise TooManyRequests(
                    "too many requests from your network; try again later",
                    headers={"Retry-After": str(WINDOW)},
                )
            return [str(taken + 1).encode()]

        key = hashlib.sha256(f"{purpose}\n{network}".encode()).hexdigest()
        await self._values.change([f"quota:{key}"], count)
