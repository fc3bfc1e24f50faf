"""Deletion of networks without recent sign-ins."""

from ingot_chassis.db.database import Database
from ingot_chassis.jobs.periodic import CLEANUP, PeriodicTask
from ingot_identity.networks import store


def tasks(database: Database) -> list[PeriodicTask]:
    """Return the task that deletes old networks every hour."""

    async def delete_old_networks() -> None:
        async with database.transaction() as tx:
            await store.remove_old(tx)

    return [PeriodicTask("identity_delete_old_networks", CLEANUP, delete_old_networks)]
