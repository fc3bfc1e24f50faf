"""Dead-lettered events, applied once more when the cause is removed: ``ingot-<service> replay``.

What was too large for the relay to send is given to the relay once more (``relay.send_again``).
"""

import structlog
from sqlalchemy import select

from ingot_chassis.db.database import Database
from ingot_chassis.events.consumers import Consumers
from ingot_chassis.events.envelope import decode_envelope

log = structlog.get_logger()


async def replay(database: Database, consumers: Consumers) -> tuple[int, int]:
    """Apply dead-lettered events in their order; how many were applied, and how many stay dead-lettered.

    Events of the same keys that came later have been applied by now; the service may run meanwhile.
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
