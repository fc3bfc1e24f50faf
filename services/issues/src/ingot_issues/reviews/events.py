"""Handlers of events that change reviews and requests for reviews."""

from collections.abc import Mapping

import msgspec

from ingot_chassis.db.transaction import Tx
from ingot_chassis.events.consumers import Handler
from ingot_chassis.events.envelope import Envelope
from ingot_chassis.jobs.jobs import Jobs
from ingot_contracts.identity.events import OrganizationDeleted, TeamDeleted, TeamEdited
from ingot_contracts.repos.events import RepositoryEdited
from ingot_issues.access.rules.repositories import is_transfer
from ingot_issues.reviewers.store import teams
from ingot_issues.scheduled_merges.rules.scheduling import wake


class ReviewEvents:
    """Handlers of events that change reviews and requests for reviews."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs

    def subscriptions(self) -> Mapping[type[msgspec.Struct], Handler]:
        return {
            TeamEdited: self.renew_team,
            TeamDeleted: self.remove_team,
            OrganizationDeleted: self.remove_teams,
            RepositoryEdited: self.withdraw_foreign_teams,
        }

    async def renew_team(self, tx: Tx, event: TeamEdited, _envelope: Envelope) -> None:
        """Update the copy of a team, which pull requests with a request to it show."""
        await teams.renew(tx, event.team)

    async def remove_team(self, tx: Tx, event: TeamDeleted, _envelope: Envelope) -> None:
        """Withdraw the requests to a deleted team. A scheduled merge may have waited for its review."""
        await wake(tx, self._jobs, await teams.remove(tx, event.team_id))

    async def remove_teams(self, tx: Tx, event: OrganizationDeleted, _envelope: Envelope) -> None:
        await wake(tx, self._jobs, await teams.remove_all(tx, event.organization_id))

    async def withdraw_foreign_teams(self, tx: Tx, event: RepositoryEdited, _envelope: Envelope) -> None:
        """Withdraw requests to teams of the former owner after a transfer."""
        if is_transfer(event):
            issue_ids = await teams.withdraw_foreign(tx, event.repository.id, event.repository.owner.id)
            await wake(tx, self._jobs, issue_ids)
