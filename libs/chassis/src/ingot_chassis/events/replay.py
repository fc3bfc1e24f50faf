"""Replay of dead-lettered events after the cause is removed: ``ingot-<service> replay``.

Events that were too large for the relay are queued for the relay again (``relay.send_again``).
"""

from datetime import datetime

import structlog
from sqlalchemy import func, select

from ingot_chassis.db.database import Database
from ingot_chassis.db.rows import TypedRow, fetch_all
from ingot_chassis.events.consumers import Consumers
from ingot_chassis.events.envelope import decode_envelope
from ingot_chassis.operations import DeadLetteredEvent

log = structlog.get_logger()


class _UnappliedRow(TypedRow):
    error: str
    received_at: datetime
    envelope: bytes


class _UnsentRow(TypedRow):
    id: str
    type: str
    key: str
    dead_lettered_at: datetime
    size: int


async def list_dead_lettered(database: Database, limit: int) -> list[DeadLetteredEvent]:
    """Return the first ``limit`` events that could not be applied, then the first that could not be sent."""
    inbox, outbox = database.metadata.tables["inbox"], database.metadata.tables["outbox"]
    unapplied = select(inbox.c.error, inbox.c.received_at, inbox.c.envelope).where(inbox.c.error.is_not(None))
    size = func.length(outbox.c.payload).label("size")
    unsent = select(outbox.c.id, outbox.c.type, outbox.c.key, outbox.c.dead_lettered_at, size)
    unsent = unsent.where(outbox.c.dead_lettered_at.is_not(None)).order_by(outbox.c.seq)
    async with database.read() as db:
        inbox_rows = await fetch_all(db, unapplied.order_by(inbox.c.received_at).limit(limit), _UnappliedRow)
        outbox_rows = await fetch_all(db, unsent.limit(limit), _UnsentRow)
    events = []
    for row in inbox_rows:
        envelope = decode_envelope(row.envelope)
        events.append(DeadLetteredEvent(envelope.id, envelope.type, envelope.key, row.received_at, row.error))
    events += [
        DeadLetteredEvent(row.id, row.type, row.key, row.dead_lettered_at, size=row.size)
        for row in outbox_rows
    ]
    return events


async def replay(database: Database, consumers: Consumers) -> tuple[int, int]:
    """Apply dead-lettered events in order. Return the numbers of applied and of still dead-lettered events.

    Later events of the same keys have already been applied. The service may run in parallel.
    """
    inbox = database.metadata.tables["inbox"]
    async with database.read() as db:
        encoded = await db.execute(select(inbox.c.envelope).where(inbox.c.error.is_not(None)))
        envelopes = [decode_envelope(envelope) for envelope in encoded.scalars()]
    applied = 0
    for envelope in sorted(envelopes, key=lambda each: (each.type.split(".", 1)[0], each.seq)):
        try:
            applied += await consumers.apply(envelope, dead_lettered=True)
        except Exception as error:  # noqa: BLE001 - whatever a handler raises is this event's failure
            log.warning("event stays dead-lettered", type=envelope.type, id=envelope.id, error=repr(error))
    return applied, len(envelopes) - applied
