"""Background loops: started again when they fail, stopped for good when their block ends."""

import asyncio

from ingot_chassis.jobs.loops import polls, running, supervise


async def test_a_loop_that_fails_is_started_again():
    started = asyncio.Queue()

    async def fail_once():
        started.put_nowait(1)
        if started.qsize() == 1:
            raise RuntimeError

    await supervise("fails once", fail_once)
    assert started.qsize() == 2


async def test_a_loop_that_misses_its_cancellation_is_stopped_all_the_same():
    """As waits of asyncio do when they end in the moment they are cancelled."""
    missed = asyncio.Event()

    async def misses_one():
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            missed.set()
        await asyncio.Event().wait()

    async with asyncio.timeout(20):
        async with running([("misses one", misses_one)]):
            await asyncio.sleep(0)
    assert missed.is_set()


async def test_an_empty_block_of_loops_ends():
    async with running([]):
        pass


async def test_what_is_polled_for_no_time_is_polled_once():
    assert [number async for number in polls(0)] == [None]


async def test_the_last_poll_is_when_the_time_is_over():
    clock = asyncio.get_running_loop()
    start = clock.time()
    times = [clock.time() - start async for _ in polls(0.1)]
    assert times[-1] >= 0.1 > times[-2]
