"""Rules for the notices that a person gets: selection, time, and signed links to unsubscribe."""

import base64
import binascii
import hmac
import struct
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from ingot_contracts.issues.notices import NoticeReason
from ingot_mail.preferences.store import Choices, Frequency

DIGEST_HOUR = 6
"""The hour in UTC at which daily digests are due."""
_PURPOSE = b"ingot mail unsubscribe\0"
_IDS = struct.Struct(">QQ")
_MAC_BYTES = 20


class Plan(NamedTuple):
    """The due time of a notice. ``digest`` is the digest that it belongs to; empty for a separate mail."""

    due_at: datetime
    digest: str


class Subscription(NamedTuple):
    """A person, and a repository about which the person gets mails."""

    account_id: int
    repository_id: int


def frequency_of(choices: Choices, reason: NoticeReason) -> Frequency:
    """Return the frequency of a person's notices for this reason."""
    by_reason: Mapping[NoticeReason, Frequency] = {
        "mentioned": choices.mentions,
        "requested": choices.mentions,
        "participating": choices.participating,
        "watching": choices.watching,
        "own": choices.participating if choices.own else Frequency.OFF,
    }
    return by_reason[reason]


def plan(frequency: Frequency, at: datetime) -> Plan | None:
    """Return the plan for a notice of this time; None if the person does not want it."""
    if frequency == Frequency.OFF:
        return None
    if frequency == Frequency.INSTANT:
        return Plan(at, "")
    hour = at.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    if frequency == Frequency.HOURLY:
        return Plan(hour, frequency.value)
    day = at.replace(hour=DIGEST_HOUR, minute=0, second=0, microsecond=0)
    return Plan(day if day > at else day + timedelta(days=1), frequency.value)


class UnsubscribeLinks:
    """Signs and verifies tokens of links to unsubscribe.

    They never expire, because mails do not expire either.
    """

    def __init__(self, key: str, public_url: str) -> None:
        self._key, self._root = key.encode(), public_url.rstrip("/") + "/"

    def url(self, subscription: Subscription) -> str:
        body = _IDS.pack(*subscription)
        token = base64.urlsafe_b64encode(body + self._mac(body)).decode().rstrip("=")
        return f"{self._root}mail/unsubscribe/{token}"

    def read(self, token: str) -> Subscription | None:
        """Return the subscription in a token; None unless this site signed it."""
        try:
            content = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            return None
        body, mac = content[: _IDS.size], content[_IDS.size :]
        if len(body) != _IDS.size or not hmac.compare_digest(mac, self._mac(body)):
            return None
        return Subscription(*_IDS.unpack(body))

    def _mac(self, body: bytes) -> bytes:
        return hmac.digest(self._key, _PURPOSE + body, "sha256")[:_MAC_BYTES]
