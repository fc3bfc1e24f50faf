"""Deletion of invitations that have ended."""

from ingot_chassis.db.database import Database
from ingot_chassis.jobs.periodic import CLEANUP, PeriodicTask
from ingot_identity.invitations import store


def tasks(database: Database) -> list[PeriodicTask]:
    """Return the task that deletes ended invitations every hour."""

    async def delete_ended_invitations() -> None:
        async with database.transaction() as tx:
            await store.remove_ended(tx)

    return [PeriodicTask("identity_delete_ended_invitations", CLEANUP, delete_ended_invitations)]
