"""The number of deliveries claimed for an endpoint, by its response time."""

import pytest

from ingot_hooks.deliveries.jobs.slots import (
    FIRST_PER_SLOT,
    MAX_PER_SLOT,
    PER_LANE,
    STALL_SECONDS,
    EndpointSlots,
)


class Clock:
    def __init__(self) -> None:
        self.time = 100.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def clock():
    return Clock()


def make_attempts(slots: EndpointSlots, clock: Clock, *, seconds: float, count: int = 20) -> None:
    for _ in range(count):
        with slots.attempt():
            clock.time += seconds


@pytest.mark.parametrize(
    ("seconds", "per_slot"),
    [(0.0, MAX_PER_SLOT), (0.1, MAX_PER_SLOT), (0.5, 10), (1.0, 5), (5.0, 1), (20, 1)],
)
def test_as_many_are_claimed_as_can_be_sent_in_some_seconds(clock, seconds, per_slot):
    slots = EndpointSlots(4, clock)
    make_attempts(slots, clock, seconds=seconds)
    assert slots.limit().running == pytest.approx(4 * per_slot, abs=4)
    assert slots.limit().per_lane == pytest.approx(min(PER_LANE, per_slot), abs=1)


def test_some_are_claimed_before_the_first_answer(clock):
    assert EndpointSlots(4, clock).limit() == (4 * FIRST_PER_SLOT, FIRST_PER_SLOT)


async def test_none_are_claimed_while_the_slots_are_stalled(clock):
    slots = EndpointSlots(2, clock)
    make_attempts(slots, clock, seconds=0.001)
    await slots.free.acquire()
    with slots.attempt():
        clock.time += 2 * STALL_SECONDS
        assert slots.limit().running > 0  # one slot is free
        await slots.free.acquire()
        with slots.attempt():
            clock.time += STALL_SECONDS / 2
            assert slots.limit().running > 0
            clock.time += STALL_SECONDS
            assert slots.limit().running == 0
        slots.free.release()
    assert slots.limit().running > 0
