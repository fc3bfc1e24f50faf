"""Events of others: identity's accounts are copied, issues' counts are entered, and who forgot a deleted repository."""

from typing import Any

from ingot_chassis.database import Tx
from ingot_chassis.events import Envelope
from ingot_chassis.inbox import Handler, Subscriptions
from ingot_chassis.jobs import Jobs
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
from ingot_repos.core.views import copied
from ingot_repos.store import accounts, collaborations, repositories


async def account_changed(tx: Tx, event: Any, _envelope: Envelope) -> None:
    """A user or organization was made or edited."""
    await accounts.put(tx, copied(event.account))


async def user_deleted(tx: Tx, event: UserDeleted, _envelope: Envelope) -> None:
    await accounts.forget(tx, event.user_id)


async def organization_deleted(tx: Tx, event: OrganizationDeleted, _envelope: Envelope) -> None:
    await accounts.forget(tx, event.organization_id)


async def team_deleted(tx: Tx, event: TeamDeleted, _envelope: Envelope) -> None:
    for repository_id in await collaborations.forget_team(tx, event.team_id):
        await announce_access(tx, repository_id)


async def open_issues_counted(tx: Tx, event: OpenIssuesCounted, _envelope: Envelope) -> None:
    await repositories.set_open_issues(tx, event.repository_id, event.open_issues)


def subscriptions(jobs: Jobs) -> Subscriptions:
    """What repos listens to."""

    def forgotten_by(service: str) -> Handler:
        async def forgotten(tx: Tx, event: Any, _envelope: Envelope) -> None:
            await deletions.forgotten_by(tx, jobs, service, event.repository_id)

        return forgotten

    return {
        UserCreated: account_changed,
        UserEdited: account_changed,
        OrganizationCreated: account_changed,
        OrganizationEdited: account_changed,
        UserDeleted: user_deleted,
        OrganizationDeleted: organization_deleted,
        TeamDeleted: team_deleted,
        OpenIssuesCounted: open_issues_counted,
        OwnershipForgotten: forgotten_by("identity"),
        IssuesForgotten: forgotten_by("issues"),
        HooksForgotten: forgotten_by("hooks"),
    }
