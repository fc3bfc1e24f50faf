"""Converts events into deliveries: one per subscribed hook, in the transaction that applies the events."""

import json
import uuid
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from ingot_chassis.db.driver import Executor
from ingot_hooks.catalog.store import queries as store
from ingot_hooks.catalog.store.queries import RecipientRow
from ingot_hooks.catalog.store.tables import SYSTEM
from ingot_hooks.deliveries.store import queries as deliveries
from ingot_hooks.deliveries.store.queries import NewDelivery
from ingot_hooks.payloads.rules import body_formats
from ingot_hooks.payloads.rules.notices import Notice
from ingot_hooks.payloads.rules.subscriptions import is_subscribed

SUBSCRIPTIONS = 1000
"""Size of the cache of decoded lists of subscribed events; most hooks share a few lists."""


class Announcement(NamedTuple):
    """A notice of an event, and its recipients. With ``manual``, inactive hooks get it, too."""

    notice: Notice
    event_id: str
    recipients: Sequence[RecipientRow]
    traceparent: str | None = None
    manual: bool = False


class EventNotices(NamedTuple):
    """The notices of one event."""

    notices: Sequence[Notice]
    event_id: str
    traceparent: str | None = None


async def queue_notices(db: Executor, events: Sequence[EventNotices]) -> int:
    """Queue the deliveries of these events, in the order of their notices. Return their number.

    The number of statements does not depend on the number of events.
    """
    notices = [notice for event in events for notice in event.notices]
    if not notices:
        return 0
    repository_ids, owner_ids = {one.repository_id for one in notices}, {one.owner_id for one in notices}
    by_repository, by_owner = (defaultdict[int | None, list[RecipientRow]](list) for _ in range(2))
    for hook in await store.list_active(db, repository_ids, owner_ids):
        if hook.repository_id is not None:
            by_repository[hook.repository_id].append(hook)
        else:
            by_owner[hook.organization_id].append(hook)
    announcements = []
    for event in events:
        for notice in event.notices:
            hooks = by_repository[notice.repository_id] + by_owner[notice.owner_id] + by_owner[SYSTEM]
            recipients = sorted((hook for hook in hooks if _wants(hook, notice)), key=lambda hook: hook.id)
            announcements.append(Announcement(notice, event.event_id, recipients, event.traceparent))
    await queue_deliveries(db, announcements)
    return sum(len(one.recipients) for one in announcements)


def _wants(hook: RecipientRow, notice: Notice) -> bool:
    return is_subscribed(
        _event_names(hook.events),
        hook.branch_filter,
        kind=notice.kind,
        branch=notice.branch,
    )


@lru_cache(SUBSCRIPTIONS)
def _event_names(events: str) -> Sequence[str]:
    return tuple(json.loads(events))


async def queue_deliveries(db: Executor, announcements: Sequence[Announcement]) -> None:
    """Queue one delivery for each recipient that still exists."""
    counts = Counter((hook.id, one.notice.repository_id) for one in announcements for hook in one.recipients)
    if not counts:
        return
    sequences = await store.next_sequences(db, counts)
    rows = list[NewDelivery]()
    for one in announcements:
        notice = one.notice
        bodies_by_format: dict[tuple[str, str], bytes] = {}
        for hook in one.recipients:
            lane = (hook.id, notice.repository_id)
            if lane not in sequences:
                continue
            format_ = (hook.type, hook.settings)
            if format_ not in bodies_by_format:
                bodies_by_format[format_] = body_formats.body_for(
                    hook.type, json.loads(hook.settings), notice
                )
            rows.append(
                NewDelivery(
                    id=str(uuid.uuid4()),
                    hook_id=hook.id,
                    repository_id=notice.repository_id,
                    event_id=one.event_id,
                    event=notice.event,
                    kind=notice.kind,
                    action=notice.action,
                    manual=one.manual,
                    endpoint=hook.endpoint,
                    body=bodies_by_format[format_],
                    sequence=sequences[lane],
                    traceparent=one.traceparent,
                )
            )
            sequences[lane] += 1
    await deliveries.add(db, rows)
