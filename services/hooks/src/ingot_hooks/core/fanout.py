"""From an event to deliveries: one for each subscribed hook, in the transaction that applies the event."""

import json
import uuid
from collections.abc import Sequence

from ingot_chassis.db.driver import Executor
from ingot_hooks.core import body_formats
from ingot_hooks.core.notices import Notice
from ingot_hooks.core.subscriptions import is_subscribed
from ingot_hooks.store import deliveries
from ingot_hooks.store import hooks as store
from ingot_hooks.store.deliveries import NewDelivery
from ingot_hooks.store.hooks import RecipientRow


async def queue_notices(
    db: Executor, notices: Sequence[Notice], *, event_id: str, traceparent: str | None = None
) -> int:
    """Queue the deliveries of one event, in the order of ``notices``; how many."""
    if not notices:
        return 0
    hooks = await store.list_active(db, notices[0].repository_id, notices[0].owner_id)
    count = 0
    for notice in notices:
        recipients = [
            hook
            for hook in hooks
            if is_subscribed(
                json.loads(hook.events),
                hook.branch_filter,
                event=notice.event,
                kind=notice.kind,
                branch=notice.branch,
            )
        ]
        await queue_deliveries(db, recipients, notice, event_id=event_id, traceparent=traceparent)
        count += len(recipients)
    return count


async def queue_deliveries(
    db: Executor,
    recipients: Sequence[RecipientRow],
    notice: Notice,
    *,
    event_id: str,
    traceparent: str | None = None,
    manual: bool = False,
) -> None:
    """Queue one delivery of ``notice`` for each of these hooks that still exists.

    A ``manual`` one is sent also by an inactive hook.
    """
    if not recipients:
        return
    sequences = await store.next_sequences(db, [hook.id for hook in recipients], notice.repository_id)
    bodies_by_format: dict[tuple[str, str], bytes] = {}
    remaining = [hook for hook in recipients if hook.id in sequences]
    for hook in remaining:
        format_ = (hook.type, hook.settings)
        if format_ not in bodies_by_format:
            bodies_by_format[format_] = body_formats.body_for(hook.type, json.loads(hook.settings), notice)
    rows = [
        NewDelivery(
            id=str(uuid.uuid4()),
            hook_id=hook.id,
            repository_id=notice.repository_id,
            event_id=event_id,
            event=notice.event,
            kind=notice.kind,
            action=notice.action,
            manual=manual,
            endpoint=hook.endpoint,
            body=bodies_by_format[hook.type, hook.settings],
            sequence=sequences[hook.id],
            traceparent=traceparent,
        )
        for hook in remaining
    ]
    await deliveries.add(db, rows)
