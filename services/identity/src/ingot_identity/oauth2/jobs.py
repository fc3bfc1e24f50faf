"""Deletion of expired codes and tokens of applications."""

from ingot_chassis.db.database import Database
from ingot_chassis.jobs.periodic import CLEANUP, PeriodicTask
from ingot_identity.oauth2.store import grants


def tasks(database: Database) -> list[PeriodicTask]:
    """Return the task that deletes expired codes and tokens every hour."""

    async def delete_expired_grants() -> None:
        async with database.transaction() as tx:
            await grants.remove_expired(tx)

    return [PeriodicTask("identity_delete_expired_grants", CLEANUP, delete_expired_grants)]
