"""Client for the public routes of services: the OpenAPI document, or only the ids of operations."""

from collections.abc import Mapping, Sequence
from typing import Any

from ingot_chassis.errors import NotFound
from ingot_chassis.peers.peers import Peers

OperationIds = Mapping[str, Sequence[str]]
"""The ids of the operations of a service, by path."""


class HttpDescriptions:
    """Client for API descriptions. Raises ApiError if a service does not return its description."""

    def __init__(self, peers: Peers) -> None:
        self._peers = peers

    async def description(self, service: str) -> dict[str, Any]:
        return await self._peers[service].get("/internal/openapi.json", dict[str, Any])

    async def operation_ids(self, service: str) -> OperationIds:
        try:
            return await self._peers[service].get("/internal/operations", dict[str, list[str]])
        except NotFound:  # a process of the release before, which has no such route
            return described_ids(await self.description(service))


def described_ids(document: Mapping[str, Any]) -> OperationIds:
    """Return the ids of the operations in an OpenAPI document."""
    return {
        path: [operation["operationId"] for operation in item.values() if "operationId" in operation]
        for path, item in document.get("paths", {}).items()
    }
