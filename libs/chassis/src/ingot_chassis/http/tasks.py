"""Routes for periodic tasks of a service. The gateway and web call them for administrators."""

from litestar import get, post

from ingot_chassis.errors import NotFound
from ingot_chassis.http.policy import services
from ingot_chassis.http.request import ApiRequest
from ingot_chassis.jobs.periodic import PeriodicTask
from ingot_chassis.operations import TaskReport


@get("/internal/tasks", policy=services("gateway", "web"), include_in_schema=False)
async def list_tasks(request: ApiRequest) -> list[TaskReport]:
    """Return the periodic tasks of this service, with the state of this process."""
    return [task.report() for task in _tasks(request)]


@post(
    "/internal/tasks/{name:str}", policy=services("gateway", "web"), include_in_schema=False, status_code=204
)
async def run_task(request: ApiRequest, name: str) -> None:
    """Run a task now in this process, and respond when it is done. Raises NotFound."""
    for task in _tasks(request):
        if task.name == name:
            return await task.run_now()
    raise NotFound


def _tasks(request: ApiRequest) -> list[PeriodicTask]:
    tasks: list[PeriodicTask] = request.app.state.parts.tasks
    return tasks
