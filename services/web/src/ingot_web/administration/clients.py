"""Clients for an administrator's calls to all services: tasks, jobs, dead-lettered events, audit log."""

import asyncio
from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar
from urllib.parse import urlencode

import msgspec

from ingot_chassis.errors import NotFound, Unavailable
from ingot_chassis.operations import AuditEntry, DeadLetteredEvent, JobReports, Replayed, TaskReport
from ingot_chassis.peers.peers import Peers

SERVICES = ("hooks", "identity", "issues", "mail", "repos")
AUDITED = ("hooks", "identity", "mail", "repos")
"""Services that keep an audit log."""
RUN_SECONDS = 60.0


_T = TypeVar("_T")


class Collected(NamedTuple, Generic[_T]):
    """The combined answers of all services, and the services that did not respond."""

    rows: list[_T]
    silent: list[str]


class HttpOperations:
    """Reads and changes data of all services for administrators.

    Reads skip a service that does not respond. Changes raise Unavailable if the service does not respond.
    """

    def __init__(self, peers: Peers) -> None:
        self._peers = peers

    async def tasks(self) -> Collected[TaskReport]:
        """Return the periodic tasks of all services by name."""
        reports = await self._ask_each(SERVICES, "/internal/tasks", list[TaskReport])
        tasks, silent = _collect(reports)
        return Collected(sorted(tasks, key=lambda task: task.name), silent)

    async def run_task(self, name: str) -> None:
        """Run the task with this name, which begins with the name of its service. Raises NotFound."""
        service, _, rest = name.partition("_")
        if service not in SERVICES or not rest.replace("_", "").isalnum() or not rest.isascii():
            raise NotFound
        await self._peers[service].call("POST", f"/internal/tasks/{name}", timeout=RUN_SECONDS)

    async def dead_lettered(self) -> dict[str, list[DeadLetteredEvent] | None]:
        """Return dead-lettered events by service; None for a service that does not respond."""
        return await self._ask_each(SERVICES, "/internal/dead-lettered", list[DeadLetteredEvent])

    async def replay(self, service: str) -> Replayed:
        """Apply and send the dead-lettered events of a service again. Raises NotFound."""
        if service not in SERVICES:
            raise NotFound
        answer = await self._peers[service].call("POST", "/internal/dead-lettered", timeout=RUN_SECONDS)
        return msgspec.json.decode(answer.body, type=Replayed)

    async def jobs(self, state: str) -> dict[str, JobReports | None]:
        """Return jobs in this state by service; None for a service that does not respond."""
        return await self._ask_each(SERVICES, f"/internal/jobs?status={state}", JobReports)

    async def run_job(self, service: str, job_id: int) -> None:
        """Run a failed job now, before its next attempt. Raises NotFound."""
        await self._change_job("POST", service, job_id)

    async def forget_job(self, service: str, job_id: int) -> None:
        """Delete a job that has failed permanently. Raises NotFound."""
        await self._change_job("DELETE", service, job_id)

    async def _change_job(self, method: str, service: str, job_id: int) -> None:
        if service not in SERVICES:
            raise NotFound
        await self._peers[service].call(method, f"/internal/jobs/{job_id}")

    async def audit(self, service: str, query: dict[str, str], limit: int) -> Collected[AuditEntry]:
        """Return the latest ``limit`` entries that match ``query``, of one service or of all."""
        names = (service,) if service in AUDITED else AUDITED
        path = f"/internal/audit?{urlencode({**query, 'limit': limit})}"
        entries, silent = _collect(await self._ask_each(names, path, list[AuditEntry]))
        return Collected(sorted(entries, key=lambda entry: entry.id, reverse=True)[:limit], silent)

    async def _ask_each(self, names: Sequence[str], path: str, shape: type[_T]) -> dict[str, _T | None]:
        """Return the answer of each service; None for a service that does not respond or lacks the route."""

        async def ask(name: str) -> _T | None:
            try:
                return await self._peers[name].get(path, shape)
            except (Unavailable, NotFound):  # one of an older release has not each of these
                return None

        return dict(zip(names, await asyncio.gather(*map(ask, names)), strict=True))


def _collect(answers: dict[str, list[_T] | None]) -> Collected[_T]:
    rows = [row for answer in answers.values() for row in answer or ()]
    return Collected(rows, [name for name, answer in answers.items() if answer is None])
