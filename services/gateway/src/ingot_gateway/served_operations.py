"""Operations that can be called: operations of services whose paths the gateway routes to the service.

`/version`, which many clients request first, is derived from them. So only ids are requested: building all
descriptions takes a fifth of the start of `ingot up`. If a service does not respond, its last response is
used.
"""

import asyncio
import time
from collections.abc import Callable

from ingot_gateway.clients.descriptions import HttpDescriptions, OperationIds
from ingot_gateway.latest_answers import LatestAnswers
from ingot_gateway.openapi_merge import is_routed
from ingot_gateway.routes import RouteTable

PATIENCE_SECONDS = 1.0
FIRST_PATIENCE_SECONDS = 10.0


class ServedOperations:
    """The ids of all operations, cached for at most ``seconds``."""

    def __init__(self, descriptions: HttpDescriptions, seconds: float) -> None:
        self._latest = LatestAnswers(
            descriptions.operation_ids, seconds, complaint="a service does not list its operations"
        )
        self._ids: frozenset[str] = frozenset()
        self._valid_until = 0.0
        self._update: asyncio.Task[None] | None = None

    async def ids(self, own: Callable[[], OperationIds]) -> frozenset[str]:
        """Return the ids of all operations. ``own`` returns the operations of the gateway itself.

        The first call waits up to 10 s for slow services, later calls 1 s. Without a new result in this time,
        the last ids are returned: none after the first call.
        """
        if time.monotonic() >= self._valid_until:
            if self._update is None or self._update.done():
                self._update = asyncio.create_task(self._updated(own), name="list operations")
            patience = PATIENCE_SECONDS if self._ids else FIRST_PATIENCE_SECONDS
            await asyncio.wait((self._update,), timeout=patience)
        return self._ids

    async def _updated(self, own: Callable[[], OperationIds]) -> None:
        of_services, seconds = await self._latest.ask()
        table = RouteTable()
        self._ids = frozenset(
            operation_id
            for service, paths in {"gateway": own(), **of_services}.items()
            for path, ids in paths.items()
            if is_routed(table, service, path)
            for operation_id in ids
        )
        self._valid_until = time.monotonic() + seconds
