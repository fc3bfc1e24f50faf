"""The description that each service gives of its public routes."""

from typing import Any, Protocol

from ingot_chassis.peers import Peers


class Descriptions(Protocol):
    """Raises ApiError when ``service`` gives none."""

    async def of(self, service: str) -> dict[str, Any]: ...


class DescriptionsOfPeers:
    """The real ones."""

    def __init__(self, peers: Peers) -> None:
        self._peers = peers

    async def of(self, service: str) -> dict[str, Any]:
        return await self._peers[service].get("/internal/openapi.json", dict[str, Any])
