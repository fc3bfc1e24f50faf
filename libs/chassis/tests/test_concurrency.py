"""Limits of a caller's parallel expensive requests."""

import asyncio

import pytest

from ingot_chassis.errors import TooManyRequests
from ingot_chassis.http.concurrency import ConcurrencyLimiter, ConcurrencyQueue, network_of


def test_a_caller_has_so_many_slots_and_gets_them_back():
    limiter = ConcurrencyLimiter(2)
    with limiter.slot("ann"), limiter.slot("ann"):
        with pytest.raises(TooManyRequests) as refused, limiter.slot("ann"):
            pass
        assert refused.value.headers["Retry-After"] == "1"
        with limiter.slot("bob"):
            assert limiter.acquired == {"ann": 2, "bob": 1}
    assert not limiter.acquired


def test_a_slot_is_released_when_the_work_fails():
    limiter = ConcurrencyLimiter(1)
    with pytest.raises(ValueError, match="broken"), limiter.slot("ann"):
        raise ValueError("broken")
    assert not limiter.acquired


def test_zero_is_no_limit():
    limiter = ConcurrencyLimiter(0)
    with limiter.slot("ann"), limiter.slot("ann"), limiter.slot("ann"):
        assert limiter.acquired["ann"] == 3


async def test_requests_of_a_caller_wait_for_a_slot_and_those_of_others_do_not():
    queue, entered, leave = ConcurrencyQueue(1, waiting=2), [], asyncio.Event()

    async def enter(caller: str, name: str) -> None:
        async with queue.slot(caller):
            entered.append(name)
            await leave.wait()

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(enter("ann", "first"))
        left = tasks.create_task(enter("ann", "second"))
        tasks.create_task(enter("ann", "third"))
        await asyncio.sleep(0)
        with pytest.raises(TooManyRequests):
            await enter("ann", "fourth")
        tasks.create_task(enter("bob", "other"))
        left.cancel()
        await asyncio.wait([left])
        assert entered == ["first", "other"]
        leave.set()
    assert entered == ["first", "other", "third"]


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8::7", "2001:db8::/64"),
        ("2001:db8:0:0:ffff::1", "2001:db8::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("", ""),
        ("a:b", "a:b"),
        ("192.0.2.7:80", "192.0.2.7:80"),
    ],
)
def test_a_customer_with_many_addresses_is_one_caller(address, network):
    assert network_of(address) == network
