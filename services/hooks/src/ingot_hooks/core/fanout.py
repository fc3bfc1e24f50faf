"""From a notice to deliveries: one for each hook that wants it, in the transaction that learns of the event."""

import json
import uuid
from collections.abc import Sequence
from typing import Any

from ingot_chassis.database import Executor
from ingot_hooks.core import bodies
from ingot_hooks.core.payloads import Notice
from ingot_hooks.core.subscriptions import wanted
from ingot_hooks.store import deliveries
from ingot_hooks.store import hooks as store
from ingot_hooks.store.hooks import HookRow


async def tell(
    db: Executor, notices: Sequence[Notice], *, event_id: str, traceparent: str | None = None
) -> int:
    """Queue what follows from one event, in the order of ``notices``; how many deliveries that are."""
    if not notices:
        return 0
    hooks = await store.list_active(db, notices[0].repository_id, notices[0].owner_id)
    count = 0
    for notice in notices:
        told = [hook for hook in hooks if fires(hook, notice)]
        count += len(await queue(db, told, notice, event_id=event_id, traceparent=traceparent))
    return count


def fires(hook: HookRow, notice: Notice) -> bool:
    return wanted(
        json.loads(hook.events),
        hook.branch_filter,
        event=notice.event,
        kind=notice.kind,
        branch=notice.branch,
    )


async def queue(
    db: Executor,
    hooks: Sequence[HookRow],
    notice: Notice,
    *,
    event_id: str,
    traceparent: str | None = None,
    manual: bool = False,
) -> list[str]:
    """Queue ``notice`` for these hooks; the ids of the deliveries. ``manual``: sent even by inactive hooks."""
    if not hooks:
        return []
    numbers = await store.next_sequences(db, [hook.id for hook in hooks], notice.repository_id)
    bodies_of: dict[tuple[str, str], bytes] = {}
    for hook in hooks:
        looks = (hook.type, hook.settings)
        if looks not in bodies_of:
            bodies_of[looks] = bodies.body_for(hook.type, json.loads(hook.settings), notice)
    rows: list[dict[str, Any]] = [
        {
            "id": str(uuid.uuid4()),
            "hook_id": hook.id,
            "repository_id": notice.repository_id,
            "event_id": event_id,
            "event": notice.event,
            "kind": notice.kind,
            "action": notice.action,
            "manual": manual,
            "endpoint": hook.endpoint,
            "body": bodies_of[hook.type, hook.settings],
            "sequence": numbers[hook.id],
            "traceparent": traceparent,
        }
        for hook in hooks
    ]
    await deliveries.add(db, rows)
    return [row["id"] for row in rows]
