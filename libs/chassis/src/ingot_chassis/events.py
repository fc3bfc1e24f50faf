"""Events on their way: the envelope on the wire and the outbox row that becomes one.

An event is a frozen struct of the contracts whose tag is its type, such as ``identity.user.created.v1``;
it is published on the subject ``ingot.<type>``, in the stream of the service that the type starts with.
"""

import uuid
from datetime import datetime
from typing import Any, TypeVar

import msgspec
from opentelemetry import propagate

from ingot_chassis.tables import now

_E = TypeVar("_E", bound=msgspec.Struct)
_encoder = msgspec.json.Encoder()


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """What travels: ``data`` is the event, ``key`` orders it, ``seq`` rises with every event of its emitter."""

    id: str
    type: str
    key: str
    seq: int
    occurred_at: datetime
    data: msgspec.Raw
    traceparent: str | None = None


def event_type(cls: type[msgspec.Struct]) -> str:
    """The type of an event class: its tag."""
    tag = cls.__struct_config__.tag
    if not isinstance(tag, str):
        raise TypeError(f"{cls.__name__} has no string tag")
    return tag


def subject(type_: str) -> str:
    """The subject that events of ``type_`` are published on."""
    return f"ingot.{type_}"


def stream_of(service: str) -> str:
    """The name of the stream that holds the events of ``service``."""
    return f"INGOT_{service.upper()}"


def new_event_row(happened: msgspec.Struct, key: str) -> dict[str, Any]:
    """The outbox row of ``happened``. Ids are UUIDv4; the trace of the present span goes along."""
    carrier: dict[str, str] = {}
    propagate.inject(carrier)
    return {
        "id": str(uuid.uuid4()),
        "type": event_type(type(happened)),
        "key": key,
        "payload": _encoder.encode(happened),
        "traceparent": carrier.get("traceparent"),
        "created_at": now(),
    }


def encode_row(row: Any) -> bytes:
    """The envelope of an outbox row, encoded."""
    return _encoder.encode(
        Envelope(
            id=row.id,
            type=row.type,
            key=row.key,
            seq=row.seq,
            occurred_at=row.created_at,
            data=msgspec.Raw(row.payload),
            traceparent=row.traceparent,
        )
    )


def decode_envelope(body: bytes) -> Envelope:
    """Raises msgspec.DecodeError on anything that is no envelope."""
    return msgspec.json.decode(body, type=Envelope)


def decode_event(envelope: Envelope, cls: type[_E]) -> _E:
    """The event inside. Unknown fields are ignored, so emitters may add some."""
    return msgspec.json.decode(envelope.data, type=cls)
