"""Deletion of expired sessions of browsers."""

from ingot_chassis.db.database import Database
from ingot_chassis.jobs.periodic import CLEANUP, PeriodicTask
from ingot_identity.sessions import store


def tasks(database: Database) -> list[PeriodicTask]:
    """Return the task that deletes expired sessions every hour."""

    async def delete_expired_sessions() -> None:
        async with database.transaction() as tx:
            await store.remove_expired(tx)

    return [PeriodicTask("identity_delete_expired_sessions", CLEANUP, delete_expired_sessions)]
