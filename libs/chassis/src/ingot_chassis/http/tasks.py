"""The periodic tasks of a service and its dead-lettered events, for the gateway and web, which show them to administrators.

Those two ask for an administrator before they come here.
"""

from litestar import get, post

from ingot_chassis.errors import NotFound
from ingot_chassis.events.relay import send_again
from ingot_chassis.events.replay import DeadLetteredEvent, Replayed, list_dead_lettered, replay
from ingot_chassis.http.paging import MAX_LIMIT
from ingot_chassis.http.policy import services
from ingot_chassis.http.request import ApiRequest
from ingot_chassis.jobs.periodic import PeriodicTask, TaskReport
from ingot_chassis.service import ServiceParts


@get("/internal/tasks", policy=services("gateway", "web"), include_in_schema=False)
async def list_tasks(request: ApiRequest) -> list[TaskReport]:
    """The periodic tasks of this service, as this process sees them."""
    return [task.report() for task in _tasks(request)]


@post(
    "/internal/tasks/{name:str}", policy=services("gateway", "web"), include_in_schema=False, status_code=204
)
async def run_task(request: ApiRequest, name: str) -> None:
    """Run a task now, in this process; the answer comes when it is done. Raises NotFound."""
    for task in _tasks(request):
        if task.name == name:
            return await task.run_now()
    raise NotFound


@get("/internal/dead-lettered", policy=services("gateway", "web"), include_in_schema=False)
async def list_dead_lettered_events(request: ApiRequest) -> list[DeadLetteredEvent]:
    """Events that this service could not apply or send, the oldest first; at most MAX_LIMIT of each."""
    return await list_dead_lettered(request.db, MAX_LIMIT)


@post("/internal/dead-lettered", policy=services("gateway", "web"), include_in_schema=False, status_code=200)
async def replay_dead_lettered_events(request: ApiRequest) -> Replayed:
    """Apply and send them once more, as the command ``replay`` does."""
    parts: ServiceParts = request.app.state.parts
    applied, left = await replay(request.db, parts.consumers) if parts.consumers is not None else (0, 0)
    return Replayed(applied=applied, left=left, sent_again=await send_again(request.db))


def _tasks(request: ApiRequest) -> list[PeriodicTask]:
    tasks: list[PeriodicTask] = request.app.state.parts.tasks
    return tasks
