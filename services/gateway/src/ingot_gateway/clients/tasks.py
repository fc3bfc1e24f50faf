"""Client for the periodic tasks of every service."""

from ingot_chassis.errors import NotFound
from ingot_chassis.operations import TaskReport
from ingot_chassis.peers.peers import Peers

SERVICES = ("hooks", "identity", "issues", "mail", "repos")
RUN_SECONDS = 60.0


class HttpTasks:
    """Client for periodic tasks. Raises Unavailable if a service does not respond."""

    def __init__(self, peers: Peers) -> None:
        self._peers = peers

    async def tasks(self, service: str) -> list[TaskReport]:
        return await self._peers[service].get("/internal/tasks", list[TaskReport])

    async def run(self, name: str) -> None:
        """Run the task with this name, which begins with the name of its service. Raises NotFound."""
        service, _, rest = name.partition("_")
        if service not in SERVICES or not rest.replace("_", "").isalnum():
            raise NotFound
        await self._peers[service].call("POST", f"/internal/tasks/{name}", timeout=RUN_SECONDS)
