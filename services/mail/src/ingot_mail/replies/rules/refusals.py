"""Mails about rejected replies.

They go to the person of the signed address, never to the sender's address.
"""

import uuid

import msgspec

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_mail.composition.rules import RefusedReply
from ingot_mail.mails import store
from ingot_mail.mails.store import MailKind, NewMail
from ingot_mail.replies.store import NewReply


async def refuse(db: Executor, row: NewReply) -> None:
    """Queue a mail with the reason of the rejection.

    The mail is sent only if the person may read the issue at that time.
    """
    mail = NewMail(
        id=str(uuid.uuid4()),
        event_id=row.key[:36],
        account_id=row.account_id,
        kind=MailKind.REPLY.value,
        reason="",
        repository_id=0,
        subject_id=row.issue_id,
        details=msgspec.json.encode(RefusedReply(reason=row.refusal)).decode(),
        digest="",
        next_attempt_at=now(),
        traceparent=None,
    )
    await store.add(db, [mail])
