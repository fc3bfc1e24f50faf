"""Redelivery: sending a delivery again that has ended or waits for its next attempt."""

from datetime import UTC, datetime

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Conflict, Invalid, NotFound
from ingot_contracts.hooks.events import DeliveryRequested
from ingot_hooks.deliveries.store import queries as store
from ingot_hooks.deliveries.store.queries import DeliveryRow

EARLIEST, LATEST = datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)


async def redeliver(tx: Tx, hook_id: int, delivery_id: str) -> DeliveryRow:
    """Send one delivery again, under its id.

    Raises NotFound. Raises Conflict before the first attempt and during an attempt.
    """
    if await store.get(tx, hook_id, delivery_id) is None:
        raise NotFound
    row = await store.redeliver(tx, hook_id, delivery_id)
    if row is None:
        raise Conflict("the delivery is still under way")
    tx.emit(DeliveryRequested(hook_id=hook_id), key=hook_id)
    return row


async def redeliver_failed(tx: Tx, hook_id: int, since: datetime) -> int:
    """Send all failed deliveries again that were queued since a time. Return their number.

    Raises Invalid.
    """
    if since.tzinfo is None:
        since = since.replace(tzinfo=UTC)
    if not EARLIEST < since < LATEST:
        raise Invalid.field("since", "range", "is out of range")
    tx.emit(DeliveryRequested(hook_id=hook_id), key=hook_id)
    return await store.redeliver_failed(tx, hook_id, since)
