"""The jobs of a service, for web, which asks for an administrator before it comes here."""

from litestar import delete, get, post

from ingot_chassis.http.database_request import DatabaseRequest
from ingot_chassis.http.paging import MAX_LIMIT
from ingot_chassis.http.policy import services
from ingot_chassis.jobs.jobs import JobState
from ingot_chassis.jobs.reports import forget_failed, list_jobs, run_now
from ingot_chassis.operations import JobReports


@get("/internal/jobs", policy=services("web"), include_in_schema=False)
async def list_jobs_of_service(request: DatabaseRequest, status: JobState = JobState.WAITING) -> JobReports:
    """Jobs of this service in one state; at most MAX_LIMIT."""
    return await list_jobs(request.db, status, MAX_LIMIT)


@post("/internal/jobs/{job_id:int}", policy=services("web"), include_in_schema=False, status_code=204)
async def run_job_now(request: DatabaseRequest, job_id: int) -> None:
    """Try a job now that failed and waits for its next try. Raises NotFound."""
    await run_now(request.db, job_id)


@delete("/internal/jobs/{job_id:int}", policy=services("web"), include_in_schema=False, status_code=204)
async def forget_job(request: DatabaseRequest, job_id: int) -> None:
    """Forget a job that failed for good. Raises NotFound."""
    await forget_failed(request.db, job_id)
