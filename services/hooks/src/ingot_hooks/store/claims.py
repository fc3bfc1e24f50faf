"""SQL for workers: find due deliveries, claim them with a lease, and record their outcomes."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple, TypedDict

from sqlalchemy import (
    ColumnElement,
    FromClause,
    Integer,
    ScalarSelect,
    Select,
    bindparam,
    cast,
    func,
    literal_column,
    null,
    select,
    tuple_,
    update,
)

from ingot_chassis.clock import now
from ingot_chassis.db.arrays import any_of
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery, PreparedWrite
from ingot_chassis.db.rows import TypedRow, fetch_all
from ingot_chassis.db.tables import UtcDateTime
from ingot_hooks.store.deliveries import CURRENT_ENDPOINT, PENDING, UNDER_WAY, DeliveryRow
from ingot_hooks.store.tables import DeliveryState, delivery, hook

MAX_DUE = 200
"""So many of the oldest due deliveries are looked at first, and at most so many are found."""
TOO_FEW = 20
"""When fewer of the oldest can be claimed, the others of them hide younger ones, and all lanes are looked at."""
RUNNING: ColumnElement[str] = literal_column("'running'")
_STATE = delivery.c.state.concat(literal_column("''"))
"""The state of a delivery that is looked up by its number. The column itself would let the planner take a partial index
instead of the key, and that has every row that ever was in the state, until the next VACUUM."""

Lane = tuple[int, int]
"""A hook and a repository: their deliveries are sent one at a time, in order."""


class ClaimLimits(NamedTuple):
    """At most ``per_endpoint`` deliveries for one host and port; those of failing hooks only if they are included.

    Nothing of the lanes in ``paused_lanes`` is found.
    """

    per_endpoint: int
    include_failing: bool = True
    paused_lanes: Collection[Lane] = ()


class LaneRow(TypedRow):
    """Where something waits."""

    hook_id: int
    repository_id: int
    endpoint: str


class DueDelivery(LaneRow):
    """A delivery that could be claimed."""

    number: int


class RunningLane(LaneRow):
    """A lane with running deliveries. ``leased_until``: when the first of their leases ends."""

    running: int
    leased_until: datetime


class HookId(TypedRow):
    id: int


class ClaimRow(TypedRow):
    """Which claim of a delivery is the last one."""

    number: int
    fence: int


def _due(*conditions: ColumnElement[bool]) -> PreparedQuery[DueDelivery]:
    """The first deliveries that are due, as many as ``first`` says."""
    return PreparedQuery(
        select(delivery.c.number, delivery.c.hook_id, delivery.c.repository_id, delivery.c.endpoint)
        .where(
            UNDER_WAY,
            delivery.c.state == PENDING,
            delivery.c.next_attempt_at <= bindparam("at", type_=UtcDateTime),
            *conditions,
        )
        .order_by(delivery.c.next_attempt_at, delivery.c.number)
        .limit(bindparam("first", type_=Integer)),
        DueDelivery,
    )


def _lane_heads() -> PreparedQuery[LaneRow]:
    """Each lane in which something is due, by its first delivery.

    The query goes from lane to lane in the index. So it does not read the other deliveries of a lane.
    """

    def next_lane(waiting: FromClause, *conditions: ColumnElement[bool]) -> ScalarSelect[int]:
        by_lane = (waiting.c.hook_id, waiting.c.repository_id, waiting.c.next_attempt_at, waiting.c.number)
        numbers = select(waiting.c.number).where(waiting.c.state == PENDING, *conditions)
        first = numbers.order_by(*by_lane).limit(literal_column("1"))
        return first.correlate_except(waiting).scalar_subquery()

    head, after = delivery.alias("head"), delivery.alias("after")
    names = ("hook_id", "repository_id", "endpoint", "next_attempt_at")
    # Each step shows one head and names the next one.
    no_head = (cast(null(), delivery.c[name].type).label(name) for name in names)
    steps = select(next_lane(after).label("following"), *no_head).cte("steps", recursive=True)

    def of_head(name: str) -> ScalarSelect[object]:
        """A subquery, not a join: a join that was planned for an empty table would read the whole table."""
        return (
            select(head.c[name])
            .where(head.c.number == steps.c.following)
            .correlate_except(head)
            .scalar_subquery()
        )

    here = tuple_(of_head("hook_id"), of_head("repository_id"))
    beyond = tuple_(after.c.hook_id, after.c.repository_id) > here
    steps = steps.union_all(
        select(next_lane(after, beyond), *(of_head(name).label(name) for name in names)).where(
            steps.c.following.is_not(None)
        )
    )
    return PreparedQuery(
        select(*(steps.c[name].label(name) for name in ("hook_id", "repository_id", "endpoint")))
        .where(steps.c.next_attempt_at <= bindparam("at", type_=UtcDateTime))
        .order_by(steps.c.next_attempt_at),
        LaneRow,
    )


class DueDeliveries(NamedTuple):
    """``numbers``: deliveries that can be claimed. ``abandoned``: whether a running one has lost its worker."""

    numbers: list[int]
    abandoned: bool


class _Selection:
    """The due deliveries that are selected so far, within the limits."""

    def __init__(
        self,
        running: Sequence[RunningLane],
        failing_hooks: set[int],
        max_count: int,
        limits: ClaimLimits,
        per_lane: int,
    ) -> None:
        self._failing_hooks, self._max_count = failing_hooks, max_count
        self._limits, self._per_lane = limits, per_lane
        self._by_endpoint: Counter[str] = Counter()
        self._by_lane: Counter[Lane] = Counter()
        for row in running:
            self._by_endpoint[row.endpoint] += row.running
            self._by_lane[row.hook_id, row.repository_id] = per_lane
        self.numbers: dict[int, None] = {}

    def has_room_for(self, row: LaneRow) -> bool:
        return (
            len(self.numbers) < self._max_count
            and self._by_endpoint[row.endpoint] < self._limits.per_endpoint
            and self._by_lane[row.hook_id, row.repository_id] < self._per_lane
            and row.hook_id not in self._failing_hooks
            and (row.hook_id, row.repository_id) not in self._limits.paused_lanes
        )

    def add(self, rows: Iterable[DueDelivery]) -> None:
        for row in rows:
            if self.has_room_for(row) and row.number not in self.numbers:
                self._by_endpoint[row.endpoint] += 1
                self._by_lane[row.hook_id, row.repository_id] += 1
                self.numbers[row.number] = None


# Prepared: every worker runs these several times a second.
_RUNNING = PreparedQuery(
    select(
        delivery.c.endpoint,
        delivery.c.hook_id,
        delivery.c.repository_id,
        func.count(delivery.c.number).label("running"),
        func.min(delivery.c.lease_until).label("leased_until"),
    )
    .where(delivery.c.state == RUNNING)
    .group_by(delivery.c.endpoint, delivery.c.hook_id, delivery.c.repository_id),
    RunningLane,
)
_FAILING = PreparedQuery(select(hook.c.id).where(hook.c.failing_since.is_not(None)), HookId)
_DUE, _LANE_HEADS = _due(), _lane_heads()
_DUE_IN_LANE = _due(
    delivery.c.hook_id == bindparam("hook_id"), delivery.c.repository_id == bindparam("repository_id")
)


async def find_due(db: Executor, limit: int, limits: ClaimLimits, *, per_lane: int = 1) -> DueDeliveries:
    """Up to ``limit`` due deliveries, ``per_lane`` of each hook and repository. It only reads, so it may run often.

    A lane with a running delivery is left out, which keeps the order per repository. The limit per endpoint keeps one
    endpoint from taking all claims; two processes that claim at the same time may exceed it together. The time to
    find a delivery does not depend on how many others wait in its lane.
    """
    at = now()
    running = await _RUNNING.all(db)
    failing_hooks = set() if limits.include_failing else {row.id for row in await _FAILING.all(db)}
    selection = _Selection(running, failing_hooks, min(limit, MAX_DUE), limits, per_lane)
    oldest = await _DUE.all(db, at=at, first=MAX_DUE)
    selection.add(oldest)
    if len(oldest) == MAX_DUE and len(selection.numbers) < TOO_FEW:
        for head in filter(selection.has_room_for, await _LANE_HEADS.all(db, at=at)):
            lane = {"hook_id": head.hook_id, "repository_id": head.repository_id}
            selection.add(await _DUE_IN_LANE.all(db, at=at, first=per_lane, **lane))
    return DueDeliveries(list(selection.numbers), abandoned=any(row.leased_until < at for row in running))


_other = delivery.alias("other")


def _is_none(statement: Select[int]) -> ColumnElement[bool]:
    """Whether no row is found, by a lookup for each delivery that is claimed.

    ``NOT EXISTS`` would be a join: planned for a small table, it reads for each of them all rows that are or ever were
    in the partial index, until the next VACUUM.
    """
    return statement.limit(literal_column("1")).correlate(delivery).scalar_subquery().is_(None)


_LANE_IS_FREE = _is_none(
    select(_other.c.number).where(
        _other.c.state == RUNNING,
        _other.c.hook_id == delivery.c.hook_id,
        _other.c.repository_id == delivery.c.repository_id,
    )
)
_earlier = delivery.alias("earlier")
_IS_NEXT = _is_none(
    select(_earlier.c.number).where(
        _earlier.c.state == PENDING,
        _earlier.c.hook_id == delivery.c.hook_id,
        _earlier.c.repository_id == delivery.c.repository_id,
        tuple_(_earlier.c.next_attempt_at, _earlier.c.number)
        < tuple_(delivery.c.next_attempt_at, delivery.c.number),
        ~any_of(_earlier.c.number, "numbers"),
    )
)
"""Nothing of the lane is left before it: another worker may have handed that back since ``find_due``."""
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
    """Claim those of ``numbers`` that no other worker has claimed meanwhile; the rows in their order."""
    if not numbers:
        return []
    at = now()
    rows = await _CLAIM.all(db, DeliveryRow, numbers=numbers, at=at, leased_until=at + lease)
    if len(rows) < len(numbers):
        rows = await _without_shared_lanes(db, rows)
    return sorted(rows, key=lambda row: row.number)


class _ClaimedLane(TypedRow):
    hook_id: int
    repository_id: int


async def _without_shared_lanes(db: Executor, rows: Sequence[DeliveryRow]) -> Sequence[DeliveryRow]:
    """Hand back what is in a lane of which another worker claimed the beginning at the same moment."""
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


_RENEW = (
    update(delivery)
    .where(
        _STATE == RUNNING,
        tuple_(delivery.c.number, delivery.c.fence).in_(bindparam("claims", expanding=True)),
    )
    .values(lease_until=bindparam("leased_until", type_=UtcDateTime))
    .returning(delivery.c.number)
)


async def renew(db: Executor, fences: Mapping[int, int], *, lease: timedelta) -> set[int]:
    """Renew the leases of claims, by number and fence; the numbers of those that no other worker has claimed since."""
    values = {"claims": list(fences.items()), "leased_until": now() + lease}
    return set((await db.execute(_RENEW, values)).scalars())


async def release_abandoned(db: Executor) -> None:
    """Make deliveries pending again whose lease has ended: their worker is dead."""
    await db.execute(
        update(delivery)
        .where(delivery.c.state == RUNNING, delivery.c.lease_until < now())
        .values(state=DeliveryState.PENDING, lease_until=None)
    )


async def lock_claimed(db: Executor, rows: Sequence[DeliveryRow]) -> set[int]:
    """Lock those of ``rows`` that no other worker has claimed since; their numbers."""
    statement = (
        select(delivery.c.number, delivery.c.fence)
        .where(delivery.c.number.in_([row.number for row in rows]), _STATE == RUNNING)
        .order_by(delivery.c.number)
        .with_for_update()
    )
    fences = {claim_row.number: claim_row.fence for claim_row in await fetch_all(db, statement, ClaimRow)}
    return {row.number for row in rows if fences.get(row.number) == row.fence}


class OutcomeColumns(TypedDict, total=False):
    """The columns that the outcome of an attempt sets; the others keep their values."""

    state: DeliveryState
    attempts: int
    next_attempt_at: datetime
    status: int
    response_headers: str
    response_body: bytes
    error: str
    finished_at: datetime | None


def _record(**more: ColumnElement[str]) -> PreparedWrite:
    return PreparedWrite(
        update(delivery)
        .where(
            delivery.c.number == bindparam("of_number"),
            delivery.c.fence == bindparam("of_fence"),
            _STATE == RUNNING,
        )
        .values(
            lease_until=None,
            **more,
            **{name: bindparam(f"new_{name}") for name in OutcomeColumns.__annotations__},
        )
    )


_END = _record()
_HAND_BACK = _record(endpoint=CURRENT_ENDPOINT)
"""The hook may have another URL by now: a delivery that stays pending waits for the new endpoint."""


async def record(db: Executor, outcomes: Sequence[tuple[DeliveryRow, OutcomeColumns]]) -> None:
    """Record the outcomes of attempts, except of deliveries that another worker has claimed since."""
    ended, pending = list[dict[str, object]](), list[dict[str, object]]()
    for row, columns in outcomes:
        values = {"of_number": row.number, "of_fence": row.fence} | {
            f"new_{name}": columns.get(name, getattr(row, name)) for name in OutcomeColumns.__annotations__
        }
        (pending if values["new_state"] == DeliveryState.PENDING else ended).append(values)
    await _END.each(db, ended)
    await _HAND_BACK.each(db, pending)
