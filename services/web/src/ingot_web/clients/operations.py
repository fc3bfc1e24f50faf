"""Requests to every service for its periodic tasks, dead-lettered events and audit log, on behalf of an administrator."""

import asyncio
from urllib.parse import urlencode

import msgspec

from ingot_chassis.db.audit import AuditEntry
from ingot_chassis.errors import NotFound
from ingot_chassis.events.replay import DeadLetteredEvent, Replayed
from ingot_chassis.jobs.periodic import TaskReport
from ingot_chassis.peers.peers import Peers

SERVICES = ("hooks", "identity", "issues", "repos")
AUDITED = ("hooks", "identity", "repos")
"""Services that keep an audit log."""
RUN_SECONDS = 60.0


class HttpOperations:
    """What administrators see of the services. Raises Unavailable while one does not answer."""

    def __init__(self, peers: Peers) -> None:
        self._peers = peers

    async def tasks(self) -> list[TaskReport]:
        """The periodic tasks of all services, by name."""
        reports = await asyncio.gather(
            *(self._peers[name].get("/internal/tasks", list[TaskReport]) for name in SERVICES)
        )
        return sorted((task for tasks in reports for task in tasks), key=lambda task: task.name)

    async def run_task(self, name: str) -> None:
        """Run the task of that name, which begins with that of its service. Raises NotFound."""
        service, _, rest = name.partition("_")
        if service not in SERVICES or not rest.replace("_", "").isalnum() or not rest.isascii():
            raise NotFound
        await self._peers[service].call("POST", f"/internal/tasks/{name}", timeout=RUN_SECONDS)

    async def dead_lettered(self) -> list[tuple[str, list[DeadLetteredEvent]]]:
        """Each service, and the events that it could not apply or send."""
        events = await asyncio.gather(
            *(self._peers[name].get("/internal/dead-lettered", list[DeadLetteredEvent]) for name in SERVICES)
        )
        return list(zip(SERVICES, events, strict=True))

    async def replay(self, service: str) -> Replayed:
        """Apply and send once more what a service could not. Raises NotFound."""
        if service not in SERVICES:
            raise NotFound
        answer = await self._peers[service].call("POST", "/internal/dead-lettered", timeout=RUN_SECONDS)
        return msgspec.json.decode(answer.body, type=Replayed)

    async def audit(self, service: str, query: dict[str, str], limit: int) -> list[AuditEntry]:
        """The newest ``limit`` entries of one service or, without a name, of all that match ``query``."""
        names = (service,) if service in AUDITED else AUDITED
        path = f"/internal/audit?{urlencode({**query, 'limit': limit})}"
        pages = await asyncio.gather(*(self._peers[name].get(path, list[AuditEntry]) for name in names))
        entries = sorted(
            (entry for page in pages for entry in page), key=lambda entry: entry.id, reverse=True
        )
        return entries[:limit]
