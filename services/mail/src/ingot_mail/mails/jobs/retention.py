"""Deletes old finished mails in small batches, and checks for mails that wait for long."""

from datetime import timedelta

from prometheus_client import Gauge

from ingot_chassis.clock import now
from ingot_chassis.db.database import Database
from ingot_chassis.events.doctor import LONGEST_WAIT, utc
from ingot_mail.mails import store
from ingot_mail.settings import Settings

BATCH = 1000

LAG = Gauge("ingot_mail_lag_seconds", "How long the mail waits that is due for longest")


class Retention:
    """Deletes old mails, in one process of the service at a time."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self._db, self._age = database, timedelta(days=settings.retention_days)

    async def step(self) -> int:
        """Delete all finished mails that are older than the retention time. Return their number."""
        count = 0
        async with self._db.exclusive("mail retention") as is_ours:
            while is_ours:
                async with self._db.transaction() as tx:
                    dropped = await store.drop_older(tx, now() - self._age, BATCH)
                count += dropped
                if dropped < BATCH:
                    break
        return count


async def measure_lag(database: Database) -> None:
    """Set the metric ``ingot_mail_lag_seconds``: the longest wait of a due mail, 0 if none is due."""
    async with database.read() as db:
        waiting = await store.get_waiting(db, now())
    LAG.set((now() - waiting.since).total_seconds() if waiting.since is not None else 0.0)


async def examine_mails(database: Database) -> list[str]:
    """Return a line for the operator if mails have been due for long, else nothing."""
    async with database.read() as db:
        waiting = await store.get_waiting(db, now() - LONGEST_WAIT)
    if waiting.since is None:
        return []
    since = f"the first since {utc(waiting.since)}"
    line = f"mail: {waiting.total} mails are due for more than 5 minutes, {since}; see that a process of mail"
    return [f"{line} does the background work, and that the SMTP server answers"]
