"""Common behaviour of the jobs of a shard."""

import errno
from datetime import timedelta

import msgspec
import pytest
from sqlalchemy import select, update

from ingot_chassis.clock import now
from ingot_chassis.jobs.workers import Workers
from ingot_git.process.errors import StorageFull
from ingot_repos.placement.rules.job_kinds import on_shard

pytestmark = pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)


class Payload(msgspec.Struct):
    """Of no use."""


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        (StorageFull("the disk is full"), 5),
        (OSError(errno.ENOSPC, "no room"), 5),
        (OSError(errno.EIO, "the disk is broken"), 600),
    ],
)
async def test_a_job_goes_on_soon_after_the_disk_was_full(world, error, seconds):
    jobs = world.components.jobs
    async with world.database.transaction() as tx:
        await jobs.add(tx, "copy@here", "1", Payload())
        await tx.execute(update(jobs.table).values(attempts=30))

    async def fail(_job):
        raise error

    await Workers("repos", jobs, on_shard({"copy": fail}, "here")).step()
    async with world.database.read() as db:
        run_at = (await db.execute(select(jobs.table.c.run_at))).scalar_one()
    assert timedelta(seconds=seconds / 2) < run_at - now() <= timedelta(seconds=seconds)
