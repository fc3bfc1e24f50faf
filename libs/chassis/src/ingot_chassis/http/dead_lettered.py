"""The dead-lettered events of a service, for the gateway and web, which ask for an administrator before they come here."""

from litestar import get, post

from ingot_chassis.events.relay import send_again
from ingot_chassis.events.replay import list_dead_lettered, replay
from ingot_chassis.http.database_request import DatabaseRequest
from ingot_chassis.http.paging import MAX_LIMIT
from ingot_chassis.http.policy import services
from ingot_chassis.operations import DeadLetteredEvent, Replayed
from ingot_chassis.service import ServiceParts


@get("/internal/dead-lettered", policy=services("gateway", "web"), include_in_schema=False)
async def list_dead_lettered_events(request: DatabaseRequest) -> list[DeadLetteredEvent]:
    """Events that this service could not apply or send, the oldest first; at most MAX_LIMIT of each."""
    return await list_dead_lettered(request.db, MAX_LIMIT)


@post("/internal/dead-lettered", policy=services("gateway", "web"), include_in_schema=False, status_code=200)
async def replay_dead_lettered_events(request: DatabaseRequest) -> Replayed:
    """Apply and send them once more, as the command ``replay`` does."""
    parts: ServiceParts = request.app.state.parts
    applied, left = await replay(request.db, parts.consumers) if parts.consumers is not None else (0, 0)
    return Replayed(applied=applied, left=left, sent_again=await send_again(request.db))
