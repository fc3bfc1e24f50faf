"""Handlers of events that change pull requests."""

from collections.abc import Mapping

import msgspec

from ingot_chassis.db.transaction import Tx
from ingot_chassis.events.consumers import Handler
from ingot_chassis.events.envelope import Envelope
from ingot_chassis.jobs.jobs import Jobs
from ingot_contracts.identity.events import UserDeleted
from ingot_contracts.repos.events import CommitsProposed, PushReceived, RepositoryEdited
from ingot_issues.pulls.rules import mergeability, proposals
from ingot_issues.pulls.store import file_views
from ingot_issues.repositories.store import copies


class PullEvents:
    """Handlers of events that change pull requests."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs

    def subscriptions(self) -> Mapping[type[msgspec.Struct], Handler]:
        return {
            UserDeleted: self.remove_file_views,
            RepositoryEdited: self.compare_after_edit,
            PushReceived: self.compare_after_push,
            CommitsProposed: self.propose,
        }

    async def remove_file_views(self, tx: Tx, event: UserDeleted, _envelope: Envelope) -> None:
        await file_views.remove_of_account(tx, event.user_id)

    async def compare_after_edit(self, tx: Tx, event: RepositoryEdited, envelope: Envelope) -> None:
        """Compare open pull requests again after an edit of the setting for white-space conflicts.

        See ``invalidate_after_edit``.
        """
        before = await copies.get(tx, event.repository.id)
        await mergeability.invalidate_after_edit(tx, self._jobs, event, before, envelope.id)

    async def compare_after_push(self, tx: Tx, event: PushReceived, _envelope: Envelope) -> None:
        """Compare the pull requests of a branch again."""
        if event.ref.startswith("refs/heads/"):
            await mergeability.invalidate(tx, self._jobs, event)

    async def propose(self, tx: Tx, event: CommitsProposed, _envelope: Envelope) -> None:
        """Add a job that opens or updates the pull request of a proposal."""
        await proposals.add_job(tx, self._jobs, event)
