"""SQL for workers: finding what is due, taking it with a lease, and recording what became of it."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    FromClause,
    Integer,
    ScalarSelect,
    bindparam,
    case,
    cast,
    exists,
    func,
    literal_column,
    null,
    select,
    tuple_,
    update,
)

from ingot_chassis.database import Executor
from ingot_chassis.lookup import Lookup
from ingot_chassis.tables import UtcDateTime, now
from ingot_hooks.store.deliveries import AIMED_AT, PENDING, UNDER_WAY, DeliveryRow
from ingot_hooks.store.tables import delivery, hook

OLDEST = 200
"""As many of what is due are looked at first, and as many are found at most."""
FEW = 20
"""As few of them that can be taken mean that the others are in the way of younger ones."""
RUNNING: ColumnElement[str] = literal_column("'running'")

Lane = tuple[int, int]
"""A hook and a repository."""


class Claimable(NamedTuple):
    """What may be claimed: up to ``per_endpoint`` per host and port, and deliveries of hooks that fail or none."""

    per_endpoint: int
    of_failing: bool = True


def _due(*conditions: ColumnElement[bool]) -> Lookup:
    """The ``first`` that are due."""
    return Lookup(
        select(delivery.c.number, delivery.c.hook_id, delivery.c.repository_id, delivery.c.endpoint)
        .where(
            UNDER_WAY,
            delivery.c.state == PENDING,
            delivery.c.next_attempt_at <= bindparam("at", type_=UtcDateTime),
            *conditions,
        )
        .order_by(delivery.c.next_attempt_at, delivery.c.number)
        .limit(bindparam("first", type_=Integer))
    )


def _heads() -> Lookup:
    """The first of each lane in which something is due: goes from lane to lane in the index, past what waits there."""

    def next_lane(waiting: FromClause, *conditions: ColumnElement[bool]) -> ScalarSelect[int]:
        by_lane = (waiting.c.hook_id, waiting.c.repository_id, waiting.c.next_attempt_at, waiting.c.number)
        found = select(waiting.c.number).where(waiting.c.state == PENDING, *conditions)
        return found.order_by(*by_lane).limit(literal_column("1")).correlate_except(waiting).scalar_subquery()

    head, after = delivery.alias("head"), delivery.alias("after")
    shown = ("hook_id", "repository_id", "endpoint", "next_attempt_at")
    # Each step tells of one head and names the next one.
    nothing = (cast(null(), delivery.c[name].type).label(name) for name in shown)
    steps = select(next_lane(after).label("following"), *nothing).cte("steps", recursive=True)

    def of_head(name: str) -> ScalarSelect[Any]:
        """Looked up, not joined: a join that was planned when the table was empty would read all of it."""
        return (
            select(head.c[name])
            .where(head.c.number == steps.c.following)
            .correlate_except(head)
            .scalar_subquery()
        )

    here = tuple_(of_head("hook_id"), of_head("repository_id"))
    beyond = tuple_(after.c.hook_id, after.c.repository_id) > here
    steps = steps.union_all(
        select(next_lane(after, beyond), *(of_head(name).label(name) for name in shown)).where(
            steps.c.following.is_not(None)
        )
    )
    return Lookup(
        select(*(steps.c[name].label(name) for name in ("hook_id", "repository_id", "endpoint")))
        .where(steps.c.next_attempt_at <= bindparam("at", type_=UtcDateTime))
        .order_by(steps.c.next_attempt_at)
    )


# Built once: workers look all the time.
_RUNNING = Lookup(
    select(
        delivery.c.endpoint,
        delivery.c.hook_id,
        delivery.c.repository_id,
        func.count(delivery.c.number).label("running"),
        func.min(delivery.c.lease_until).label("leased_until"),
    )
    .where(delivery.c.state == RUNNING)
    .group_by(delivery.c.endpoint, delivery.c.hook_id, delivery.c.repository_id)
)
_FAILING = Lookup(select(hook.c.id).where(hook.c.failing_since.is_not(None)))
_DUE, _HEADS = _due(), _heads()
_DUE_IN_LANE = _due(
    delivery.c.hook_id == bindparam("hook_id"), delivery.c.repository_id == bindparam("repository_id")
)
_other = delivery.alias("other")
_LANE_IS_FREE = ~exists().where(
    _other.c.state == RUNNING,
    _other.c.hook_id == delivery.c.hook_id,
    _other.c.repository_id == delivery.c.repository_id,
)
_TAKE = (
    update(delivery)
    .where(
        delivery.c.number.in_(bindparam("numbers", expanding=True)),
        delivery.c.state == PENDING,
        _LANE_IS_FREE,
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


class _Choice:
    """What is chosen so far, beside what is under way."""

    def __init__(
        self, under_way: Sequence[Any], failing: set[int], limit: int, wanted: Claimable, per_lane: int
    ) -> None:
        self._failing, self._limit, self._wanted, self._per_lane = failing, limit, wanted, per_lane
        self._running: Counter[str] = Counter()
        self._lanes: Counter[Lane] = Counter()
        for row in under_way:
            self._running[row.endpoint] += row.running
            self._lanes[row.hook_id, row.repository_id] = per_lane
        self.numbers: dict[int, None] = {}

    def has_room_for(self, row: Any) -> bool:
        return (
            len(self.numbers) < self._limit
            and self._running[row.endpoint] < self._wanted.per_endpoint
            and self._lanes[row.hook_id, row.repository_id] < self._per_lane
            and row.hook_id not in self._failing
        )

    def add(self, rows: Iterable[Any]) -> None:
        for row in rows:
            if self.has_room_for(row) and row.number not in self.numbers:
                self._running[row.endpoint] += 1
                self._lanes[row.hook_id, row.repository_id] += 1
                self.numbers[row.number] = None


async def find(db: Executor, limit: int, wanted: Claimable, *, per_lane: int = 1) -> Found:
    """Up to ``limit`` due deliveries, ``per_lane`` per hook and repository; only reads, so that it may run often.

    A lane of which something is under way is left alone: that keeps the order per repository as far as it can be
    kept. The bound per endpoint keeps one from taking all that is claimed. Two processes that claim in the same
    moment may together exceed it. However much waits in a lane, finding what waits in others takes no longer.
    """
    at = now()
    under_way = await _RUNNING.all(db)
    failing = set() if wanted.of_failing else {row.id for row in await _FAILING.all(db)}
    choice = _Choice(under_way, failing, min(limit, OLDEST), wanted, per_lane)
    oldest = await _DUE.all(db, at=at, first=OLDEST)
    choice.add(oldest)
    if len(oldest) == OLDEST and len(choice.numbers) < FEW:
        for head in filter(choice.has_room_for, await _HEADS.all(db, at=at)):
            lane = {"hook_id": head.hook_id, "repository_id": head.repository_id}
            choice.add(await _DUE_IN_LANE.all(db, at=at, first=per_lane, **lane))
    return Found(list(choice.numbers), abandoned=any(row.leased_until < at for row in under_way))


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
