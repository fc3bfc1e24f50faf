"""Outbox, inbox and leases under SIGKILL before every third step: what was promised happens exactly once.

``make soak`` kills before every step (INGOT_TEST_KILLS).
"""

import asyncio
import os

import pytest
from sqlalchemy import select

from ingot_chassis.db.database import Database

from .messaging_world import EVENTS, metadata, tally

MOST_STEPS = 400
PARTS = 2
EVERY = 1 if os.environ.get("INGOT_TEST_KILLS") == "all" else 3


async def tallies(url: str) -> dict[str, int]:
    database = Database(url, metadata)
    async with database.read() as db:
        rows = (await db.execute(select(tally))).all()
    await database.close()
    return {row.name: row.count for row in rows}


@pytest.mark.parametrize("part", range(PARTS))
def test_a_killed_process_loses_nothing_and_repeats_nothing(live, make_url, own_nats, part):
    """Kill before a step of a whole life, and then before later ones.

    The next life finishes, and each effect exists once.
    """
    for kill_at in range(1 + part * EVERY, MOST_STEPS, PARTS * EVERY):
        database, reader = make_url(), make_url()
        # After a kill that prevents an ack, the event reaches the next life, which has another database. So
        # the name differs.
        name = f"consumed {kill_at}"
        place = {"database": database, "reader": reader, "nats": own_nats.url, "name": name}
        first = live(**place, kill_at=kill_at)
        assert live(**place, kill_at=0) == "lived"
        assert asyncio.run(tallies(database)) == {"written": 1, "worked": 1}, f"killed before step {kill_at}"
        assert asyncio.run(tallies(reader))[name] == EVENTS, f"killed before step {kill_at}"
        if first == "lived":
            assert kill_at > 20
            return
    pytest.fail(f"a life has more than {MOST_STEPS} steps")


def test_a_process_killed_again_and_again_still_ends_its_work_once(live, make_url, own_nats):
    place = {"database": make_url(), "reader": make_url(), "nats": own_nats.url, "name": "consumed"}
    lives = [live(**place, kill_at=kill_at) for kill_at in (3, 9, 15, 21, 27, 33, 39, 45, 0)]
    assert lives[-1] == "lived"
    assert asyncio.run(tallies(place["database"])) == {"written": 1, "worked": 1}
    assert asyncio.run(tallies(place["reader"])) == {"consumed": EVENTS}
