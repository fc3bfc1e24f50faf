"""The table of mails, and its SQL: queue mails, claim due ones, record outcomes, list them, send them again.

A mail is one event for one person. Its key is unique, so a redelivered event queues no mail. A worker has a
lease for a ``running`` mail. ``submitted_at`` is set before the SMTP server gets the content. After that the
server may have it, so the mail is never retried automatically.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TypedDict

from sqlalchemy import (
    CheckConstraint,
    Column,
    ColumnElement,
    Index,
    Integer,
    String,
    Table,
    Text,
    UniqueConstraint,
    delete,
    func,
    or_,
    select,
    text,
    update,
)

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import Slice, TypedRow, fetch_all, fetch_first, fetch_page
from ingot_chassis.db.tables import LASTING_IDS, BigId, UtcDateTime, partial_index
from ingot_chassis.db.transaction import insert
from ingot_mail.schema import metadata


class MailState(StrEnum):
    """Values of the column ``state``. The last three are final, until the mail is sent again."""

    PENDING = "pending"
    RUNNING = "running"
    SENT = "sent"
    FAILED = "failed"
    CANCELLED = "cancelled"


class MailKind(StrEnum):
    """Values of the column ``kind``. ``RELEASE`` mails, one per watcher, replace a ``WATCHERS`` mail."""

    ISSUE = "issue"
    RELEASE = "release"
    WATCHERS = "watchers"
    HOOK = "hook"
    IMPORT = "import"
    MESSAGE = "message"
    REPLY = "reply"
    CHECK = "check"


FINAL_STATES = (MailState.SENT, MailState.FAILED, MailState.CANCELLED)
UNCONFIRMED = "the SMTP server did not confirm it, and may have sent it; send it again if it did not arrive"
"""The error of a mail if the connection or the process ended while the server received its content."""
_UNDER_WAY = "state IN ('pending', 'running')"
UNDER_WAY = text(_UNDER_WAY)

mail = Table(
    "mail",
    metadata,
    Column("number", BigId, primary_key=True, autoincrement=True),
    Column("id", String(36), nullable=False, unique=True),
    Column("event_id", String(36), nullable=False),
    Column("account_id", BigId, nullable=False),
    Column("kind", String(40), nullable=False),
    Column("reason", String(20), nullable=False),
    Column("repository_id", BigId, nullable=False),
    Column("subject_id", BigId, nullable=False),
    Column("details", Text, nullable=False),
    Column("digest", String(10), nullable=False),
    Column("state", String(10), nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("next_attempt_at", UtcDateTime, nullable=False),
    Column("fence", Integer, nullable=False),
    Column("lease_until", UtcDateTime),
    Column("submitted_at", UtcDateTime),
    Column("address", String(320), nullable=False),
    Column("error", Text, nullable=False),
    Column("traceparent", String(60)),
    Column("created_at", UtcDateTime, nullable=False, index=True),
    Column("finished_at", UtcDateTime),
    UniqueConstraint("event_id", "account_id", "kind"),
    CheckConstraint("state IN ('pending', 'running', 'sent', 'failed', 'cancelled')", name="state"),
    partial_index("ix_mail_due", _UNDER_WAY, "next_attempt_at", "number"),
    Index("ix_mail_state", "state", "number"),
    **LASTING_IDS,
)

beginning = Table("beginning", metadata, Column("at", UtcDateTime, primary_key=True))
"""A table with one row: the time at which this database was created. Older events are not mailed."""


class MailRow(TypedRow):
    """A mail. ``details`` is JSON, by kind.

    ``account_id`` is 0 for a message to an address, and for the kind ``WATCHERS``.
    """

    number: int
    id: str
    event_id: str
    account_id: int
    kind: str
    reason: str
    repository_id: int
    subject_id: int
    details: str
    digest: str
    state: MailState
    attempts: int
    next_attempt_at: datetime
    fence: int
    lease_until: datetime | None
    submitted_at: datetime | None
    address: str
    error: str
    traceparent: str | None
    created_at: datetime
    finished_at: datetime | None


class WaitingRow(TypedRow):
    """The number of due mails, and the due time of the first mail; None without due mails."""

    total: int
    since: datetime | None


class NewMail(TypedDict):
    """The columns of a new mail."""

    id: str
    event_id: str
    account_id: int
    kind: str
    reason: str
    repository_id: int
    subject_id: int
    details: str
    digest: str
    next_attempt_at: datetime
    traceparent: str | None


async def began_at(db: Executor) -> datetime:
    """Return the time at which this database was created."""
    began: datetime = (await db.execute(select(beginning.c.at))).scalar_one()
    return began


async def add(db: Executor, rows: Sequence[NewMail]) -> int:
    """Queue mails. Return the number of new mails. An existing mail of the same event and person stays."""
    if not rows:
        return 0
    values = [
        {
            **row,
            "state": MailState.PENDING.value,
            "attempts": 0,
            "fence": 0,
            "address": "",
            "error": "",
            "created_at": now(),
        }
        for row in rows
    ]
    statement = insert(db, mail).values(values).on_conflict_do_nothing()
    return int((await db.execute(statement)).rowcount)


async def claim(db: Executor, limit: int, *, lease: timedelta) -> Sequence[MailRow]:
    """Claim up to ``limit`` due mails, the longest wait first. Return their rows, ordered by number.

    Submissions that a dead worker did not finish end as failed.
    """
    moment = now()
    is_expired = (mail.c.state == MailState.RUNNING, mail.c.lease_until < moment)
    await db.execute(
        update(mail)
        .where(UNDER_WAY, *is_expired, mail.c.submitted_at.is_not(None))
        .values(state=MailState.FAILED, error=UNCONFIRMED, finished_at=moment, lease_until=None)
    )
    due = (
        select(mail.c.number)
        .where(
            UNDER_WAY,
            mail.c.next_attempt_at <= moment,
            or_(mail.c.state == MailState.PENDING, mail.c.lease_until < moment),
        )
        .order_by(mail.c.next_attempt_at, mail.c.number)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    statement = (
        update(mail)
        .where(mail.c.number.in_(due))
        .values(
            state=MailState.RUNNING,
            fence=mail.c.fence + 1,
            attempts=mail.c.attempts + 1,
            lease_until=moment + lease,
            submitted_at=None,
        )
        .returning(mail)
    )
    rows = await fetch_all(db, statement, MailRow)
    return sorted(rows, key=lambda row: row.number)


def _claimed(rows: Collection[MailRow]) -> ColumnElement[bool]:
    keys = [(mail.c.number == row.number) & (mail.c.fence == row.fence) for row in rows]
    return or_(*keys) & (mail.c.state == MailState.RUNNING)


async def mark_submitted(db: Executor, rows: Collection[MailRow], address: str) -> bool:
    """Record that the server gets the content now. Return False if the claim of a mail is lost or expired."""
    statement = (
        update(mail)
        .where(_claimed(rows), mail.c.lease_until > now())
        .values(submitted_at=now(), address=address)
    )
    return bool((await db.execute(statement)).rowcount == len(rows))


async def record(db: Executor, rows: Collection[MailRow], values: Mapping[str, object]) -> None:
    """Record an outcome for mails. Mails that another worker has claimed since are skipped."""
    if rows:
        await db.execute(update(mail).where(_claimed(rows)).values(lease_until=None, **values))


async def get(db: Executor, mail_id: str) -> MailRow | None:
    return await fetch_first(db, select(mail).where(mail.c.id == mail_id), MailRow)


async def list_page(db: Executor, state: MailState | None, page: Slice) -> tuple[Sequence[MailRow], int]:
    """Return a page of mails, latest first, and their number."""
    statement = select(mail)
    if state is not None:
        statement = statement.where(mail.c.state == state)
    return await fetch_page(db, statement, page, MailRow, mail.c.number.desc())


def _again() -> dict[str, object]:
    return {
        "state": MailState.PENDING,
        "attempts": 0,
        "digest": "",
        "next_attempt_at": now(),
        "submitted_at": None,
        "finished_at": None,
        "error": "",
    }


async def resend(db: Executor, mail_id: str) -> MailRow | None:
    """Queue a failed or cancelled mail again, or make a pending mail due. Return None for other mails."""
    again = (MailState.FAILED, MailState.CANCELLED, MailState.PENDING)
    statement = update(mail).where(mail.c.id == mail_id, mail.c.state.in_(again)).values(_again())
    return await fetch_first(db, statement.returning(mail), MailRow)


async def resend_failed(db: Executor, since: datetime) -> int:
    """Queue all failed mails again that were queued since a time. Return their number."""
    statement = update(mail).where(mail.c.state == MailState.FAILED, mail.c.created_at >= since)
    return int((await db.execute(statement.values(_again()))).rowcount)


async def cancel_pending(db: Executor, account_id: int, reason: str) -> None:
    """Cancel the pending mails of a person."""
    is_pending = (mail.c.account_id == account_id, mail.c.state == MailState.PENDING)
    values = {"state": MailState.CANCELLED, "error": reason, "finished_at": now()}
    await db.execute(update(mail).where(*is_pending).values(values))


async def get_waiting(db: Executor, before: datetime) -> WaitingRow:
    """Return the number of unsent mails that were due before a time, and the first due time."""
    since = func.min(mail.c.next_attempt_at).label("since")
    statement = select(func.count().label("total"), since).where(UNDER_WAY, mail.c.next_attempt_at < before)
    (row,) = await fetch_all(db, statement, WaitingRow)
    return row


async def drop_older(db: Executor, than: datetime, limit: int) -> int:
    """Delete up to ``limit`` finished mails that were queued before ``than``. Return their number."""
    old = (
        select(mail.c.number)
        .where(mail.c.created_at < than, mail.c.state.in_(FINAL_STATES))
        .order_by(mail.c.created_at)
        .limit(limit)
    )
    return int((await db.execute(delete(mail).where(mail.c.number.in_(old)))).rowcount)
