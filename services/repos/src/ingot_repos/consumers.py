"""Events of others: identity's accounts are copied, issues' counts are entered."""

from typing import Any

from ingot_chassis.database import Tx
from ingot_chassis.events import Envelope
from ingot_chassis.inbox import Subscriptions
from ingot_contracts.identity import (
    OrganizationCreated,
    OrganizationDeleted,
    OrganizationEdited,
    TeamDeleted,
    UserCreated,
    UserDeleted,
    UserEdited,
)
from ingot_contracts.issues import OpenIssuesCounted
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


SUBSCRIPTIONS: Subscriptions = {
    UserCreated: account_changed,
    UserEdited: account_changed,
    OrganizationCreated: account_changed,
    OrganizationEdited: account_changed,
    UserDeleted: user_deleted,
    OrganizationDeleted: organization_deleted,
    TeamDeleted: team_deleted,
    OpenIssuesCounted: open_issues_counted,
}
