"""The outcomes of incoming mails."""

from enum import StrEnum
from typing import NamedTuple


class Outcome(StrEnum):
    """The outcome of an incoming mail. ``IGNORED``: it is not a person's reply to a signed address."""

    STORED = "stored"
    REFUSED = "refused"
    IGNORED = "ignored"


class Received(NamedTuple):
    """The outcome of an incoming mail, and the reason unless it was stored."""

    outcome: Outcome
    reason: str = ""
