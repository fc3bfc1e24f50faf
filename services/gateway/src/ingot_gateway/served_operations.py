"""Which operations can be called: those of each service whose paths the gateway leads to it.

`/version` follows from it, which many clients ask for first. So services are asked for the ids alone: the descriptions of all
take a fifth of the start of `ingot up`. If a service does not answer, what it had last is used.
"""

import asyncio
import time
from collections.abc import Callable

import structlog

from ingot_chassis.errors import ApiError
from ingot_gateway.clients.descriptions import HttpDescriptions, OperationIds
from ingot_gateway.openapi_merge import RETRY_SECONDS, SERVICES, is_routed
from ingot_gateway.routes import RouteTable

log = structlog.get_logger()

PATIENCE_SECONDS = 1.0
FIRST_PATIENCE_SECONDS = 10.0


class ServedOperations:
    """The ids of all operations, at most ``seconds`` old."""

    def __init__(self, descriptions: HttpDescriptions, seconds: float) -> None:
        self._descriptions, self._seconds = descriptions, seconds
        self._of_services: dict[str, OperationIds] = {}
        self._ids: frozenset[str] = frozenset()
        self._valid_until = 0.0
        self._update: asyncio.Task[None] | None = None

    async def ids(self, own: Callable[[], OperationIds]) -> frozenset[str]:
        """``own`` lists those of the gateway. A service that is slow to answer is waited for at first, later not."""
        if time.monotonic() >= self._valid_until:
            if self._update is None or self._update.done():
                self._update = asyncio.create_task(self._updated(own), name="list operations")
            patience = PATIENCE_SECONDS if self._ids else FIRST_PATIENCE_SECONDS
            await asyncio.wait((self._update,), timeout=patience)
        return self._ids

    async def _updated(self, own: Callable[[], OperationIds]) -> None:
        complete = all(await asyncio.gather(*map(self._refresh, SERVICES)))
        table = RouteTable()
        self._ids = frozenset(
            operation_id
            for service, paths in {"gateway": own(), **self._of_services}.items()
            for path, ids in paths.items()
            if is_routed(table, service, path)
            for operation_id in ids
        )
        self._valid_until = time.monotonic() + (
            self._seconds if complete else min(self._seconds, RETRY_SECONDS)
        )

    async def _refresh(self, service: str) -> bool:
        """Whether the service answered."""
        try:
            self._of_services[service] = await self._descriptions.operation_ids(service)
        except ApiError as error:
            log.warning("a service does not list its operations", of=service, error=error.message)
            return False
        return True
