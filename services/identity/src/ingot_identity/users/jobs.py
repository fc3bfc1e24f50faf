"""Maintains the counts of users, organizations and addresses."""

from datetime import timedelta

from ingot_chassis.db.database import Database
from ingot_chassis.jobs.periodic import CLEANUP, PeriodicTask
from ingot_identity.accounts.store import counts
from ingot_identity.users import store

ADD_UP_EVERY = timedelta(minutes=1)


def tasks(database: Database) -> list[PeriodicTask]:
    """Return tasks that add up the counts of the triggers, and that recount every hour."""

    async def recount() -> None:
        async with database.transaction() as tx:
            await store.recount(tx)

    async def add_up() -> None:
        async with database.transaction() as tx:
            await counts.add_up(tx)

    return [
        PeriodicTask("identity_recount", CLEANUP, recount),
        PeriodicTask("identity_add_up_counts", ADD_UP_EVERY, add_up),
    ]
