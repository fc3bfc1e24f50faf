"""Reports of the doctor on leases, jobs, space, waiting events, and peers.

For dead-lettered events see test_replay.py and test_relay.py.
"""

from datetime import timedelta
from functools import partial
from pathlib import Path

import msgspec
import pytest

from ingot_chassis.clock import now
from ingot_chassis.events import doctor
from ingot_chassis.events.doctor import examine, examine_space, utc
from ingot_chassis.jobs.jobs import Jobs, JobState
from ingot_chassis.peers.doctor import examine_peers
from ingot_chassis.peers.peers import Peers
from ingot_chassis.security.keys import SigningKey
from ingot_chassis.security.principal import ServiceIdentity
from ingot_testing.processes import free_port
from ingot_wire.client import Origin


class Payload(msgspec.Struct):
    """Add jobs without a worker."""


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


async def test_jobs_that_are_due_for_long_are_counted_by_kind(database):
    jobs, moment = Jobs(database), now()
    ages = {"fork": (10, 8, 2), "move": (6,), "sync": (2, 0, -60)}
    async with database.transaction() as tx:
        for kind, minutes in ages.items():
            for age in minutes:
                await jobs.add(tx, kind, str(age), Payload(), run_at=moment - timedelta(minutes=age))

    first, second = await examine("counter", database)

    since = utc(moment - timedelta(minutes=10))
    assert first.startswith(
        f"counter: 2 jobs (fork) are due for more than 5 minutes, the first since {since}, "
        "and no worker takes them; see"
    )
    assert second.startswith("counter: 1 jobs (move) are due for more than 5 minutes, ")


async def test_a_job_that_is_done_or_at_work_does_not_wait(database):
    jobs = Jobs(database)
    async with database.transaction() as tx:
        for key in ("7", "8"):
            await jobs.add(tx, "fork", key, Payload(), run_at=now() - timedelta(hours=1))
    assert len(await examine("counter", database)) == 1

    done, _at_work = await jobs.claim(["fork"], 2)
    async with database.transaction() as tx:
        await jobs.finish(tx, done)

    assert await examine("counter", database) == []


@pytest.mark.parametrize(
    ("age", "is_sent", "count"),
    [(timedelta(minutes=5), False, 1), (timedelta(minutes=5), True, 0), (timedelta(), False, 0)],
)
async def test_events_that_wait_for_long_are_counted(database, age, is_sent, count):
    moment = now()
    row = {"type": "counter.changed.v1", "key": "7", "payload": b"{}", "created_at": moment - age}
    async with database.transaction() as tx:
        for number in range(3):
            await tx.execute(
                database.metadata.tables["outbox"]
                .insert()
                .values(id=f"event-{number}", sent_at=moment if is_sent else None, **row)
            )

    lines = await examine("counter", database)

    assert len(lines) == count
    assert all(line.startswith("counter: 3 events wait for NATS for more than a minute") for line in lines)


async def test_a_peer_that_is_not_ready_is_named():
    """One peer is ready, one is not ready, one is down."""

    async def app(scope, _receive, send, *, status):
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    own = ServiceIdentity("gateway", SigningKey.generate())
    apps = {name: partial(app, status=status) for name, status in (("identity", 200), ("repos", 503))}
    nowhere = Origin(f"http://127.0.0.1:{free_port()}", patience=0)
    peers = Peers({**Peers.in_process(apps, own), **Peers.over_http({"issues": nowhere}, own)})

    lines = await examine_peers("gateway", peers)
    await peers.close()

    assert [line.split(";")[0] for line in lines] == [
        "gateway: repos is not ready: repos cannot answer",
        "gateway: issues is not ready: issues does not answer",
    ]


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
