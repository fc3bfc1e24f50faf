"""Requests to every service for the OpenAPI document of its public routes."""

from typing import Any

from ingot_chassis.peers.peers import Peers


class HttpDescriptions:
    """Raises ApiError if a service gives no description."""

    def __init__(self, peers: Peers) -> None:
        self._peers = peers

    async def description(self, service: str) -> dict[str, Any]:
        return await self._peers[service].get("/internal/openapi.json", dict[str, Any])
