"""Deletion of sessions, codes and tokens that have expired."""

from ingot_chassis.db.database import Database
from ingot_chassis.jobs.periodic import CLEANUP, PeriodicTask
from ingot_identity.oauth2.rules import flow


def tasks(database: Database) -> list[PeriodicTask]:
    """Delete them every hour."""

    async def delete_expired_sign_ins() -> None:
        async with database.transaction() as tx:
            await flow.remove_expired(tx)

    return [PeriodicTask("identity_delete_expired_sign_ins", CLEANUP, delete_expired_sign_ins)]
