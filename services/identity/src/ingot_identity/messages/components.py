"""Objects of messages that live as long as the process."""

from dataclasses import dataclass

from ingot_identity.messages.rules import Messages


@dataclass(frozen=True)
class MessageComponents:
    messages: Messages
