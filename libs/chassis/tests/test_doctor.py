"""What the doctor says of leases and space; of events: test_replay.py and test_relay.py."""

from datetime import timedelta
from pathlib import Path

import pytest

from ingot_chassis.clock import now
from ingot_chassis.events import doctor
from ingot_chassis.events.doctor import examine, examine_space
from ingot_chassis.jobs.jobs import Jobs, JobState


@pytest.mark.parametrize(
    ("age", "count"), [(timedelta(minutes=5), 1), (timedelta(), 0), (timedelta(minutes=-5), 0)]
)
async def test_a_lease_that_ended_long_ago_is_found(database, age, count):
    table = Jobs(database).table
    moment = now()
    values = {
        "kind": "fork",
        "key": "7",
        "payload": b"{}",
        "state": JobState.RUNNING,
        "run_at": moment,
        "attempts": 1,
    }
    lease = {"fence": 1, "owner": "pod-a", "lease_until": moment - age, "created_at": moment}
    async with database.transaction() as tx:
        await tx.execute(table.insert().values(**values, **lease))

    lines = await examine("counter", database)

    assert len(lines) == count
    assert all("fork 7" in line and "pod-a" in line for line in lines)


async def test_a_clock_that_differs_is_found(database, monkeypatch):
    monkeypatch.setattr(doctor, "now", lambda: now() + timedelta(minutes=10))
    lines = await examine("counter", database)
    assert [line for line in lines if "clock" in line] == (
        []
        if database.is_sqlite
        else ["counter: the clock here and that of PostgreSQL differ by 600.0 s; set both by NTP"]
    )


@pytest.mark.parametrize(("least", "kinds"), [(0.0, 0), (1.1, 2)])
def test_space_that_runs_out_is_found(tmp_path: Path, monkeypatch, least, kinds):
    monkeypatch.setattr(doctor, "LEAST_SPACE", least)
    lines = examine_space("repos", tmp_path)
    assert len(lines) in ({0} if not kinds else {1, 2})  # not every file system counts inodes
    assert all(str(tmp_path) in line for line in lines)
