"""Converts events to mails: one for each person who wants it, in the transaction that applies the event."""

import uuid
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.events.envelope import Envelope
from ingot_contracts.issues.notices import NoticeReason, NotifiedPerson
from ingot_mail.mails import store
from ingot_mail.mails.store import MailKind, NewMail
from ingot_mail.preferences import store as preferences
from ingot_mail.preferences.rules import Plan, frequency_of, plan


class Notice(NamedTuple):
    """The content of an event for a mail, without the recipient."""

    kind: MailKind
    details: msgspec.Struct
    repository_id: int = 0
    subject_id: int = 0


async def queue(
    db: Executor, envelope: Envelope, notice: Notice, people: Sequence[NotifiedPerson], *, key: str = ""
) -> int:
    """Queue a notice for the people who want it. Return the number of new mails.

    Events with the same ``key`` queue one mail for each person. The default key is the id of the event.
    """
    if not people:
        return 0
    account_ids = {person.account_id for person in people}
    choices = await preferences.list_effective(db, account_ids, notice.repository_id)
    rows = [
        _new_mail(envelope, notice, person.account_id, person.reason, planned, key=key)
        for person in people
        if (planned := plan(frequency_of(choices[person.account_id], person.reason), now())) is not None
    ]
    return await store.add(db, rows)


async def queue_always(db: Executor, envelope: Envelope, notice: Notice, account_id: int) -> int:
    """Queue a notice regardless of the person's preferences. Return the number of new mails."""
    planned = Plan(now(), "")
    return await store.add(db, [_new_mail(envelope, notice, account_id, "", planned)])


def _new_mail(
    envelope: Envelope,
    notice: Notice,
    account_id: int,
    reason: NoticeReason | str,
    planned: Plan,
    *,
    key: str = "",
) -> NewMail:
    return NewMail(
        id=str(uuid.uuid4()),
        event_id=key or envelope.id,
        account_id=account_id,
        kind=notice.kind.value,
        reason=reason,
        repository_id=notice.repository_id,
        subject_id=notice.subject_id,
        details=msgspec.json.encode(notice.details).decode(),
        digest=planned.digest,
        next_attempt_at=planned.due_at,
        traceparent=envelope.traceparent,
    )
