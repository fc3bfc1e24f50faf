"""Sends requests to endpoints. A thread imports the HTTP client for the first request.

The HTTP client is a sixth of the imports of hooks, and takes 8 MiB. A process without deliveries saves both.
"""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ingot_chassis.security.egress import Egress, Resolve
from ingot_chassis.security.own_servers import OwnServers
from ingot_hooks.endpoints.clients.replies import Reply

if TYPE_CHECKING:
    from ingot_hooks.endpoints.clients.http import HttpEndpoints


class Endpoints:
    """Client of endpoints.

    ``seconds`` is the time from the lookup of the host to the head of the response.
    """

    def __init__(
        self, egress: Egress, own_servers: OwnServers, seconds: float, *, resolve: Resolve | None = None
    ) -> None:
        self._arguments = egress, own_servers, seconds, resolve
        self._over_http: HttpEndpoints | None = None

    async def close(self) -> None:
        """Close all connections, and stop the threads that resolve hosts."""
        if self._over_http is not None:
            await self._over_http.close()

    async def send(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """Send one request. Every failure of the endpoint is a ``Reply``, never an exception."""
        if self._over_http is None:
            http_endpoints = await asyncio.to_thread(_import_http_endpoints)
            if self._over_http is None:  # else another request was here first
                self._over_http = http_endpoints(*self._arguments)
        return await self._over_http.send(method, url, headers, body)


def _import_http_endpoints() -> "type[HttpEndpoints]":
    from ingot_hooks.endpoints.clients.http import HttpEndpoints

    return HttpEndpoints
