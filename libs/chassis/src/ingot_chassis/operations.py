"""Reports of a service to administrators, through gateway and web: audit log, tasks, jobs, dead letters."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

Detail = str | int | bool | Sequence[str]


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of the audit log. Ids are in the order of time, across services.

    `subject` is the object of the action, such as `user ann`. `sudo_by` is the administrator who acted as
    `actor`. `via` is the credential: basic, session, token, ssh, command, or empty.
    """

    id: str
    created_at: datetime
    service: str
    action: str
    subject: str
    details: dict[str, Detail]
    actor_id: int
    actor: str
    sudo_by: str
    via: str
    address: str
    request_id: str


class TaskReport(msgspec.Struct, frozen=True):
    """A periodic task in one process. ``seconds`` is the time between two runs.

    ``runs`` counts from the start of the process.
    """

    name: str
    seconds: int
    runs: int
    last_at: datetime | None
    next_at: datetime | None


class DeadLetteredEvent(msgspec.Struct, frozen=True):
    """A dead-lettered event. ``error`` is the reason why it was not applied; empty if it was not sent.

    ``size`` is in bytes if the event was too large to be sent, else 0.
    """

    id: str
    type: str
    key: str
    at: datetime
    error: str = ""
    size: int = 0


class Replayed(msgspec.Struct, frozen=True):
    """Numbers of events that were applied, that are still dead-lettered, and that the relay sends again."""

    applied: int
    left: int
    sent_again: int


class JobReport(msgspec.Struct, frozen=True, kw_only=True):
    """A job, due at ``run_at``.

    ``error`` is the error of the last run, ``owner`` the process that holds the job.
    """

    id: int
    kind: str
    key: str
    run_at: datetime
    attempts: int
    progress: str
    error: str
    owner: str


class JobReports(msgspec.Struct, frozen=True):
    """Jobs in one state, and the number of jobs per state. Successful jobs are not counted."""

    counts: dict[str, int]
    jobs: list[JobReport]
