"""The periodic task that compares accounts with the people of their LDAP directories.

A directory that fails is logged and does not delay the others.
"""

from datetime import timedelta

import structlog

from ingot_chassis.db.database import Database
from ingot_chassis.errors import Unavailable
from ingot_chassis.jobs.periodic import PeriodicTask
from ingot_identity.directories.clients.queries import DirectoryFailed
from ingot_identity.directories.rules.synchronization import Synchronization
from ingot_identity.sources.store import sources
from ingot_identity.sources.store.tables import SourceKind

log = structlog.get_logger()

SYNCHRONIZE_EVERY = timedelta(minutes=15)


def tasks(database: Database, synchronization: Synchronization) -> list[PeriodicTask]:
    async def synchronize() -> None:
        async with database.read() as db:
            rows = await sources.list_enabled(db)
        for row in rows:
            if row.kind != SourceKind.LDAP:
                continue
            try:
                await synchronization.run(row)
            except (DirectoryFailed, Unavailable) as error:
                log.warning("a directory failed, no account is changed", source=row.name, reason=str(error))
            except Exception:  # the other directories are compared
                log.exception("a directory cannot be compared", source=row.name)

    return [PeriodicTask("identity_synchronize_directories", SYNCHRONIZE_EVERY, synchronize)]
