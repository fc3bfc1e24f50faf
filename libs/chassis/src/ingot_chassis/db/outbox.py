"""The outbox: one row per event, committed together with the change of state."""

import uuid
from functools import cache
from typing import Any

import msgspec
from sqlalchemy import Table, bindparam

from ingot_chassis.clock import now
from ingot_chassis.db.prepared import PreparedWrite
from ingot_chassis.events.envelope import event_type
from ingot_chassis.telemetry import trace_context

_encoder = msgspec.json.Encoder()


def new_event_row(event: msgspec.Struct, key: str) -> dict[str, Any]:
    """Return the outbox row of ``event`` with a new id (UUIDv4) and the trace of the current span."""
    carrier: dict[str, str] = {}
    trace_context.inject(carrier)
    return {
        "id": str(uuid.uuid4()),
        "type": event_type(type(event)),
        "key": key,
        "payload": _encoder.encode(event),
        "traceparent": carrier.get("traceparent"),
        "created_at": now(),
    }


@cache
def insert_event(outbox: Table) -> PreparedWrite:
    """Return the INSERT of an outbox row."""
    columns = ("id", "type", "key", "payload", "traceparent", "created_at")
    return PreparedWrite(outbox.insert().values({name: bindparam(name) for name in columns}))
