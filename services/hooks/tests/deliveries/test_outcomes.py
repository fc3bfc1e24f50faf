"""Outcomes that cannot be written: they are kept with their leases, and tried again."""

import asyncio
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from sqlalchemy import text, update
from structlog.testing import capture_logs

from ingot_chassis.clock import now
from ingot_hooks.catalog.rules.wakeup import DeliveryWakeup
from ingot_hooks.deliveries.jobs.leases import Leases
from ingot_hooks.deliveries.jobs.outcomes import Outcome, OutcomeRecorder, returned, unsent
from ingot_hooks.deliveries.store import claims
from ingot_hooks.deliveries.store.claims import OutcomeColumns
from ingot_hooks.deliveries.store.due import find_due
from ingot_hooks.deliveries.store.queries import DeliveryRow
from ingot_hooks.deliveries.store.tables import DeliveryState
from ingot_testing.receiver import Answer

from ..builders import push
from ..world import World, per_endpoint

pytestmark = pytest.mark.both_databases

URL = "http://one.example.org/"


@asynccontextmanager
async def without_table(world: World, name: str):
    """Statements that use the table fail in the block."""
    async with world.db.transaction() as tx:
        await tx.execute(text(f"ALTER TABLE {name} RENAME TO away"))
    yield
    async with world.db.transaction() as tx:
        await tx.execute(text(f"ALTER TABLE away RENAME TO {name}"))


async def claimed(world: World, leases: Leases, *, count: int = 1) -> list[DeliveryRow]:
    """Deliveries of as many hooks."""
    for _ in range(count):
        await world.create_hook(URL)
    await world.deliver(push())
    async with world.db.transaction() as tx:
        due = await find_due(tx, count, per_endpoint(count))
        return await leases.claim(tx, due.numbers)


async def until_logged(logs: list, event: str) -> None:
    async with asyncio.timeout(10):
        while event not in [line["event"] for line in logs]:
            await asyncio.sleep(0.02)


async def test_an_outcome_that_cannot_be_written_keeps_its_lease_until_it_is(world):
    leases = Leases(world.db)
    (row,) = await claimed(world, leases)
    recorder = OutcomeRecorder(world.db, world.settings, leases)
    with capture_logs() as logs:
        async with without_table(world, "hook"):
            recorder.add(returned(row))
            await until_logged(logs, "outcomes not recorded, trying again")
        assert leases.is_valid(row)
        await recorder.flush()
    (stored,) = await world.rows("delivery")
    assert (stored.state, stored.attempts, stored.lease_until) == ("pending", 0, None)
    assert not leases.is_valid(row)


async def test_an_outcome_that_the_database_rejects_holds_up_no_other_and_lets_its_lease_end(world):
    leases = Leases(world.db)
    good, bad = await claimed(world, leases, count=2)
    recorder = OutcomeRecorder(world.db, world.settings, leases)
    recorder.add(Outcome(row=bad, columns=OutcomeColumns(state="unheard of")))
    recorder.add(unsent(good, "not wanted"))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(recorder.flush(), 1)
    before = {row.number: row for row in await world.rows("delivery")}
    assert (before[good.number].state, before[bad.number].state) == ("cancelled", "running")
    await leases.renew()
    after = {row.number: row for row in await world.rows("delivery")}
    assert after[bad.number].lease_until == before[bad.number].lease_until


async def test_a_delivery_is_sent_once_though_the_database_fails_while_it_is_sent(world, receiver):
    receiver.answer_next(Answer(200, delay=1))
    hook_id = await world.create_hook(receiver.url)
    await world.deliver(push())
    with capture_logs() as logs:
        run = asyncio.create_task(world.worker.run())
        await receiver.wait_for(1)
        async with without_table(world, "delivery"):
            world.parts[DeliveryWakeup].notify()
            await until_logged(logs, "deliveries not claimed, trying again")
            await until_logged(logs, "outcomes not recorded, trying again")
        async with asyncio.timeout(5):  # less than a lease
            while [row["state"] for row in await world.history(hook_id)] != ["delivered"]:
                await asyncio.sleep(0.05)
        run.cancel()
        await asyncio.gather(run, return_exceptions=True)
    assert len(receiver.requests) == 1


async def test_a_claim_that_is_not_committed_is_not_held(world):
    await world.create_hook(URL)
    await world.deliver(push())
    leases = Leases(world.db)

    async def claim_and_fail() -> None:
        async with world.db.transaction() as tx:
            rows.extend(await leases.claim(tx, (await find_due(tx, 1, per_endpoint(1))).numbers))
            raise RuntimeError

    rows = list[DeliveryRow]()
    with pytest.raises(RuntimeError):
        await claim_and_fail()
    assert [leases.is_valid(row) for row in rows] == [False]


@pytest.mark.parametrize("database_backend", ["postgresql"], indirect=True)
@pytest.mark.parametrize("what", ["record", "renew", "release_abandoned"])
async def test_running_deliveries_are_locked_in_order(world, what):
    """Outcomes are recorded while leases are renewed: in two orders, each could wait for the other."""
    first, second = await claimed(world, Leases(world.db), count=2)
    table = world.table("delivery")
    ended = now() - timedelta(hours=what == "release_abandoned")
    await world.update_all("delivery", lease_until=ended)
    async with world.db.transaction() as tx:  # which puts the first one behind the second one in the table
        await tx.execute(update(table).where(table.c.number == first.number).values(error="moved"))

    async def act() -> None:
        async with world.db.transaction() as tx:
            # The planner may read the table in any order. This makes it use the order of the rows on the
            # disk.
            await tx.execute(text("SET LOCAL enable_indexscan = off"))
            await tx.execute(text("SET LOCAL enable_bitmapscan = off"))
            if what == "record":
                pending = OutcomeColumns(state=DeliveryState.PENDING)
                delivered = OutcomeColumns(state=DeliveryState.DELIVERED)
                await claims.record(tx, [(second, delivered), (first, pending)])
            elif what == "renew":
                fences = {second.number: second.fence, first.number: first.fence}
                await claims.renew(tx, fences, lease=timedelta(seconds=9))
            else:
                await claims.release_abandoned(tx)

    lock_first = table.select().where(table.c.number == first.number).with_for_update()
    lock_second = table.select().where(table.c.number == second.number).with_for_update(nowait=True)
    waiting = text("SELECT count(*) FROM pg_locks WHERE NOT granted")
    async with world.db.transaction() as tx:
        await tx.execute(lock_first)
        acting = asyncio.create_task(act())
        async with asyncio.timeout(10):
            while not (await tx.execute(waiting)).scalar_one():
                await asyncio.sleep(0.02)
        await tx.execute(lock_second)
    await acting
