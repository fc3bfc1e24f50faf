"""Graceful shutdown of a server: finish running requests, answer new requests, and deliver every byte.

The server keeps answering while requests arrive: load balancers may still know it, or no other process may be
up. The kernel accepts the end of a response long before the client has it. In a container the network ends
with the process, and unsent bytes in the kernel are lost. So the process stays until clients have confirmed
all bytes.
"""

import asyncio
import socket
from collections.abc import Callable
from pathlib import Path

import structlog
import uvicorn

from ingot_wire.server_protocol import DrainState

log = structlog.get_logger()

POLL_SECONDS = 0.05
LAST_SECONDS = 1.0
"""Seconds for the error responses of requests that are aborted at the end of draining."""
WITHOUT_BYTES = ("0A", "06")
"""LISTEN and TIME_WAIT, as numbered in proc(5)."""
HEALTH_PATHS = ("/livez", "/readyz", "/metrics")
"""Paths that monitoring requests for as long as the process runs. They do not delay the shutdown."""


def unsent_bytes(port: int) -> int:
    """Return the bytes from the local ``port`` that peers have not confirmed, including closed sockets.

    Returns 0 on systems other than Linux.
    """
    unsent = 0
    for table in ("/proc/self/net/tcp", "/proc/self/net/tcp6"):
        try:
            rows = Path(table).read_text().splitlines()[1:]
        except OSError:
            continue
        for row in rows:
            _, local, _, state, queues = row.split(maxsplit=5)[:5]
            if state not in WITHOUT_BYTES and int(local.rpartition(":")[2], 16) == port:
                unsent += int(queues.partition(":")[0], 16)
    return unsent


class DrainingServer(uvicorn.Server):
    """uvicorn with another shutdown. Running requests have ``config.timeout_graceful_shutdown`` seconds.

    The time begins when no request has arrived for ``handover_seconds``, or ``handover_limit_seconds`` after
    the signal.
    """

    def __init__(
        self, config: uvicorn.Config, handover_seconds: float, handover_limit_seconds: float
    ) -> None:
        super().__init__(config)
        self.server_state: DrainState = DrainState()
        self._handover_seconds, self._handover_limit_seconds = handover_seconds, handover_limit_seconds

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Finish running requests, and answer new requests in parallel: no other process may be up yet."""
        loop, state = asyncio.get_running_loop(), self.server_state
        ports = [listener.getsockname()[1] for listener in sockets or []]
        state.draining, state.last_request = True, loop.time()
        for connection in state.connections:
            connection.announce_end()  # type: ignore[union-attr]
        running = set(state.tasks)
        log.info("draining", requests=len(running))
        await self._until(
            lambda: loop.time() >= state.last_request + self._handover_seconds,
            loop.time() + self._handover_limit_seconds,
        )
        deadline = loop.time() + (self.config.timeout_graceful_shutdown or 0)
        await self._until(lambda: all(task.done() for task in running), deadline)

        for listener in sockets or []:
            await self._accept_waiting(listener)
        for server in self.servers:
            server.close()
        for listener in sockets or []:
            listener.close()
        await asyncio.sleep(POLL_SECONDS)  # a request may be on its way over a new connection
        if not await self._until(self._ended, deadline):
            log.warning("the time to drain is over", requests=len(state.tasks))
            for task in state.tasks:
                task.cancel(msg="the time to drain is over")
            deadline = loop.time() + LAST_SECONDS
        if any(unsent_bytes(port) for port in ports):
            log.info("waiting until the clients have the answers", bytes=sum(map(unsent_bytes, ports)))
            await self._until(lambda: not any(unsent_bytes(port) for port in ports), deadline)
        if not self.force_exit:
            await self.lifespan.shutdown()

    def _ended(self) -> bool:
        """Close connections without a request. Return True if no connection is left."""
        state = self.server_state
        for connection in list(state.connections):
            connection.shutdown()
        return not state.connections and not state.tasks

    async def _accept_waiting(self, listener: socket.socket) -> None:
        """Accept connections that clients have already made.

        Without this, the kernel would reset them when the listener closes.
        """
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            connection.setblocking(False)
            await loop.connect_accepted_socket(
                lambda: self.config.http_protocol_class(  # type: ignore[call-arg]
                    config=self.config, server_state=self.server_state, app_state=self.lifespan.state
                ),
                connection,
            )

    async def _until(self, condition: Callable[[], bool], deadline: float) -> bool:
        """Wait for ``condition``.

        Return whether it became true before the deadline and before a second Ctrl-C.
        """
        while not condition():
            if self.force_exit or asyncio.get_running_loop().time() >= deadline:
                return False
            await asyncio.sleep(POLL_SECONDS)
        return True
