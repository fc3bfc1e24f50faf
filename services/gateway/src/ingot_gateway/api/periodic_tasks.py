"""The periodic tasks of all services, for site administrators."""

import asyncio
from datetime import datetime

import msgspec
from litestar import Response, get, post

from ingot_chassis.http.policy import admin
from ingot_chassis.operations import TaskReport
from ingot_gateway.api.request import GatewayRequest
from ingot_gateway.clients.tasks import SERVICES, HttpTasks


class Cron(msgspec.Struct, frozen=True, kw_only=True):
    """A task as reported by one process. Other replicas have other times and other numbers of runs."""

    name: str
    schedule: str
    next: datetime | None
    prev: datetime | None
    exec_times: int


@get("/api/v1/admin/cron", policy=admin("read:admin"), operation_id="adminCronList", tags=["admin"])
async def list_tasks(request: GatewayRequest) -> Response[list[Cron]]:
    """List the periodic tasks of all services by name."""
    client, page = request.part(HttpTasks), request.page()
    reports = [
        report
        for tasks in await asyncio.gather(*(client.tasks(service) for service in SERVICES))
        for report in tasks
    ]
    reports.sort(key=lambda report: report.name)
    return Response(
        [_cron(report) for report in reports[page.offset : page.offset + page.limit]],
        headers=request.page_headers(page, len(reports)),
    )


@post(
    "/api/v1/admin/cron/{task:str}",
    policy=admin(),
    operation_id="adminCronRun",
    tags=["admin"],
    status_code=204,
)
async def run_task(request: GatewayRequest, task: str) -> None:
    """Run a task now. The response is sent when the task has ended."""
    await request.part(HttpTasks).run(task)


def _cron(report: TaskReport) -> Cron:
    return Cron(
        name=report.name,
        schedule=f"@every {report.seconds}s",
        next=_whole(report.next_at),
        prev=_whole(report.last_at),
        exec_times=report.runs,
    )


def _whole(time: datetime | None) -> datetime | None:
    return time.replace(microsecond=0) if time is not None else None


routes = [list_tasks, run_task]
