"""Events on their way: the envelope on the wire and the outbox row that becomes one.

An event is a frozen struct of the contracts whose tag is its type, such as ``identity.user.created.v1``;
it is published on the subject ``ingot.<type>``, in the stream of the service that the type starts with.
"""

from datetime import datetime
from typing import TypeVar

import msgspec

from ingot_chassis.db.rows import TypedRow

_E = TypeVar("_E", bound=msgspec.Struct)
_encoder = msgspec.json.Encoder()


class EventRow(TypedRow):
    """A row of the outbox. ``payload`` is None for a tombstone."""

    seq: int
    id: str
    type: str
    key: str
    payload: bytes | None
    traceparent: str | None
    created_at: datetime


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """What travels: ``data`` is the event, ``key`` orders it, ``seq`` rises with every event of its emitter.

    With ``is_tombstone`` the event was too large to be sent: ``data`` is null, and its emitter has it.
    """

    id: str
    type: str
    key: str
    seq: int
    occurred_at: datetime
    data: msgspec.Raw
    traceparent: str | None = None
    is_tombstone: bool = False


def subject(type_: str) -> str:
    """The subject that events of ``type_`` are published on."""
    return f"ingot.{type_}"


def stream_of(service: str) -> str:
    """The name of the stream that holds the events of ``service``."""
    return f"INGOT_{service.upper()}"


def encode_row(row: EventRow) -> bytes:
    """The envelope of an outbox row, encoded: a tombstone if the row has no payload."""
    return _encoder.encode(
        Envelope(
            id=row.id,
            type=row.type,
            key=row.key,
            seq=row.seq,
            occurred_at=row.created_at,
            data=msgspec.Raw(b"null" if row.payload is None else row.payload),
            traceparent=row.traceparent,
            is_tombstone=row.payload is None,
        )
    )


def decode_envelope(body: bytes) -> Envelope:
    """Raises msgspec.DecodeError on anything that is no envelope."""
    return msgspec.json.decode(body, type=Envelope)


def decode_event(envelope: Envelope, cls: type[_E]) -> _E:
    """The event inside. Unknown fields are ignored, so emitters may add some."""
    return msgspec.json.decode(envelope.data, type=cls)
