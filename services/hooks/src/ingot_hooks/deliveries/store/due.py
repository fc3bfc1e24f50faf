"""Deliveries that can be sent now: the first due ones of each lane, within limits."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    FromClause,
    Integer,
    ScalarSelect,
    bindparam,
    cast,
    func,
    literal_column,
    null,
    or_,
    select,
    tuple_,
)

from ingot_chassis.clock import now
from ingot_chassis.db.arrays import any_of
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery
from ingot_chassis.db.rows import TypedRow
from ingot_chassis.db.tables import UtcDateTime
from ingot_hooks.catalog.store.tables import hook
from ingot_hooks.deliveries.store.lanes import LANE, TURN, IsOfLane, take_order_from_indexes
from ingot_hooks.deliveries.store.queries import PENDING, RUNNING, UNDER_WAY
from ingot_hooks.deliveries.store.tables import delivery

MAX_DUE = 200
"""Maximum number of due deliveries that are found. This many of the oldest are searched first."""
MAX_DEPTH = 2000
"""Number of the oldest due deliveries that are searched for endpoints that may get more."""
TOO_FEW = 20
"""Minimum number of claimable deliveries among the oldest.

With fewer, the others may hide younger ones, so all lanes are scanned.
"""

Lane = tuple[int, int]
"""A hook and a repository: their deliveries are sent one at a time, in order."""


class EndpointLimit(NamedTuple):
    """Limits of one host and port: running deliveries of all processes, and found deliveries per lane."""

    running: int
    per_lane: int = 1


class ClaimLimits(NamedTuple):
    """Limits of a search for due deliveries. ``of_endpoint`` returns the limit of an endpoint.

    Deliveries of failing hooks are found only with ``include_failing``. ``paused_lanes`` are skipped.
    """

    of_endpoint: Callable[[str], EndpointLimit]
    include_failing: bool = True
    paused_lanes: Collection[Lane] = ()


class LaneRow(TypedRow):
    """A lane with waiting deliveries."""

    hook_id: int
    repository_id: int
    endpoint: str


class DueDelivery(LaneRow):
    """A due delivery with its lane."""

    number: int


class HiddenDelivery(DueDelivery):
    """A due delivery. ``position`` is its rank among all due deliveries, from 1 for the oldest."""

    position: int


class RunningLane(LaneRow):
    """A lane with running deliveries. ``leased_until`` is the end of the lease that expires first."""

    running: int
    leased_until: datetime


class HookId(TypedRow):
    id: int


_IS_DUE = (
    UNDER_WAY,
    delivery.c.state == PENDING,
    delivery.c.next_attempt_at <= bindparam("at", type_=UtcDateTime),
)
_BY_TIME = (delivery.c.next_attempt_at, delivery.c.number)


def _due(*conditions: ColumnElement[bool], order: Sequence[str] = TURN) -> PreparedQuery[DueDelivery]:
    """Return a query for at most ``first`` due deliveries in this order."""
    return PreparedQuery(
        select(delivery.c.number, delivery.c.hook_id, delivery.c.repository_id, delivery.c.endpoint)
        .where(*_IS_DUE, *conditions)
        .order_by(*(delivery.c[name] for name in order))
        .limit(bindparam("first", type_=Integer)),
        DueDelivery,
    )


def _due_of_others() -> PreparedQuery[HiddenDelivery]:
    """Return a query for due deliveries of endpoints that are not ``full``.

    It searches the ``MAX_DEPTH`` oldest due deliveries. It also returns the last delivery that it searches,
    which shows that more deliveries may follow.
    """
    depth: ColumnElement[int] = literal_column(str(MAX_DEPTH))
    names = ("number", "hook_id", "repository_id", "endpoint")
    position = func.row_number(type_=Integer).over(order_by=_BY_TIME).label("position")
    oldest = (
        select(*(delivery.c[name] for name in names), position)
        .where(*_IS_DUE)
        .order_by(*_BY_TIME)
        .limit(depth)
        .subquery()
    )
    return PreparedQuery(
        select(*(oldest.c[name].label(name) for name in (*names, "position")))
        .where(or_(~any_of(oldest.c.endpoint, "full"), oldest.c.position == depth))
        .order_by(oldest.c.position)
        .limit(literal_column(str(MAX_DUE))),
        HiddenDelivery,
    )


def _lane_heads() -> PreparedQuery[LaneRow]:
    """Return a query for lanes with due deliveries, each by its first delivery.

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
        """Return a subquery for a column of the lane's first delivery.

        It is not a join, because a join planned for an empty table would read the whole table.
        """
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
    """The result of a search. ``numbers`` are claimable deliveries.

    ``abandoned``: a running delivery lost its worker.
    """

    numbers: list[int]
    abandoned: bool


class _Selection:
    """The due deliveries that are selected so far, within the limits."""

    def __init__(
        self, running: Sequence[RunningLane], failing_hooks: set[int], max_count: int, limits: ClaimLimits
    ) -> None:
        self._failing_hooks, self._max_count, self._limits = failing_hooks, max_count, limits
        self._by_endpoint: Counter[str] = Counter()
        for row in running:
            self._by_endpoint[row.endpoint] += row.running
        self._running_lanes = {(row.hook_id, row.repository_id) for row in running}
        self._by_lane: Counter[Lane] = Counter()
        self.numbers: dict[int, None] = {}

    def full_endpoints(self) -> list[str]:
        """Return the endpoints that have reached their limit."""
        return [
            endpoint
            for endpoint, running in self._by_endpoint.items()
            if running >= self._limits.of_endpoint(endpoint).running
        ]

    def has_room_for(self, row: LaneRow) -> bool:
        lane, limit = (row.hook_id, row.repository_id), self._limits.of_endpoint(row.endpoint)
        return (
            len(self.numbers) < self._max_count
            and self._by_endpoint[row.endpoint] < limit.running
            and self._by_lane[lane] < limit.per_lane
            and lane not in self._running_lanes
            and row.hook_id not in self._failing_hooks
            and lane not in self._limits.paused_lanes
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
    .group_by(delivery.c.hook_id, delivery.c.repository_id, delivery.c.endpoint),
    RunningLane,
)
_FAILING = PreparedQuery(select(hook.c.id).where(hook.c.failing_since.is_not(None)), HookId)
_DUE, _DUE_OF_OTHERS, _LANE_HEADS = _due(), _due_of_others(), _lane_heads()
_DUE_IN_LANE = _due(
    IsOfLane(delivery, bindparam("hook_id", type_=BigInteger), bindparam("repository_id", type_=BigInteger)),
    order=(*LANE, *TURN),
)


async def find_due(db: Executor, limit: int, limits: ClaimLimits) -> DueDeliveries:
    """Find up to ``limit`` due deliveries. This only reads, in a transaction.

    A lane with a running delivery is skipped, which keeps the order per repository. The limit per endpoint
    prevents one endpoint from taking all claims. Concurrent processes may exceed the limit together. The time
    to find a delivery does not depend on the length of its lane.
    """
    await take_order_from_indexes(db)
    at = now()
    running = await _RUNNING.all(db)
    failing_hooks = set() if limits.include_failing else {row.id for row in await _FAILING.all(db)}
    selection = _Selection(running, failing_hooks, min(limit, MAX_DUE), limits)
    oldest = await _DUE.all(db, at=at, first=MAX_DUE)
    selection.add(oldest)
    hides_others = len(oldest) == MAX_DUE and len(selection.numbers) < TOO_FEW
    if hides_others and (full := selection.full_endpoints()):
        others = await _DUE_OF_OTHERS.all(db, at=at, full=full)
        selection.add(others)
        hides_others = len(others) == MAX_DUE or any(row.position == MAX_DEPTH for row in others[-1:])
    if hides_others and len(selection.numbers) < TOO_FEW:
        for head in filter(selection.has_room_for, await _LANE_HEADS.all(db, at=at)):
            lane = {"hook_id": head.hook_id, "repository_id": head.repository_id}
            selection.add(
                await _DUE_IN_LANE.all(db, at=at, first=limits.of_endpoint(head.endpoint).per_lane, **lane)
            )
    return DueDeliveries(list(selection.numbers), abandoned=any(row.leased_until < at for row in running))
