"""Events that scheduled merges wait for."""

from collections.abc import Mapping

import msgspec

from ingot_chassis.db.transaction import Tx
from ingot_chassis.events.consumers import Handler
from ingot_chassis.events.envelope import Envelope
from ingot_chassis.jobs.jobs import Jobs
from ingot_contracts.repos.commits import PASSED
from ingot_contracts.repos.events import StatusCreated
from ingot_issues.scheduled_merges import store
from ingot_issues.scheduled_merges.rules.scheduling import wake


class ScheduledMergeEvents:
    """Handlers of events that scheduled merges wait for."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs

    def subscriptions(self) -> Mapping[type[msgspec.Struct], Handler]:
        return {
            StatusCreated: self.wake,
        }

    async def wake(self, tx: Tx, event: StatusCreated, _envelope: Envelope) -> None:
        """Try the scheduled merges of a commit after a check has passed."""
        if event.status.status in PASSED:
            await wake(tx, self._jobs, await store.list_ids_at(tx, event.repository.id, event.sha))
