"""The schedule of attempts of a mail, and use cases for sending mails again."""

from datetime import UTC, datetime, timedelta

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Conflict, Invalid, NotFound
from ingot_mail.mails import store
from ingot_mail.mails.store import MailRow

PAUSES = (
    timedelta(minutes=1),
    timedelta(minutes=5),
    timedelta(minutes=15),
    timedelta(hours=1),
    timedelta(hours=2),
    timedelta(hours=4),
    timedelta(hours=8),
    timedelta(hours=12),
    timedelta(hours=20),
    timedelta(hours=24),
)
"""The pause after each temporary failure. The attempt after the last pause, after three days, is the last."""
JITTER = 0.1
EARLIEST, LATEST = datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)


def next_attempt_at(attempts: int, at: datetime, jitter: float) -> datetime | None:
    """Return the time of the next attempt after ``attempts`` failed attempts; None if none is left.

    ``jitter``, from -1 to 1, shifts the time by up to a tenth of the pause.
    """
    if attempts > len(PAUSES):
        return None
    return at + PAUSES[attempts - 1] * (1 + JITTER * jitter)


async def resend(tx: Tx, mail_id: str) -> MailRow:
    """Queue a mail again. Raises NotFound, and Conflict if it was sent or is being sent."""
    if await store.get(tx, mail_id) is None:
        raise NotFound
    row = await store.resend(tx, mail_id)
    if row is None:
        raise Conflict("the mail was sent or is being sent")
    return row


async def resend_failed(tx: Tx, since: datetime) -> int:
    """Queue all failed mails again that were queued since a time. Return their number. Raises Invalid."""
    since = since if since.tzinfo is not None else since.replace(tzinfo=UTC)
    if not EARLIEST < since < LATEST:
        raise Invalid.field("since", "range", "is out of range")
    return await store.resend_failed(tx, since)
