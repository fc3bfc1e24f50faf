"""Leases of deliveries: they are short, renewed by a running worker, and can be claimed after their end."""

import asyncio
from datetime import timedelta

import pytest

from ingot_chassis.clock import now
from ingot_hooks.deliveries.jobs.leases import LEASE_SECONDS, RENEW_SECONDS, Leases
from ingot_hooks.deliveries.store import claims
from ingot_hooks.deliveries.store.due import find_due
from ingot_testing.receiver import Answer

from ..builders import push
from ..world import World, per_endpoint

pytestmark = pytest.mark.both_databases


async def claimed(world: World, leases: Leases) -> list[claims.DeliveryRow]:
    async with world.db.transaction() as tx:
        due = await find_due(tx, 10, per_endpoint(10, 10))
        return await leases.claim(tx, due.numbers)


async def test_a_renewed_lease_ends_later(world, receiver):
    await world.create_hook(receiver.url)
    await world.deliver(push())
    leases = Leases(world.db)
    (row,) = await claimed(world, leases)
    await world.update_all("delivery", lease_until=now() + timedelta(seconds=1))
    await leases.renew()
    (stored,) = await world.rows("delivery")
    assert stored.lease_until > now() + timedelta(seconds=LEASE_SECONDS - RENEW_SECONDS)
    assert leases.is_valid(row)


async def test_a_lease_that_another_worker_took_over_is_not_renewed(world, receiver):
    await world.create_hook(receiver.url)
    await world.deliver(push())
    stopped, other = Leases(world.db), Leases(world.db)
    (row,) = await claimed(world, stopped)
    await world.update_all("delivery", lease_until=now() - timedelta(seconds=1))
    async with world.db.transaction() as tx:
        await claims.release_abandoned(tx)
    (newer,) = await claimed(world, other)
    await stopped.renew()
    assert not stopped.is_valid(row)
    assert other.is_valid(newer)


async def test_a_delivery_that_has_ended_is_renewed_no_more(world, receiver):
    await world.create_hook(receiver.url)
    await world.deliver(push())
    leases = Leases(world.db)
    (row,) = await claimed(world, leases)
    leases.forget(row)
    await world.update_all("delivery", lease_until=None)
    await leases.renew()
    (stored,) = await world.rows("delivery")
    assert stored.lease_until is None


@pytest.fixture
async def patient(settings):
    """Waits for an answer longer than a lease lasts."""
    settings.delivery_seconds = 30
    world = World(settings)
    yield world
    await world.close()


async def test_a_slow_endpoint_gets_a_delivery_once_though_its_lease_is_short(patient, receiver):
    """The lease would end while the attempt is under way; it is renewed."""
    world = patient
    receiver.answer(200)
    receiver.answer_next(Answer(200, delay=LEASE_SECONDS + 2))
    hook_id = await world.create_hook(receiver.url)
    await world.deliver(push())
    runs = [asyncio.create_task(world.new_worker().run()) for _ in range(2)]
    while (await world.history(hook_id))[0]["state"] != "delivered":
        await asyncio.sleep(1)
    for run in runs:
        run.cancel()
    await asyncio.gather(*runs, return_exceptions=True)
    assert len(receiver.requests) == 1


async def test_what_a_dead_worker_had_claimed_is_sent_within_seconds(world, receiver):
    await world.create_hook(receiver.url)
    await world.deliver(push())
    await claimed(world, Leases(world.db))  # and its worker is gone
    run = asyncio.create_task(world.new_worker().run())
    await receiver.wait_for(1, timeout=15)
    run.cancel()
    await asyncio.gather(run, return_exceptions=True)
