"""Deletion of messages that have expired."""

from ingot_chassis.db.database import Database
from ingot_chassis.jobs.periodic import CLEANUP, PeriodicTask
from ingot_identity.messages import store


def tasks(database: Database) -> list[PeriodicTask]:
    """Return the task that deletes expired messages every hour."""

    async def delete_expired_messages() -> None:
        async with database.transaction() as tx:
            await store.remove_expired(tx)

    return [PeriodicTask("identity_delete_expired_messages", CLEANUP, delete_expired_messages)]
