"""Deletion of registrations without a decision."""

from ingot_chassis.db.database import Database
from ingot_chassis.jobs.periodic import CLEANUP, PeriodicTask
from ingot_identity.registrations import store


def tasks(database: Database) -> list[PeriodicTask]:
    """Return the task that deletes old registrations."""

    async def delete_old_registrations() -> None:
        async with database.transaction() as tx:
            await store.remove_old(tx)

    return [PeriodicTask("identity_delete_old_registrations", CLEANUP, delete_old_registrations)]
