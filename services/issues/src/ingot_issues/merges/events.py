"""Handlers of pushes that merge pull requests."""

from collections.abc import Mapping

import msgspec

from ingot_chassis.db.transaction import Tx
from ingot_chassis.events.consumers import Handler
from ingot_chassis.events.envelope import Envelope
from ingot_chassis.jobs.jobs import Jobs
from ingot_contracts.repos.events import PushReceived
from ingot_contracts.repos.merges import Merged
from ingot_issues.merges.rules import recording
from ingot_issues.records.rules.context import RepositoryContext
from ingot_issues.records.rules.presenter import Presenter
from ingot_issues.records.store import issues as issue_rows
from ingot_issues.references.rules import references_of


class MergeEvents:
    """Handlers of pushes that merge pull requests."""

    def __init__(self, jobs: Jobs, presenter: Presenter) -> None:
        self._jobs, self._presenter = jobs, presenter

    def subscriptions(self) -> Mapping[type[msgspec.Struct], Handler]:
        return {
            PushReceived: self.record_merge,
        }

    async def record_merge(self, tx: Tx, event: PushReceived, _envelope: Envelope) -> None:
        """Record a merge that was made by the push, if any."""
        if not event.merged_pull or not event.ref.startswith("refs/heads/"):
            return
        pull = await issue_rows.get_pull(tx, event.repository.id, event.merged_pull)
        if pull is None or pull.merged:
            return
        context = RepositoryContext(
            event.repository, event.pusher.id, self._presenter, self._jobs, event.restricted
        )
        merged = Merged(sha=event.after, base_sha=event.before)
        references = await references_of(pull.title, pull.body)
        await recording.record_merge(tx, context, pull, merged, references)
