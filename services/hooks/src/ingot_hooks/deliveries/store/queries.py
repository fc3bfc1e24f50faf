"""SQL for deliveries: queue, end, list, redeliver and delete."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, TypedDict

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    and_,
    bindparam,
    func,
    literal_column,
    or_,
    select,
    text,
    update,
)
from sqlalchemy import delete as delete_from
from sqlalchemy.dialects import postgresql

from ingot_chassis.clock import now
from ingot_chassis.db.arrays import COUNTED
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedWrite
from ingot_chassis.db.prepared_pages import PreparedPage
from ingot_chassis.db.rows import Slice, TotalRow, TypedRow, fetch_all, fetch_first
from ingot_hooks.catalog.store.tables import hook
from ingot_hooks.deliveries.store.tables import FINAL_STATES, DeliveryState, delivery

# Written out, not bound: a database uses a partial index only for a condition that it can read.
UNDER_WAY = text("delivery.state IN ('pending', 'running')")
PENDING: ColumnElement[str] = literal_column("'pending'")
RUNNING: ColumnElement[str] = literal_column("'running'")
LARGE_COLUMNS = ("body", "response_headers", "response_body")
CURRENT_ENDPOINT: ColumnElement[str] = func.coalesce(
    select(hook.c.endpoint).where(hook.c.id == delivery.c.hook_id).correlate(delivery).scalar_subquery(),
    delivery.c.endpoint,
)
"""The present endpoint of a delivery's hook; the delivery's own endpoint if the hook was deleted."""


CancelledOrFailed = Literal[DeliveryState.CANCELLED, DeliveryState.FAILED]
"""The final state of a delivery that is not sent."""


class DeliverySummaryRow(TypedRow):
    """A delivery without its large columns."""

    number: int
    id: str
    hook_id: int
    repository_id: int
    event_id: str
    event: str
    kind: str
    action: str
    manual: bool
    endpoint: str
    sequence: int
    state: DeliveryState
    attempts: int
    next_attempt_at: datetime
    fence: int
    lease_until: datetime | None
    status: int
    error: str
    traceparent: str | None
    created_at: datetime
    attempted_at: datetime | None
    finished_at: datetime | None


class _ListedDeliveryRow(DeliverySummaryRow, TotalRow):
    """A delivery in a list, with the total number."""


class DeliveryRow(DeliverySummaryRow):
    """A delivery. ``response_headers`` is a JSON object."""

    body: bytes
    response_headers: str
    response_body: bytes


class WaitingDeliveriesRow(TypedRow):
    """The number of waiting deliveries, and the start of the longest wait; None without any."""

    total: int
    since: datetime | None


class NewDelivery(TypedDict):
    """The columns of a delivery that is queued."""

    id: str
    hook_id: int
    repository_id: int
    event_id: str
    event: str
    kind: str
    action: str
    manual: bool
    endpoint: str
    body: bytes
    sequence: int
    traceparent: str | None


_ADD = PreparedWrite(
    postgresql.insert(delivery)
    .values(
        **{name: bindparam(name) for name in (*NewDelivery.__annotations__, "next_attempt_at", "created_at")},
        state=DeliveryState.PENDING.value,
        attempts=0,
        fence=0,
        status=0,
        response_headers="{}",
        response_body=b"",
        error="",
    )
    .on_conflict_do_nothing()
)


async def add(db: Executor, rows: Sequence[NewDelivery]) -> None:
    """Queue deliveries that are due at once.

    An existing delivery of the same hook and event does not change.
    """
    await _ADD.each(db, [{**row, "next_attempt_at": now(), "created_at": now()} for row in rows])


async def due_since(db: Executor) -> datetime | None:
    """Return the due time of the oldest due delivery; None if none is due."""
    due = select(func.min(delivery.c.next_attempt_at)).where(
        UNDER_WAY, delivery.c.state == PENDING, delivery.c.next_attempt_at <= now()
    )
    since: datetime | None = (await db.execute(due)).scalar()
    return since


async def get_waiting(db: Executor, before: datetime) -> WaitingDeliveriesRow:
    """Return the number of deliveries that were due before that time, and the first due time.

    Deliveries that a worker is sending are not counted, unless their lease expired before that time.
    """
    due = delivery.c.next_attempt_at < before
    is_free = or_(delivery.c.state == PENDING, delivery.c.lease_until < before)
    since = func.min(delivery.c.next_attempt_at).label("since")
    statement = select(func.count().label("total"), since).where(UNDER_WAY, due, is_free)
    (row,) = await fetch_all(db, statement, WaitingDeliveriesRow)
    return row


async def end_pending(
    db: Executor,
    hook_ids: Sequence[int],
    reason: str,
    *,
    state: CancelledOrFailed = DeliveryState.CANCELLED,
) -> None:
    """End the pending deliveries of these hooks with ``state``. A running delivery ends after its attempt."""
    if hook_ids:
        await db.execute(
            update(delivery)
            .where(delivery.c.hook_id.in_(hook_ids), delivery.c.state == DeliveryState.PENDING)
            .values(state=state, error=reason, finished_at=now())
        )


async def move_pending(db: Executor, hook_id: int) -> None:
    """Move the pending deliveries of a hook to the current endpoint of the hook.

    A running delivery gets the new endpoint when its outcome is recorded.
    """
    await db.execute(
        update(delivery)
        .where(delivery.c.hook_id == hook_id, delivery.c.state == DeliveryState.PENDING)
        .values(endpoint=CURRENT_ENDPOINT)
    )


async def get(db: Executor, hook_id: int, delivery_id: str) -> DeliveryRow | None:
    statement = select(delivery).where(delivery.c.hook_id == hook_id, delivery.c.id == delivery_id)
    return await fetch_first(db, statement, DeliveryRow)


_OF_HOOK = PreparedPage(
    select(*(column for column in delivery.c if column.name not in LARGE_COLUMNS)),
    _ListedDeliveryRow,
    delivery.c.number.desc(),
    ids=select(delivery.c.number).where(delivery.c.hook_id == bindparam("hook_id", type_=BigInteger)),
    count_at_most=COUNTED,
)


async def list_page(db: Executor, hook_id: int, page: Slice) -> tuple[Sequence[DeliverySummaryRow], int]:
    """List the deliveries of a hook, latest first, and return their number, counted up to ``COUNTED``."""
    return await _OF_HOOK.read(db, page, hook_id=hook_id)


def _redelivery() -> dict[str, object]:
    """Return the columns of a delivery that an owner sends again, from the first attempt."""
    return {
        "state": DeliveryState.PENDING,
        "attempts": 0,
        "next_attempt_at": now(),
        "manual": True,
        "endpoint": CURRENT_ENDPOINT,
        "finished_at": None,
        "error": "",
    }


async def redeliver(db: Executor, hook_id: int, delivery_id: str) -> DeliveryRow | None:
    """Restart a delivery that has ended or waits after an attempt. Return None for other deliveries."""
    waits_again = and_(delivery.c.state == DeliveryState.PENDING, delivery.c.attempts > 0)
    statement = (
        update(delivery)
        .where(
            delivery.c.hook_id == hook_id,
            delivery.c.id == delivery_id,
            or_(delivery.c.state.in_(FINAL_STATES), waits_again),
        )
        .values(_redelivery())
    )
    return await fetch_first(db, statement.returning(delivery), DeliveryRow)


async def redeliver_failed(db: Executor, hook_id: int, since: datetime) -> int:
    """Restart all failed deliveries that were queued since a time. Return their number."""
    statement = (
        update(delivery)
        .where(
            delivery.c.hook_id == hook_id,
            delivery.c.state == DeliveryState.FAILED,
            delivery.c.created_at >= since,
        )
        .values(_redelivery())
    )
    return (await db.execute(statement)).rowcount


async def drop_older(db: Executor, than: datetime, limit: int) -> int:
    """Delete up to ``limit`` deliveries in a final state that were queued before ``than``.

    Return their number.
    """
    old = (
        select(delivery.c.number)
        .where(delivery.c.created_at < than, delivery.c.state.in_(FINAL_STATES))
        .order_by(delivery.c.created_at)
        .limit(limit)
    )
    return (await db.execute(delete_from(delivery).where(delivery.c.number.in_(old)))).rowcount
