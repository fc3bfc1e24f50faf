"""SQL for deliveries: queued by fan-out, ended with their hook, shown, sent once more, dropped by age."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import ColumnElement, Row, bindparam, func, literal_column, select, text, update
from sqlalchemy import delete as delete_from
from sqlalchemy.dialects import postgresql

from ingot_chassis.change import Change
from ingot_chassis.database import Executor
from ingot_chassis.paging import Page
from ingot_chassis.tables import now
from ingot_hooks.store.tables import delivery, hook

DeliveryRow = Row[Any]
# Written out, not bound: databases use a partial index only for a condition that they can read.
UNDER_WAY = text("delivery.state IN ('pending', 'running')")
PENDING: ColumnElement[str] = literal_column("'pending'")
LARGE = ("body", "response_headers", "response_body")
ENDED = ("delivered", "failed", "cancelled")
AIMED_AT: ColumnElement[str] = func.coalesce(
    select(hook.c.endpoint).where(hook.c.id == delivery.c.hook_id).correlate(delivery).scalar_subquery(),
    delivery.c.endpoint,
)
"""Where the hook of a delivery is aimed now; as it was when there is no hook any more."""


_QUEUED = (
    *("id", "hook_id", "repository_id", "event_id", "event", "kind", "action", "manual", "endpoint", "body"),
    *("sequence", "traceparent", "next_attempt_at", "created_at"),
)
_ADD = Change(
    postgresql.insert(delivery)
    .values(
        **{name: bindparam(name) for name in _QUEUED},
        state="pending",
        attempts=0,
        fence=0,
        status=0,
        response_headers="{}",
        response_body=b"",
        error="",
    )
    .on_conflict_do_nothing()
)


async def add(db: Executor, rows: Sequence[dict[str, Any]]) -> None:
    """Queue deliveries, due at once. One that is there for the same hook and event stays as it is."""
    await _ADD.each(db, [row | {"next_attempt_at": now(), "created_at": now()} for row in rows])


async def due_since(db: Executor) -> datetime | None:
    """When the delivery became due that waits for longest; None where none is due."""
    due = select(func.min(delivery.c.next_attempt_at)).where(
        UNDER_WAY, delivery.c.state == PENDING, delivery.c.next_attempt_at <= now()
    )
    since: datetime | None = (await db.execute(due)).scalar()
    return since


async def end_pending(
    db: Executor, hook_ids: Sequence[int], reason: str, *, state: Literal["cancelled", "failed"] = "cancelled"
) -> None:
    """End what waits for these hooks, as ``state``. What is under way ends when its attempt does."""
    if hook_ids:
        await db.execute(
            update(delivery)
            .where(delivery.c.hook_id.in_(hook_ids), delivery.c.state == "pending")
            .values(state=state, error=reason, finished_at=now())
        )


async def aim_pending(db: Executor, hook_id: int) -> None:
    """Let what waits for a hook wait for the endpoint that the hook has now. What is under way follows when recorded."""
    await db.execute(
        update(delivery)
        .where(delivery.c.hook_id == hook_id, delivery.c.state == "pending")
        .values(endpoint=AIMED_AT)
    )


async def get(db: Executor, hook_id: int, delivery_id: str) -> DeliveryRow | None:
    return (
        await db.execute(select(delivery).where(delivery.c.hook_id == hook_id, delivery.c.id == delivery_id))
    ).first()


async def list_page(db: Executor, hook_id: int, page: Page) -> tuple[list[DeliveryRow], int]:
    """Newest first, without what was sent and answered; and how many there are."""
    mine = delivery.c.hook_id == hook_id
    shown = [column for column in delivery.c if column.name not in LARGE]
    rows = await db.execute(
        select(*shown).where(mine).order_by(delivery.c.number.desc()).limit(page.limit).offset(page.offset)
    )
    total = await db.execute(select(func.count()).select_from(delivery).where(mine))
    return list(rows.all()), int(total.scalar_one())


def _from_the_start() -> dict[str, Any]:
    """The columns of what an owner has sent once more."""
    return {
        "state": "pending",
        "attempts": 0,
        "next_attempt_at": now(),
        "manual": True,
        "endpoint": AIMED_AT,
        "finished_at": None,
        "error": "",
    }


async def again(db: Executor, hook_id: int, delivery_id: str) -> DeliveryRow | None:
    """Put an ended delivery back to the start of its schedule; None when it is not ended."""
    statement = (
        update(delivery)
        .where(delivery.c.hook_id == hook_id, delivery.c.id == delivery_id, delivery.c.state.in_(ENDED))
        .values(_from_the_start())
    )
    return (await db.execute(statement.returning(delivery))).first()


async def failed_again(db: Executor, hook_id: int, since: datetime) -> int:
    """Put what failed for good of all that was queued since back to the start of its schedule; how many."""
    statement = (
        update(delivery)
        .where(delivery.c.hook_id == hook_id, delivery.c.state == "failed", delivery.c.created_at >= since)
        .values(_from_the_start())
    )
    return (await db.execute(statement)).rowcount


async def drop_older(db: Executor, than: datetime, limit: int) -> int:
    """Drop up to ``limit`` ended deliveries; how many there were."""
    old = (
        select(delivery.c.number)
        .where(delivery.c.created_at < than, delivery.c.state.in_(ENDED))
        .order_by(delivery.c.created_at)
        .limit(limit)
    )
    return (await db.execute(delete_from(delivery).where(delivery.c.number.in_(old)))).rowcount
