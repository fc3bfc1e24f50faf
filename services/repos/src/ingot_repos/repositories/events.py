"""Handlers for events of other services: account copies, open issue counts and deletions.

The handlers change only database rows.
"""

from collections.abc import Mapping

import msgspec

from ingot_chassis.db.transaction import Tx
from ingot_chassis.events.consumers import Handler
from ingot_chassis.events.envelope import Envelope
from ingot_chassis.jobs.jobs import Jobs
from ingot_contracts.hooks.events import HooksForgotten
from ingot_contracts.identity.events import (
    OrganizationCreated,
    OrganizationDeleted,
    OrganizationEdited,
    OwnershipForgotten,
    PurgeRequested,
    TeamDeleted,
    UserCreated,
    UserDeleted,
    UserEdited,
)
from ingot_contracts.issues.events import (
    IssueDeleted,
    IssuesForgotten,
    OpenIssuesCounted,
    PullRequestChanged,
)
from ingot_repos.access.rules.grants import announce_access
from ingot_repos.access.store import collaborations, deploy_keys, maintainer_edits
from ingot_repos.catalog.store import accounts, repositories, transfers
from ingot_repos.repositories.rules import deletions
from ingot_repos.social.store import relations as stars_and_watches

AccountEvent = UserCreated | UserEdited | OrganizationCreated | OrganizationEdited


class EventSubscriptions:
    """Event handlers, one method per event."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs

    def subscriptions(self) -> Mapping[type[msgspec.Struct], Handler]:
        return {
            UserCreated: self.on_account_changed,
            UserEdited: self.on_account_changed,
            OrganizationCreated: self.on_account_changed,
            OrganizationEdited: self.on_account_changed,
            UserDeleted: self.on_user_deleted,
            OrganizationDeleted: self.on_organization_deleted,
            TeamDeleted: self.on_team_deleted,
            OpenIssuesCounted: self.on_open_issues_counted,
            PullRequestChanged: self.on_pull_request_changed,
            IssueDeleted: self.on_issue_deleted,
            PurgeRequested: self.on_purge_requested,
            OwnershipForgotten: self.on_ownership_forgotten,
            IssuesForgotten: self.on_issues_forgotten,
            HooksForgotten: self.on_hooks_forgotten,
        }

    async def on_account_changed(self, tx: Tx, event: AccountEvent, _envelope: Envelope) -> None:
        await accounts.save(tx, event.account)

    async def on_user_deleted(self, tx: Tx, event: UserDeleted, _envelope: Envelope) -> None:
        await stars_and_watches.remove_user(tx, event.user_id)
        await accounts.remove(tx, event.user_id)
        await transfers.remove_all(tx, event.user_id)
        await deploy_keys.remove_all_of(tx, event.user_id)

    async def on_organization_deleted(self, tx: Tx, event: OrganizationDeleted, _envelope: Envelope) -> None:
        await accounts.remove(tx, event.organization_id)
        await transfers.remove_all(tx, event.organization_id)

    async def on_purge_requested(self, tx: Tx, event: PurgeRequested, _envelope: Envelope) -> None:
        await self._jobs.add(tx, deletions.PURGE, event.account_id, event)

    async def on_team_deleted(self, tx: Tx, event: TeamDeleted, _envelope: Envelope) -> None:
        for repository_id in await collaborations.remove_team(tx, event.team_id):
            await announce_access(tx, repository_id)

    async def on_open_issues_counted(self, tx: Tx, event: OpenIssuesCounted, _envelope: Envelope) -> None:
        await repositories.set_open_counts(
            tx, event.repository_id, issues=event.open_issues, pulls=event.open_pulls
        )

    async def on_pull_request_changed(self, tx: Tx, event: PullRequestChanged, _envelope: Envelope) -> None:
        pull = event.pull_request
        is_of_fork = pull.head.repo_id != pull.base.repo_id
        if pull.allow_maintainer_edit and pull.state == "open" and is_of_fork:
            await maintainer_edits.save(
                tx,
                pull.id,
                head_repository_id=pull.head.repo_id,
                head_branch=pull.head.ref,
                base_repository_id=pull.base.repo_id,
            )
        else:
            await maintainer_edits.remove(tx, pull.id)

    async def on_issue_deleted(self, tx: Tx, event: IssueDeleted, _envelope: Envelope) -> None:
        await maintainer_edits.remove(tx, event.pull_id)

    async def on_ownership_forgotten(self, tx: Tx, event: OwnershipForgotten, _envelope: Envelope) -> None:
        await deletions.confirm(tx, self._jobs, "identity", event.repository_id)

    async def on_issues_forgotten(self, tx: Tx, event: IssuesForgotten, _envelope: Envelope) -> None:
        await deletions.confirm(tx, self._jobs, "issues", event.repository_id)

    async def on_hooks_forgotten(self, tx: Tx, event: HooksForgotten, _envelope: Envelope) -> None:
        await deletions.confirm(tx, self._jobs, "hooks", event.repository_id)
