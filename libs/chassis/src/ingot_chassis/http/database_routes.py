"""Routes of a service with a database, for the gateway and web: audit log, dead-lettered events and jobs.

The gateway and web check that their caller is an administrator before they call these routes.
"""

from typing import Any

from litestar import delete, get, post

from ingot_chassis.db import audit
from ingot_chassis.db.database import Database
from ingot_chassis.events.relay import send_again
from ingot_chassis.events.replay import list_dead_lettered, replay
from ingot_chassis.http.database_request import DatabaseRequest
from ingot_chassis.http.paging import MAX_LIMIT
from ingot_chassis.http.policy import services
from ingot_chassis.jobs.jobs import JobState
from ingot_chassis.jobs.reports import forget_failed, list_jobs, run_now
from ingot_chassis.operations import AuditEntry, DeadLetteredEvent, JobReports, Replayed
from ingot_chassis.service import ServiceParts

BOTH = services("gateway", "web")


def database_routes(database: Database) -> list[Any]:
    """Return the routes, with the audit log if the database has one."""
    has_audit = audit.TABLE in database.metadata.tables
    return [
        list_dead_lettered_events,
        replay_dead_lettered_events,
        list_jobs_of_service,
        run_job_now,
        forget_job,
        *([list_audit_entries] if has_audit else []),
    ]


@get("/internal/audit", policy=BOTH, include_in_schema=False)
async def list_audit_entries(
    request: DatabaseRequest, limit: int = MAX_LIMIT, before: str = "", actor: str = "", action: str = ""
) -> list[AuditEntry]:
    """Return the latest entries of this service. See ``db.audit.list_entries``."""
    service, limit = request.app.state.parts.name, max(min(limit, MAX_LIMIT), 0)
    async with request.db.read() as db:
        return await audit.list_entries(
            db, service=service, limit=limit, before=before, actor=actor, action=action
        )


@get("/internal/dead-lettered", policy=BOTH, include_in_schema=False)
async def list_dead_lettered_events(request: DatabaseRequest) -> list[DeadLetteredEvent]:
    """Return events that this service could not apply or send, oldest first, up to MAX_LIMIT of each kind."""
    return await list_dead_lettered(request.db, MAX_LIMIT)


@post("/internal/dead-lettered", policy=BOTH, include_in_schema=False, status_code=200)
async def replay_dead_lettered_events(request: DatabaseRequest) -> Replayed:
    """Apply and send dead-lettered events again, like the command ``replay``."""
    parts: ServiceParts = request.app.state.parts
    applied, left = await replay(request.db, parts.consumers) if parts.consumers is not None else (0, 0)
    return Replayed(applied=applied, left=left, sent_again=await send_again(request.db))


@get("/internal/jobs", policy=services("web"), include_in_schema=False)
async def list_jobs_of_service(request: DatabaseRequest, status: JobState = JobState.WAITING) -> JobReports:
    """Return jobs of this service in one state, up to MAX_LIMIT."""
    return await list_jobs(request.db, status, MAX_LIMIT)


@post("/internal/jobs/{job_id:int}", policy=services("web"), include_in_schema=False, status_code=204)
async def run_job_now(request: DatabaseRequest, job_id: int) -> None:
    """Run a job now that waits after a failure. Raises NotFound."""
    await run_now(request.db, job_id)


@delete("/internal/jobs/{job_id:int}", policy=services("web"), include_in_schema=False, status_code=204)
async def forget_job(request: DatabaseRequest, job_id: int) -> None:
    """Delete a job that has failed permanently. Raises NotFound."""
    await forget_failed(request.db, job_id)
