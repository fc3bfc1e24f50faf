"""Deletes old rows of replies."""

from datetime import timedelta

from ingot_chassis.clock import now
from ingot_chassis.db.database import Database
from ingot_mail.replies import store
from ingot_mail.settings import Settings

MARGIN = timedelta(days=1)


class ReplyRetention:
    """Deletes replies whose addresses have expired. Such a message is rejected if it is received again."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self._db, self._age = database, timedelta(days=settings.reply_days) + MARGIN

    async def step(self) -> int:
        """Delete old replies. Return their number."""
        async with self._db.transaction() as tx:
            return await store.drop_older(tx, now() - self._age)
