"""Events that were put aside, applied once more when what was in their way is mended: ``ingot-<service> replay``."""

import structlog
from sqlalchemy import select

from ingot_chassis.database import Database
from ingot_chassis.events import decode_envelope
from ingot_chassis.inbox import Consumers

log = structlog.get_logger()


async def replay(database: Database, consumers: Consumers) -> tuple[int, int]:
    """Apply what was put aside, in its order; how many events were applied, and how many stay put aside.

    Events of the same keys that came later have been applied by now; the service may run meanwhile.
    """
    inbox = database.metadata.tables["inbox"]
    async with database.read() as db:
        found = await db.execute(select(inbox.c.envelope).where(inbox.c.error.is_not(None)))
        envelopes = [decode_envelope(envelope) for (envelope,) in found]
    applied = 0
    for envelope in sorted(envelopes, key=lambda each: (each.type.split(".", 1)[0], each.seq)):
        try:
            applied += await consumers.apply(envelope, put_aside=True)
        except Exception as error:  # noqa: BLE001 - whatever a handler raises is this event's failure
            log.warning("event stays put aside", type=envelope.type, id=envelope.id, error=repr(error))
    return applied, len(envelopes) - applied
