"""Events of other services: accounts are copied, open issues counted, and deletions confirmed. Rows only."""

from ingot_chassis.db.transaction import Tx
from ingot_chassis.events.consumers import Subscriptions
from ingot_chassis.events.envelope import Envelope
from ingot_chassis.jobs.jobs import Jobs
from ingot_contracts.hooks import HooksForgotten
from ingot_contracts.identity import (
    OrganizationCreated,
    OrganizationDeleted,
    OrganizationEdited,
    OwnershipForgotten,
    TeamDeleted,
    UserCreated,
    UserDeleted,
    UserEdited,
)
from ingot_contracts.issues import IssuesForgotten, OpenIssuesCounted
from ingot_repos.core import deletions
from ingot_repos.core.grants import announce_access
from ingot_repos.store import accounts, collaborations, repositories, transfers

AccountEvent = UserCreated | UserEdited | OrganizationCreated | OrganizationEdited


class EventSubscriptions:
    """One method for each event."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs

    def subscriptions(self) -> Subscriptions:
        return {
            UserCreated: self.on_account_changed,
            UserEdited: self.on_account_changed,
            OrganizationCreated: self.on_account_changed,
            OrganizationEdited: self.on_account_changed,
            UserDeleted: self.on_user_deleted,
            OrganizationDeleted: self.on_organization_deleted,
            TeamDeleted: self.on_team_deleted,
            OpenIssuesCounted: self.on_open_issues_counted,
            OwnershipForgotten: self.on_ownership_forgotten,
            IssuesForgotten: self.on_issues_forgotten,
            HooksForgotten: self.on_hooks_forgotten,
        }

    async def on_account_changed(self, tx: Tx, event: AccountEvent, _envelope: Envelope) -> None:
        await accounts.save(tx, event.account)

    async def on_user_deleted(self, tx: Tx, event: UserDeleted, _envelope: Envelope) -> None:
        await accounts.remove(tx, event.user_id)
        await transfers.remove_all(tx, event.user_id)

    async def on_organization_deleted(self, tx: Tx, event: OrganizationDeleted, _envelope: Envelope) -> None:
        await accounts.remove(tx, event.organization_id)
        await transfers.remove_all(tx, event.organization_id)

    async def on_team_deleted(self, tx: Tx, event: TeamDeleted, _envelope: Envelope) -> None:
        for repository_id in await collaborations.remove_team(tx, event.team_id):
            await announce_access(tx, repository_id)

    async def on_open_issues_counted(self, tx: Tx, event: OpenIssuesCounted, _envelope: Envelope) -> None:
        await repositories.set_open_counts(
            tx, event.repository_id, issues=event.open_issues, pulls=event.open_pulls
        )

    async def on_ownership_forgotten(self, tx: Tx, event: OwnershipForgotten, _envelope: Envelope) -> None:
        await deletions.confirm(tx, self._jobs, "identity", event.repository_id)

    async def on_issues_forgotten(self, tx: Tx, event: IssuesForgotten, _envelope: Envelope) -> None:
        await deletions.confirm(tx, self._jobs, "issues", event.repository_id)

    async def on_hooks_forgotten(self, tx: Tx, event: HooksForgotten, _envelope: Envelope) -> None:
        await deletions.confirm(tx, self._jobs, "hooks", event.repository_id)
