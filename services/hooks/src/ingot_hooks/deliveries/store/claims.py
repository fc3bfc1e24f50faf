"""Claims of deliveries: a worker marks due deliveries as running, renews their leases and records outcomes.

Code that locks several running deliveries locks them by number, because a worker renews leases while it
records outcomes.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TypedDict

from sqlalchemy import ColumnElement, FromClause, bindparam, case, literal_column, select, tuple_, update

from ingot_chassis.clock import now
from ingot_chassis.db.arrays import any_of
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery, PreparedWrite
from ingot_chassis.db.rows import TypedRow, fetch_all
from ingot_chassis.db.tables import UtcDateTime
from ingot_hooks.deliveries.store.lanes import LANE, TURN, IsOfLane, take_order_from_indexes
from ingot_hooks.deliveries.store.queries import CURRENT_ENDPOINT, PENDING, RUNNING, DeliveryRow
from ingot_hooks.deliveries.store.tables import DeliveryState, delivery

_STATE = delivery.c.state.concat(literal_column("''"))
"""The state of a delivery that is looked up by its number.

With the column itself, the planner could use a partial index instead of the key. Until the next VACUUM that
index has every row that ever was in the state.
"""


class ClaimRow(TypedRow):
    """The fence of a delivery's last claim."""

    number: int
    fence: int


def _is_before(row: FromClause, *names: str) -> ColumnElement[bool]:
    return tuple_(*(row.c[name] for name in names)) < tuple_(*(delivery.c[name] for name in names))


def _is_none(row: FromClause, *conditions: ColumnElement[bool], order: Sequence[str]) -> ColumnElement[bool]:
    """Return the condition that the lane of a claimed delivery has no row that meets ``conditions``.

    The condition is a lookup in an index, once for each delivery. ``NOT EXISTS`` would become a join,
    planned for a small table. For each delivery, the join would read all rows of the partial index. Until
    the next VACUUM these include all rows that ever were in the index.
    """
    statement = select(row.c.number).where(
        IsOfLane(row, delivery.c.hook_id, delivery.c.repository_id), *conditions
    )
    first = statement.order_by(*(row.c[name] for name in order)).limit(literal_column("1"))
    return first.correlate(delivery).scalar_subquery().is_(None)


_other = delivery.alias("other")
_LANE_IS_FREE = _is_none(_other, _other.c.state == RUNNING, order=LANE)
_earlier = delivery.alias("earlier")
_IS_NEXT = _is_none(
    _earlier,
    _earlier.c.state == PENDING,
    _is_before(_earlier, *LANE, *TURN),
    _is_before(_earlier, *TURN),
    ~any_of(_earlier.c.number, "numbers"),
    order=(*LANE, *TURN),
)
"""The condition that no delivery of the lane precedes it.

Another worker may have released one since ``find_due``.
"""
_CLAIM = PreparedWrite(
    update(delivery)
    .where(
        any_of(delivery.c.number, "numbers"),
        _STATE == PENDING,
        _LANE_IS_FREE,
        _IS_NEXT,
    )
    .values(
        state=DeliveryState.RUNNING.value,
        lease_until=bindparam("leased_until", type_=UtcDateTime),
        fence=delivery.c.fence + 1,
        attempts=delivery.c.attempts + 1,
        attempted_at=bindparam("at", type_=UtcDateTime),
    )
    .returning(delivery)
)


async def claim(db: Executor, numbers: Sequence[int], *, lease: timedelta) -> list[DeliveryRow]:
    """Claim the free deliveries among ``numbers``. Return their rows, ordered by number."""
    if not numbers:
        return []
    await take_order_from_indexes(db)
    at = now()
    rows = await _CLAIM.all(db, DeliveryRow, numbers=numbers, at=at, leased_until=at + lease)
    if len(rows) < len(numbers):
        rows = await _without_shared_lanes(db, rows)
    return sorted(rows, key=lambda row: row.number)


class _ClaimedLane(TypedRow):
    hook_id: int
    repository_id: int


async def _without_shared_lanes(db: Executor, rows: Sequence[DeliveryRow]) -> Sequence[DeliveryRow]:
    """Release deliveries of lanes in which another worker has claimed a delivery at the same moment.

    Return the other rows.
    """
    if not rows:
        return rows
    own = [row.number for row in rows]
    of_others = select(delivery.c.hook_id, delivery.c.repository_id).where(
        delivery.c.state == RUNNING,
        delivery.c.hook_id.in_({row.hook_id for row in rows}),
        delivery.c.number.not_in(own),
    )
    shared = {(lane.hook_id, lane.repository_id) for lane in await fetch_all(db, of_others, _ClaimedLane)}
    returned = [row.number for row in rows if (row.hook_id, row.repository_id) in shared]
    if returned:
        await db.execute(
            update(delivery)
            .where(delivery.c.number.in_(returned))
            .values(state=DeliveryState.PENDING, lease_until=None, attempts=delivery.c.attempts - 1)
        )
    return [row for row in rows if row.number not in returned]


# In order: a worker records outcomes while it renews leases.
_LOCK = PreparedQuery(
    select(delivery.c.number, delivery.c.fence)
    .where(any_of(delivery.c.number, "numbers"), _STATE == RUNNING)
    .order_by(delivery.c.number)
    .with_for_update(),
    ClaimRow,
)
_RENEW = PreparedWrite(
    update(delivery)
    .where(any_of(delivery.c.number, "numbers"))
    .values(lease_until=bindparam("leased_until", type_=UtcDateTime))
)


async def lock_claimed(db: Executor, fences: Mapping[int, int]) -> list[int]:
    """Lock deliveries by number and fence, in order. Return the numbers with an unchanged claim."""
    rows = await _LOCK.all(db, numbers=list(fences))
    return [row.number for row in rows if fences[row.number] == row.fence]


async def renew(db: Executor, fences: Mapping[int, int], *, lease: timedelta) -> set[int]:
    """Renew the leases of claims by number and fence. Return the numbers with an unchanged claim."""
    numbers = await lock_claimed(db, fences)
    await _RENEW.run(db, numbers=numbers, leased_until=now() + lease)
    return set(numbers)


async def release_abandoned(db: Executor) -> None:
    """Make deliveries pending again whose lease has expired, because their worker is dead."""
    ended = (
        select(delivery.c.number, delivery.c.fence)
        .where(delivery.c.state == RUNNING, delivery.c.lease_until < now())
        .order_by(delivery.c.number)
        .with_for_update()
    )
    numbers = [row.number for row in await fetch_all(db, ended, ClaimRow)]
    await db.execute(
        update(delivery)
        .where(delivery.c.number.in_(numbers))
        .values(state=DeliveryState.PENDING, lease_until=None)
    )


class OutcomeColumns(TypedDict, total=False):
    """The columns that the outcome of an attempt sets. Other columns keep their values."""

    state: DeliveryState
    attempts: int
    next_attempt_at: datetime
    status: int
    response_headers: str
    response_body: bytes
    error: str
    finished_at: datetime | None


_RECORD = PreparedWrite(
    update(delivery)
    .where(
        delivery.c.number == bindparam("of_number"),
        delivery.c.fence == bindparam("of_fence"),
        _STATE == RUNNING,
    )
    .values(
        lease_until=None,
        # The hook may have another URL by now: a delivery that stays pending waits for the new endpoint.
        endpoint=case(
            (bindparam("new_state", type_=delivery.c.state.type) == PENDING, CURRENT_ENDPOINT),
            else_=delivery.c.endpoint,
        ),
        **{name: bindparam(f"new_{name}") for name in OutcomeColumns.__annotations__},
    )
)


async def record(db: Executor, outcomes: Sequence[tuple[DeliveryRow, OutcomeColumns]]) -> None:
    """Record the outcomes of attempts. Deliveries that another worker has claimed since are skipped."""
    await _RECORD.each(
        db,
        [
            {"of_number": row.number, "of_fence": row.fence}
            | {
                f"new_{name}": columns.get(name, getattr(row, name))
                for name in OutcomeColumns.__annotations__
            }
            for row, columns in sorted(outcomes, key=lambda outcome: outcome[0].number)
        ],
    )
