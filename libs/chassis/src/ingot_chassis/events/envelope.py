"""The envelope of events on the wire.

An event is a frozen struct of the contracts whose tag is its type, such as ``identity.user.created.v1``. It
is published on the subject ``ingot.<type>``, in the stream of the service with which the type begins.
"""

from datetime import datetime
from typing import TypeVar

import msgspec

_E = TypeVar("_E", bound=msgspec.Struct)


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """An event on the wire. ``data`` is the event. Events of one ``key`` are ordered.

    ``seq`` grows with every event of its emitter. In a tombstone ``data`` is null: the event was too large to
    be sent, and its emitter keeps it.
    """

    id: str
    type: str
    key: str
    seq: int
    occurred_at: datetime
    data: msgspec.Raw
    traceparent: str | None = None
    is_tombstone: bool = False


def event_type(cls: type[msgspec.Struct]) -> str:
    """Return the type of an event class: its tag. Raises TypeError for a class without a tag."""
    tag = cls.__struct_config__.tag
    if not isinstance(tag, str):
        raise TypeError(f"{cls.__name__} has no string tag")
    return tag


def subject(type_: str) -> str:
    """Return the subject of events of ``type_``."""
    return f"ingot.{type_}"


def stream_of(service: str) -> str:
    """Return the name of the stream with the events of ``service``."""
    return f"INGOT_{service.upper()}"


def decode_envelope(body: bytes) -> Envelope:
    """Decode an envelope. Raises msgspec.DecodeError."""
    return msgspec.json.decode(body, type=Envelope)


def decode_event(envelope: Envelope, cls: type[_E]) -> _E:
    """Decode the event in an envelope. Unknown fields are ignored, so emitters may add fields.

    Raises msgspec.DecodeError.
    """
    return msgspec.json.decode(envelope.data, type=cls)
