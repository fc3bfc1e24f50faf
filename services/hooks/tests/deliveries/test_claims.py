"""Claims of due deliveries: limits per endpoint, lanes, and hooks whose URL has changed."""

import asyncio
from datetime import timedelta
from urllib.parse import urlsplit

import pytest
from sqlalchemy import text

from ingot_chassis.clock import now
from ingot_chassis.db.transaction import Tx
from ingot_hooks.deliveries.store import claims
from ingot_hooks.deliveries.store.due import MAX_DUE, find_due
from ingot_hooks.deliveries.store.tables import DeliveryState

from ..builders import push
from ..world import HOOKS, World, per_endpoint

pytestmark = pytest.mark.both_databases

BEFORE = "http://before.example.org/"
ONE = per_endpoint(1)


async def endpoints(world: World) -> list[str]:
    return [row.endpoint for row in await world.rows("delivery")]


async def change_url(world: World, hook_id: int, url: str) -> None:
    edited = await world.call("PATCH", f"{HOOKS}/{hook_id}", {"config": {"url": url}})
    assert edited.status_code == 200


async def rows_read(tx: Tx) -> int:
    """Return the rows of deliveries that PostgreSQL has read for this connection.

    It includes transactions that ended just now: they are added to the table's statistics once a second.
    """
    statement = "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relname = 'delivery'"
    return (await tx.execute(text(statement))).scalar_one()


async def test_a_pending_delivery_does_not_wait_for_the_former_endpoint(world):
    busy, moved = await world.create_hook(BEFORE), await world.create_hook(BEFORE)
    await world.deliver(push())
    assert [row.hook_id for row in await world.claim(ONE)] == [busy]
    assert await world.claim(ONE) == []
    await change_url(world, moved, "https://after.example.org/")
    assert await endpoints(world) == ["before.example.org:80", "after.example.org:443"]
    assert [row.hook_id for row in await world.claim(ONE)] == [moved]


@pytest.mark.parametrize("together", [True, False])
async def test_a_redelivery_counts_for_the_present_endpoint(world, together):
    hook_id = await world.create_hook(BEFORE)
    await world.deliver(push())
    await world.update_all("delivery", state="failed")
    await change_url(world, hook_id, "http://after.example.org:81/")
    (delivery,) = await world.history(hook_id)
    below = "" if together else f"/{delivery['id']}"
    body = {"since": (now() - timedelta(days=1)).isoformat()} if together else None
    assert (
        await world.call("POST", f"{HOOKS}/{hook_id}/deliveries{below}/attempts", body)
    ).status_code == 202
    assert await endpoints(world) == ["after.example.org:81"]


async def test_a_delivery_that_was_claimed_for_the_former_endpoint_is_claimed_again(world, receiver):
    hook_id = await world.create_hook(receiver.url)
    for _ in range(3):
        await world.deliver(push())
    await world.update_all("delivery", endpoint="before.example.org:80")
    await world.worker.step()
    assert [request.headers["X-Ingot-Sequence"] for request in receiver.requests] == list("123")
    assert [(row["state"], row["attempts"]) for row in await world.history(hook_id)] == [("delivered", 1)] * 3
    assert await endpoints(world) == [urlsplit(receiver.url).netloc] * 3


@pytest.mark.parametrize("include_failing", [True, False])
async def test_claims_can_leave_out_failing_hooks(world, include_failing):
    failing = await world.create_hook("http://one.example.org/")
    await world.update_all("hook", failing_since=now())
    healthy = await world.create_hook("http://other.example.org/")
    await world.deliver(push())
    claimed = await world.claim(per_endpoint(4, include_failing=include_failing))
    assert [row.hook_id for row in claimed] == ([failing, healthy] if include_failing else [healthy])
    left = await world.claim(per_endpoint(4))
    assert [row.hook_id for row in left] == ([] if include_failing else [failing])


async def test_a_long_queue_behind_one_delivery_does_not_hide_others(world):
    hanging = await world.create_hook("http://one.example.org/")
    await world.deliver(push())
    (running,) = await world.claim()
    backlog = [
        {column.name: getattr(running, column.name) for column in world.table("delivery").c}
        | {"number": 1000 + n, "id": str(n), "event_id": str(n), "sequence": 100 + n}
        | {"state": "pending", "lease_until": None}
        for n in range(2, 2 + MAX_DUE)
    ]
    async with world.db.transaction() as tx:
        await tx.execute(world.table("delivery").insert(), backlog)
    good = await world.create_hook("http://other.example.org/")
    for _ in range(2):
        await world.deliver(push())
    assert [(row.hook_id, row.sequence) for row in await world.claim()] == [(good, 1)]
    async with world.db.transaction() as tx:
        await claims.record(tx, [(running, {"state": "delivered"})])
    assert [(row.hook_id, row.sequence) for row in await world.claim()] == [(hanging, 102)]


@pytest.mark.parametrize("database_backend", ["postgresql"], indirect=True)
async def test_many_lanes_of_a_full_endpoint_are_passed_over_at_once(world):
    """Each would cost several lookups, at each claim for as long as the endpoint hangs."""
    await world.create_hook(BEFORE)
    await world.deliver(push())
    (running,) = await world.claim()
    hidden = [
        {column.name: getattr(running, column.name) for column in world.table("delivery").c}
        | {"number": 1000 + n, "id": str(n), "hook_id": 1000 + n, "state": "pending", "lease_until": None}
        for n in range(MAX_DUE + 100)
    ]
    async with world.db.transaction() as tx:
        await tx.execute(world.table("delivery").insert(), hidden)
    good = await world.create_hook("http://other.example.org/")
    await world.deliver(push())
    async with world.db.transaction() as tx:
        before = await rows_read(tx)
        due = await find_due(tx, 10, ONE)
        assert await rows_read(tx) - before < 4 * len(hidden)
    (number,) = due.numbers
    assert [row.hook_id for row in await world.rows("delivery") if row.number == number] == [good]


@pytest.mark.parametrize("analyzed", [False, True])
@pytest.mark.parametrize("database_backend", ["postgresql"], indirect=True)
async def test_a_claim_and_its_outcome_look_at_their_own_lane(world, analyzed):
    """Without statistics, or with those of an idle table, the planner prefers all due, running or pending
    rows."""
    await world.create_hook(BEFORE)
    await world.deliver(push())
    (row,) = await world.rows("delivery")

    async def add(first: int, states: tuple[str, str]) -> None:
        others = [
            {column.name: getattr(row, column.name) for column in world.table("delivery").c}
            | {"number": n, "id": str(n), "hook_id": n, "state": states[n % 2]}
            | {"next_attempt_at": now() - timedelta(seconds=10_000 - n)}
            for n in range(first, first + 1000)
        ]
        async with world.db.transaction() as tx:
            await tx.execute(world.table("delivery").insert(), others)

    if analyzed:
        await add(1000, ("delivered", "delivered"))
        await world.update_all("delivery", state="delivered")
        async with world.db.transaction() as tx:
            await tx.execute(text("ANALYZE delivery"))
        async with world.db.transaction() as tx:
            table = world.table("delivery")
            await tx.execute(table.update().where(table.c.number == row.number).values(state="pending"))
    await add(2000, ("pending", "running"))
    async with world.db.transaction() as tx:
        before = await rows_read(tx)
        (claimed,) = await claims.claim(tx, [row.number], lease=timedelta(hours=1))
        await claims.record(tx, [(claimed, {"state": DeliveryState.DELIVERED})])
        assert await rows_read(tx) - before < 10
    (row, *_) = await world.rows("delivery")
    assert row.state == "delivered"


@pytest.mark.parametrize("database_backend", ["postgresql"], indirect=True)
async def test_what_is_due_is_found_without_reading_all_of_it(world):
    """Also by a planner that knows of a table in which nothing was under way."""
    await world.create_hook(BEFORE)
    await world.deliver(push())
    (row,) = await world.rows("delivery")
    lanes, each, last = 10, 200, 11

    async def add(numbers: range, state: str) -> None:
        rows = [
            {column.name: getattr(row, column.name) for column in world.table("delivery").c}
            | {"number": n, "id": str(n), "event_id": str(n), "hook_id": n % lanes, "state": state}
            | {"next_attempt_at": now() - timedelta(seconds=10_000 - n)}
            for n in numbers
        ]
        async with world.db.transaction() as tx:
            await tx.execute(world.table("delivery").insert(), rows)

    await world.update_all("delivery", state="delivered")
    await add(range(1000, 2000), "delivered")
    async with world.db.transaction() as tx:
        await tx.execute(text("ANALYZE delivery"))
    await add(range(2000, 2000 + lanes * each), "pending")
    async with world.db.transaction() as tx:
        table = world.table("delivery")
        values = {"state": "pending", "hook_id": last}
        await tx.execute(table.update().where(table.c.number == row.number).values(values))
    async with world.db.transaction() as tx:
        before = await rows_read(tx)
        due = await find_due(tx, MAX_DUE, per_endpoint(100))
        assert await rows_read(tx) - before < 2 * MAX_DUE
    assert due.numbers == [*range(2000, 2000 + lanes), row.number]


async def test_a_running_delivery_is_not_claimed_again(world, receiver):
    await world.create_hook(receiver.url)
    await world.deliver(push())
    await world.claim()
    assert await world.worker.step() == 0


async def test_what_another_worker_handed_back_is_not_overtaken(world):
    """It was claimed when this worker looked, and is pending again when this worker claims."""
    await world.create_hook(BEFORE)
    for _ in range(3):
        await world.deliver(push())
    first, second, third = (row.number for row in await world.rows("delivery"))
    async with world.db.transaction() as tx:
        assert await claims.claim(tx, [second, third], lease=timedelta(hours=1)) == []
        assert [row.number for row in await claims.claim(tx, [second, first], lease=timedelta(hours=1))] == [
            first,
            second,
        ]


async def test_two_workers_that_claim_at_once_do_not_share_a_lane(world):
    await world.create_hook(BEFORE)
    for _ in range(4):
        await world.deliver(push())
    numbers = [row.number for row in await world.rows("delivery")]

    async def claim(count: int) -> list[int]:
        async with world.db.transaction() as tx:
            rows = await claims.claim(tx, numbers[:count], lease=timedelta(hours=1))
            await asyncio.sleep(0.05)
            return [row.number for row in rows]

    one, other = await asyncio.gather(claim(2), claim(4))
    assert not min(one, other)
    assert max(one, other) in (numbers[:2], numbers)
    states = [row.state for row in await world.rows("delivery")]
    assert states.count("running") == len(max(one, other))
