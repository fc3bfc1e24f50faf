"""Applies groups whose rights are not applied yet: after a crash, a new mapping, or for a large group."""

from datetime import timedelta

from ingot_chassis.db.database import Database
from ingot_chassis.jobs.periodic import PeriodicTask
from ingot_identity.accounts.rules.presenter import Presenter
from ingot_identity.scim.rules.provisioning import SourceClient, actor_of, apply_pending
from ingot_identity.sources.rules.configs import read_config
from ingot_identity.sources.store import sources

APPLY_EVERY = timedelta(minutes=1)


def tasks(database: Database, presenter: Presenter) -> list[PeriodicTask]:
    async def apply_groups() -> None:
        async with database.read() as db:
            rows = await sources.list_enabled(db)
        for row in rows:
            config = read_config(row.config)
            await apply_pending(SourceClient(database, presenter, row, config, actor_of(row), timedelta(0)))

    return [PeriodicTask("identity_apply_scim_groups", APPLY_EVERY, apply_groups)]
