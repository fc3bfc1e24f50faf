"""Events on their way: the envelope on the wire.

An event is a frozen struct of the contracts whose tag is its type, such as ``identity.user.created.v1``;
it is published on the subject ``ingot.<type>``, in the stream of the service that the type starts with.
"""

from datetime import datetime
from typing import TypeVar

import msgspec

_E = TypeVar("_E", bound=msgspec.Struct)


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


def decode_envelope(body: bytes) -> Envelope:
    """Raises msgspec.DecodeError on anything that is no envelope."""
    return msgspec.json.decode(body, type=Envelope)


def decode_event(envelope: Envelope, cls: type[_E]) -> _E:
    """The event inside. Unknown fields are ignored, so emitters may add some."""
    return msgspec.json.decode(envelope.data, type=cls)
