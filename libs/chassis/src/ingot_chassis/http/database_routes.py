"""The routes that every service with a database has for the gateway and web."""

from typing import Any

from ingot_chassis.db import audit
from ingot_chassis.db.database import Database
from ingot_chassis.http.audit import list_audit_entries
from ingot_chassis.http.dead_lettered import list_dead_lettered_events, replay_dead_lettered_events
from ingot_chassis.http.jobs import forget_job, list_jobs_of_service, run_job_now


def database_routes(database: Database) -> list[Any]:
    """Dead-lettered events and jobs; and the audit log where there is one."""
    has_audit = audit.TABLE in database.metadata.tables
    return [
        list_dead_lettered_events,
        replay_dead_lettered_events,
        list_jobs_of_service,
        run_job_now,
        forget_job,
        *([list_audit_entries] if has_audit else []),
    ]
