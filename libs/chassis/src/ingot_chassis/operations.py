"""What a service tells administrators of its operation, by way of the gateway and web: audit log, tasks, jobs, lost events."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

Detail = str | int | bool | Sequence[str]


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True):
    """What was done. Ids are in the order of time, over all services.

    `subject` is what it was done to, such as `user ann`. `sudo_by` is the administrator who
    acted as `actor`. `via` is how they came: basic, session, token, ssh, command, or empty.
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
    """A task as one process sees it. ``seconds`` lie between two runs; ``runs`` count from the start of the process."""

    name: str
    seconds: int
    runs: int
    last_at: datetime | None
    next_at: datetime | None


class DeadLetteredEvent(msgspec.Struct, frozen=True):
    """An event that was given up. ``error`` says why it was not applied; ``size`` are its bytes if it was too large to be sent."""

    id: str
    type: str
    key: str
    at: datetime
    error: str = ""
    size: int = 0


class Replayed(msgspec.Struct, frozen=True):
    """How many events were applied, how many stay dead-lettered, and how many the relay has again."""

    applied: int
    left: int
    sent_again: int


class JobReport(msgspec.Struct, frozen=True, kw_only=True):
    """A job. It is due at ``run_at``; ``error`` says why the last try failed, ``owner`` is the process that has it."""

    id: int
    kind: str
    key: str
    run_at: datetime
    attempts: int
    progress: str
    error: str
    owner: str


class JobReports(msgspec.Struct, frozen=True):
    """Jobs in one state, and how many there are in each that has any."""

    counts: dict[str, int]
    jobs: list[JobReport]
