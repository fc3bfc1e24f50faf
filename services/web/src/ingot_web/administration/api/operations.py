"""Routes for the operation of the site: tasks, jobs, dead-lettered events, audit log, rate limits."""

import re
from typing import Any

import msgspec
from litestar import Response, get, post

from ingot_chassis.errors import ApiError, NotFound
from ingot_chassis.http.policy import admin
from ingot_contracts.rate_limits import RATE_LIMITS_HEADER, RateLimits
from ingot_web.administration.clients import AUDITED, HttpOperations
from ingot_web.forms.rules.fields import whole_number
from ingot_web.pages.api.request import WebRequest

SHOWN = 50
JOB_STATES = ("waiting", "running", "failed")
LONGEST = 60
"""Maximum characters of a filter."""
_ENTRY = re.compile(r"[0-9a-f]{24}")


@get("/admin/tasks", policy=admin("read:admin"), include_in_schema=False)
async def tasks(request: WebRequest) -> Response[str]:
    """List the periodic tasks of all services."""
    return await _tasks_page(request)


async def _tasks_page(request: WebRequest, problem: ApiError | None = None) -> Response[str]:
    tasks, silent = await HttpOperations(request.peers).tasks()
    return request.render(
        "administration/tasks.html",
        title="Periodic tasks",
        part="tasks",
        error=problem,
        tasks=tasks,
        silent=silent,
    )


@post("/admin/tasks", policy=admin(), include_in_schema=False)
async def run_task(request: WebRequest) -> Response[Any]:
    """Run a task now. Redirect when it has ended."""
    form = await request.sent_form()
    try:
        await HttpOperations(request.peers).run_task(form.text("name"))
    except ApiError as error:
        return await _tasks_page(request, error)
    return request.redirect_with_outcome("/admin/tasks", f"ran {form.text('name')}")


@get("/admin/jobs", policy=admin("read:admin"), include_in_schema=False)
async def jobs(request: WebRequest) -> Response[str]:
    """List jobs of all services that are pending, running, or have failed permanently."""
    return await _jobs_page(request)


async def _jobs_page(request: WebRequest, problem: ApiError | None = None) -> Response[str]:
    state = request.query_params.get("state", "")
    state = state if state in JOB_STATES else JOB_STATES[0]
    reports = await HttpOperations(request.peers).jobs(state)
    return request.render(
        "administration/jobs.html",
        title="Jobs",
        part="jobs",
        error=problem,
        state=state,
        tabs=[
            (
                each,
                each.capitalize(),
                f"{request.root}/admin/jobs?state={each}",
                sum(report.counts.get(each, 0) for report in reports.values() if report),
                each == state,
            )
            for each in JOB_STATES
        ],
        reports=reports,
    )


@post("/admin/jobs", policy=admin(), include_in_schema=False)
async def change_job(request: WebRequest) -> Response[Any]:
    """Retry a pending job now, or delete a job that has failed permanently."""
    form = await request.sent_form()
    service, job_id = form.text("service"), whole_number(form.text("id")) or 0
    operations = HttpOperations(request.peers)
    try:
        if form.text("do") == "forget":
            await operations.forget_job(service, job_id)
        else:
            await operations.run_job(service, job_id)
    except NotFound:
        return await _jobs_page(request, NotFound("that job ended, or runs already"))
    except ApiError as error:
        return await _jobs_page(request, error)
    return request.redirect(f"/admin/jobs?state={'failed' if form.text('do') == 'forget' else 'waiting'}")


@get("/admin/events", policy=admin("read:admin"), include_in_schema=False)
async def events(request: WebRequest) -> Response[str]:
    """List events that a service could not apply or send, with their errors."""
    return await _events_page(request)


async def _events_page(
    request: WebRequest, problem: ApiError | None = None, *, service: str = "", replayed: Any = None
) -> Response[str]:
    return request.render(
        "administration/events.html",
        title="Dead-lettered events",
        part="events",
        error=problem,
        service=service,
        replayed=replayed,
        events_by_service=await HttpOperations(request.peers).dead_lettered(),
    )


@post("/admin/events", policy=admin(), include_in_schema=False)
async def replay_events(request: WebRequest) -> Response[Any]:
    """Apply and send the dead-lettered events of a service again, and show the result."""
    service = (await request.sent_form()).text("service")
    try:
        replayed = await HttpOperations(request.peers).replay(service)
    except ApiError as error:
        return await _events_page(request, error)
    return await _events_page(request, service=service, replayed=replayed)


@get("/admin/audit", policy=admin("read:admin"), include_in_schema=False)
async def audit(request: WebRequest) -> Response[str]:
    """Show the audit log, latest first, filtered by service, user or action."""
    chosen = {name: request.query_params.get(name, "").strip()[:LONGEST] for name in ("actor", "action")}
    service, before = request.query_params.get("service", ""), request.query_params.get("before", "")
    query = {**chosen, "before": before if _ENTRY.fullmatch(before) else ""}
    entries, silent = await HttpOperations(request.peers).audit(service, query, SHOWN + 1)
    return request.render(
        "administration/audit.html",
        title="Audit log",
        part="audit",
        problem="",
        chosen={"service": service if service in AUDITED else "", **chosen},
        services=[("", "All"), *((name, name) for name in AUDITED)],
        entries=entries[:SHOWN],
        silent=silent,
        has_more=len(entries) > SHOWN,
    )


@get("/admin/limits", policy=admin("read:admin"), include_in_schema=False)
async def limits(request: WebRequest) -> Response[str]:
    """Show the rate limits of callers, from a header that the gateway adds."""
    header = request.headers.get(RATE_LIMITS_HEADER)
    shown = msgspec.json.decode(header, type=RateLimits) if header else None
    return request.render(
        "administration/limits.html", title="Rate limits", part="limits", problem="", limits=shown
    )


routes = [tasks, run_task, jobs, change_job, events, replay_events, audit, limits]
