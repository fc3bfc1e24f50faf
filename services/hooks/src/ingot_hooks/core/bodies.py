"""The body of a delivery by the type of the hook: the native payload, or a message for a chat."""

from collections.abc import Mapping

from ingot_hooks.core import payloads
from ingot_hooks.core.payloads import Notice

TYPES = ("gitea", "gogs")


def body_for(type_: str, settings: Mapping[str, str], notice: Notice) -> bytes:
    """The JSON text that a hook of ``type_`` gets for ``notice``."""
    del type_, settings
    return payloads.native(notice)
