"""SQL for workers: finding what is due, taking it with a lease, and recording what became of it."""

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, bindparam, case, exists, func, literal_column, select, update

from ingot_chassis.database import Executor
from ingot_chassis.lookup import Lookup
from ingot_chassis.tables import UtcDateTime, now
from ingot_hooks.store.deliveries import AIMED_AT, PENDING, UNDER_WAY, DeliveryRow
from ingot_hooks.store.tables import delivery, hook

CANDIDATES: ColumnElement[int] = literal_column("200")
RUNNING: ColumnElement[str] = literal_column("'running'")


class Claimable(NamedTuple):
    """What may be claimed: up to ``per_endpoint`` per host and port, and deliveries of hooks that fail or none."""

    per_endpoint: int
    of_failing: bool = True


_other = delivery.alias("other")
LANE_IS_FREE = ~exists().where(
    _other.c.state == RUNNING,
    _other.c.hook_id == delivery.c.hook_id,
    _other.c.repository_id == delivery.c.repository_id,
)
_running = select(delivery.c.endpoint).where(delivery.c.state == RUNNING).group_by(delivery.c.endpoint)


def _due() -> Select[tuple[Any, ...]]:
    """What is due and not held up, oldest first."""
    full = _running.having(func.count(delivery.c.number) >= bindparam("per_endpoint"))
    return (
        select(delivery.c.number, delivery.c.hook_id, delivery.c.repository_id, delivery.c.endpoint)
        .where(
            UNDER_WAY,
            delivery.c.state == PENDING,
            delivery.c.next_attempt_at <= bindparam("at", type_=UtcDateTime),
            delivery.c.endpoint.not_in(full.correlate(None)),
            LANE_IS_FREE,
        )
        .order_by(delivery.c.next_attempt_at, delivery.c.number)
        .limit(CANDIDATES)
    )


# Built once: workers look all the time.
_RUNNING = Lookup(
    _running.add_columns(
        func.count(delivery.c.number).label("running"),
        func.min(delivery.c.lease_until).label("leased_until"),
    )
)
_DUE = Lookup(_due())
_DUE_OF_WELL = Lookup(
    _due().where(delivery.c.hook_id.not_in(select(hook.c.id).where(hook.c.failing_since.is_not(None))))
)
_TAKE = (
    update(delivery)
    .where(
        delivery.c.number.in_(bindparam("numbers", expanding=True)),
        delivery.c.state == PENDING,
        LANE_IS_FREE,
    )
    .values(
        state="running",
        lease_until=bindparam("leased_until", type_=UtcDateTime),
        fence=delivery.c.fence + 1,
        attempts=delivery.c.attempts + 1,
        attempted_at=bindparam("at", type_=UtcDateTime),
    )
    .returning(delivery)
)


class Found(NamedTuple):
    """``numbers``: deliveries that may be taken. ``abandoned``: whether a worker died that had some."""

    numbers: list[int]
    abandoned: bool


async def find(db: Executor, limit: int, wanted: Claimable, *, per_lane: int = 1) -> Found:
    """Up to ``limit`` due deliveries, ``per_lane`` per hook and repository; a read, so that looking often costs little.

    A lane of which something is under way is left alone: that keeps the order per repository as far as it can be
    kept. The bound per endpoint keeps one from taking all that is claimed. Two processes that claim in the same
    moment may together exceed it.
    """
    at = now()
    running: Counter[str] = Counter()
    abandoned = False
    for row in await _RUNNING.all(db):
        running[row.endpoint] = row.running
        abandoned = abandoned or row.leased_until < at
    due = _DUE if wanted.of_failing else _DUE_OF_WELL
    numbers: list[int] = []
    lanes: Counter[tuple[int, int]] = Counter()
    for row in await due.all(db, at=at, per_endpoint=wanted.per_endpoint):
        lane = (row.hook_id, row.repository_id)
        if lanes[lane] < per_lane and running[row.endpoint] < wanted.per_endpoint and len(numbers) < limit:
            lanes[lane] += 1
            running[row.endpoint] += 1
            numbers.append(row.number)
    return Found(numbers, abandoned)


async def take(db: Executor, numbers: Sequence[int], *, lease: timedelta) -> list[DeliveryRow]:
    """Those of ``numbers`` that nobody has taken meanwhile, in their order."""
    at = now()
    taken = await db.execute(_TAKE, {"numbers": numbers, "at": at, "leased_until": at + lease})
    return sorted(taken.all(), key=lambda row: row.number)


async def release_abandoned(db: Executor) -> None:
    """Let what is under way with a worker that is dead be found again."""
    await db.execute(
        update(delivery)
        .where(delivery.c.state == RUNNING, delivery.c.lease_until < now())
        .values(state="pending", lease_until=None)
    )


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
_RECORD = (
    update(delivery)
    .where(
        delivery.c.number == bindparam("of_number"),
        delivery.c.fence == bindparam("of_fence"),
        delivery.c.state == RUNNING,
    )
    .values(
        lease_until=None,
        # The hook may be aimed elsewhere by now: what goes on waiting waits for that endpoint.
        endpoint=case((bindparam("new_state") == PENDING, AIMED_AT), else_=delivery.c.endpoint),
        **{name: bindparam(f"new_{name}") for name in RECORDED},
    )
)


async def record(db: Executor, results: Sequence[tuple[DeliveryRow, dict[str, Any]]]) -> None:
    """Write what became of attempts, unless somebody else holds them by now; what is not named stays."""
    if results:
        await db.execute(
            _RECORD,
            [
                {"of_number": row.number, "of_fence": row.fence}
                | {f"new_{name}": values.get(name, getattr(row, name)) for name in RECORDED}
                for row, values in results
            ],
        )
