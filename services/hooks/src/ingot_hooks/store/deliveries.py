"""SQL for deliveries: queued by fan-out, claimed with a lease, recorded by whoever holds it, dropped by age."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Row,
    Select,
    and_,
    bindparam,
    exists,
    func,
    literal_column,
    select,
    text,
    update,
)
from sqlalchemy import delete as delete_from

from ingot_chassis.database import Executor, Tx, insert
from ingot_chassis.paging import Page
from ingot_chassis.tables import now
from ingot_hooks.store.tables import delivery, hook

DeliveryRow = Row[Any]
CANDIDATES = 200
# Written out, not bound: databases use a partial index only for a condition that they can read.
UNDER_WAY = text("delivery.state IN ('pending', 'running')")
PENDING: ColumnElement[str] = literal_column("'pending'")
RUNNING: ColumnElement[str] = literal_column("'running'")
LARGE = ("body", "response_headers", "response_body")
ENDED = ("delivered", "failed", "cancelled")
AIMED_AT: ColumnElement[str] = func.coalesce(
    select(hook.c.endpoint).where(hook.c.id == delivery.c.hook_id).correlate(delivery).scalar_subquery(),
    delivery.c.endpoint,
)
"""Where the hook of a delivery is aimed now; as it was when there is no hook any more."""


_add: dict[str, Any] = {}
"""The statement by dialect, built once."""


async def add(db: Executor, rows: Sequence[dict[str, Any]]) -> None:
    """Queue deliveries, due at once. One that is there for the same hook and event stays as it is."""
    fresh = {
        "state": "pending",
        "attempts": 0,
        "next_attempt_at": now(),
        "fence": 0,
        "status": 0,
        "response_headers": "{}",
        "response_body": b"",
        "error": "",
        "created_at": now(),
    }
    if db.dialect_name not in _add:
        _add[db.dialect_name] = insert(db, delivery).on_conflict_do_nothing()
    # As parameters: a statement that holds the rows would be compiled anew for each event.
    await db.execute(_add[db.dialect_name], [fresh | row for row in rows])


class Claimable(NamedTuple):
    """What may be claimed: up to ``per_endpoint`` per host and port, and deliveries of hooks that fail or none."""

    per_endpoint: int
    of_failing: bool = True


async def any_to_claim(db: Executor, wanted: Claimable) -> bool:
    """Whether ``claim`` would find something; a read, so that looking often keeps nobody from writing."""
    at = now()
    abandoned = await db.execute(select(delivery.c.number).where(_abandoned(at)).limit(1))
    if abandoned.first() is not None:
        return True
    chosen, _ = await _claimable(db, at, wanted)
    return (await db.execute(chosen.limit(1))).first() is not None


async def due_since(db: Executor) -> datetime | None:
    """When the delivery became due that waits for longest; None where none is due."""
    due = select(func.min(delivery.c.next_attempt_at)).where(
        UNDER_WAY, delivery.c.state == PENDING, delivery.c.next_attempt_at <= now()
    )
    since: datetime | None = (await db.execute(due)).scalar()
    return since


def _abandoned(at: datetime) -> ColumnElement[bool]:
    """Under way with a worker that is dead."""
    return and_(delivery.c.state == RUNNING, delivery.c.lease_until < at)


async def _claimable(
    db: Executor, at: datetime, wanted: Claimable
) -> tuple[Select[tuple[Any, ...]], Counter[str]]:
    """The query for what is due and not held up, oldest first; and how many are under way per endpoint."""
    counted = await db.execute(
        select(delivery.c.endpoint, func.count().label("running"))
        .where(delivery.c.state == RUNNING)
        .group_by(delivery.c.endpoint)
    )
    running = Counter({row.endpoint: row.running for row in counted})
    other = delivery.alias("other")
    lane_is_free = ~exists().where(
        other.c.state == RUNNING,
        other.c.hook_id == delivery.c.hook_id,
        other.c.repository_id == delivery.c.repository_id,
    )
    chosen = (
        select(delivery.c.number, delivery.c.hook_id, delivery.c.repository_id, delivery.c.endpoint)
        .where(UNDER_WAY, delivery.c.state == PENDING, delivery.c.next_attempt_at <= at, lane_is_free)
        .order_by(delivery.c.next_attempt_at, delivery.c.number)
        .limit(CANDIDATES)
    )
    full = [endpoint for endpoint, count in running.items() if count >= wanted.per_endpoint]
    if full:
        chosen = chosen.where(delivery.c.endpoint.not_in(full))
    if not wanted.of_failing:
        chosen = chosen.where(
            delivery.c.hook_id.not_in(select(hook.c.id).where(hook.c.failing_since.is_not(None)))
        )
    return chosen, running


async def claim(
    tx: Tx, limit: int, wanted: Claimable, *, lease: timedelta, per_lane: int = 1
) -> list[DeliveryRow]:
    """Take up to ``limit`` due deliveries, ``per_lane`` per hook and repository.

    A lane of which something is under way is left alone: that keeps the order per repository as far as it can be
    kept. The bound per endpoint keeps one from taking all that is claimed. Two processes that claim in the same
    moment may together exceed both.
    """
    at = now()
    # First, so that the search below has one condition and can follow its index instead of sorting a backlog.
    await tx.execute(update(delivery).where(_abandoned(at)).values(state="pending", lease_until=None))
    chosen, running = await _claimable(tx, at, wanted)
    taken: list[int] = []
    lanes: Counter[tuple[int, int]] = Counter()
    for row in (await tx.execute(chosen.with_for_update(skip_locked=True, of=delivery))).all():
        lane = (row.hook_id, row.repository_id)
        if lanes[lane] >= per_lane or running[row.endpoint] >= wanted.per_endpoint or len(taken) >= limit:
            continue
        lanes[lane] += 1
        running[row.endpoint] += 1
        taken.append(row.number)
    if not taken:
        return []
    claimed = await tx.execute(
        update(delivery)
        .where(delivery.c.number.in_(taken))
        .values(
            state="running",
            lease_until=at + lease,
            fence=delivery.c.fence + 1,
            attempts=delivery.c.attempts + 1,
            attempted_at=at,
        )
        .returning(delivery)
    )
    return sorted(claimed.all(), key=lambda row: row.number)


async def held(db: Executor, claimed: Sequence[DeliveryRow]) -> set[int]:
    """The numbers of those of ``claimed`` that nobody else holds by now; they are locked."""
    found = await db.execute(
        select(delivery.c.number, delivery.c.fence)
        .where(delivery.c.number.in_([row.number for row in claimed]), delivery.c.state == RUNNING)
        .order_by(delivery.c.number)
        .with_for_update()
    )
    fences = {row.number: row.fence for row in found}
    return {row.number for row in claimed if fences.get(row.number) == row.fence}


RECORDED = (
    "state",
    "attempts",
    "next_attempt_at",
    "status",
    "response_headers",
    "response_body",
    "error",
    "finished_at",
)


async def record(db: Executor, results: Sequence[tuple[DeliveryRow, dict[str, Any]]]) -> None:
    """Write what became of attempts, unless somebody else holds them by now; what is not named stays.

    The hook may be aimed elsewhere by now, so what goes on waiting waits for that endpoint.
    """
    if results:
        await db.execute(
            update(delivery)
            .where(
                delivery.c.number == bindparam("of_number"),
                delivery.c.fence == bindparam("of_fence"),
                delivery.c.state == RUNNING,
            )
            .values(
                lease_until=None, endpoint=AIMED_AT, **{name: bindparam(f"new_{name}") for name in RECORDED}
            ),
            [
                {"of_number": row.number, "of_fence": row.fence}
                | {f"new_{name}": values.get(name, getattr(row, name)) for name in RECORDED}
                for row, values in results
            ],
        )


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
