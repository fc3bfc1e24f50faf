"""Rolling updates of a cluster of processes: a successor is ready before its predecessor gets SIGTERM.

Each service is reached through a balancer, as through a Service of Kubernetes.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from ingot_contracts.topology import SERVICES
from ingot_testing.processes import free_port

from .balancer import RoundRobin, listen
from .deployments import BackingServers, Cluster, running

BUSY_SECONDS = 60
"""All replicas are there; this process may be too busy to connect to one at once."""


class Update:
    """Replaces the only process of a service."""

    def __init__(self, cluster: Cluster, balancers: Mapping[str, RoundRobin]) -> None:
        self.cluster, self._balancers = cluster, balancers

    async def begin(self, service: str, variables: Mapping[str, str] | None = None) -> None:
        """Start the successor. When it is ready, both processes answer."""
        replicas, port = self.cluster.replicas(service), free_port()
        own = {f"INGOT_{service.upper()}_PORT": str(port)}
        successor = replicas[0].beside({**own, **(variables or {})}, url=f"http://127.0.0.1:{port}/")
        replicas.append(successor)
        successor.begin()
        await asyncio.to_thread(successor.wait_ready)
        self._send_to_all(service)

    async def end(self, service: str) -> None:
        """Send no more requests to the predecessor, and stop it."""
        predecessor = self.cluster.replicas(service).pop(0)
        self._send_to_all(service)
        try:
            assert await asyncio.to_thread(predecessor.stop) == 0, predecessor.log_end()
        finally:
            predecessor.kill()

    def _send_to_all(self, service: str) -> None:
        self._balancers[service].send_to([replica.url for replica in self.cluster.replicas(service)])


@asynccontextmanager
async def updating(
    folder: Path, backing_servers: BackingServers, variables: Mapping[str, str]
) -> AsyncIterator[Update]:
    """A cluster that runs, with one process of each service."""
    balancers = {service: RoundRobin([], patience=BUSY_SECONDS) for service in SERVICES}
    ports = {service: free_port() for service in SERVICES}
    cluster = Cluster(folder, backing_servers, variables, fronts=ports)
    async with AsyncExitStack() as stack:
        for service, balancer in balancers.items():
            balancer.send_to([replica.url for replica in cluster.replicas(service)])
            await stack.enter_async_context(await listen(balancer, ports[service]))
        stack.enter_context(running(cluster))
        yield Update(cluster, balancers)
