"""Handlers of pushes whose commit messages close issues."""

from collections.abc import Mapping

import msgspec

from ingot_chassis.db.transaction import Tx
from ingot_chassis.events.consumers import Handler
from ingot_chassis.events.envelope import Envelope
from ingot_chassis.jobs.jobs import Jobs
from ingot_contracts.repos.events import PushReceived
from ingot_issues.closing.rules import commits
from ingot_issues.records.rules.context import RepositoryContext
from ingot_issues.records.rules.presenter import Presenter


class ClosingEvents:
    """Handlers of pushes whose commit messages close issues."""

    def __init__(self, jobs: Jobs, presenter: Presenter) -> None:
        self._jobs, self._presenter = jobs, presenter

    def subscriptions(self) -> Mapping[type[msgspec.Struct], Handler]:
        return {
            PushReceived: self.read_push,
        }

    async def read_push(self, tx: Tx, event: PushReceived, _envelope: Envelope) -> None:
        """Read the commit messages of a push to a branch."""
        if event.ref.startswith("refs/heads/"):
            context = RepositoryContext(
                event.repository, event.pusher.id, self._presenter, self._jobs, event.restricted
            )
            await commits.read_push(tx, context, event)
