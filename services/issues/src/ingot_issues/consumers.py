"""What issues does when something happened in identity or repos: rows change, slow work becomes a job."""

from ingot_chassis.database import Tx
from ingot_chassis.events import Envelope
from ingot_chassis.inbox import Subscriptions
from ingot_chassis.jobs import Jobs
from ingot_contracts import identity, repos
from ingot_contracts.identity import Account, User
from ingot_contracts.issues import IssuesForgotten
from ingot_contracts.pulls import Merged
from ingot_issues.core import checks, commits, merges
from ingot_issues.core.references import find_in_opened
from ingot_issues.core.site import Site
from ingot_issues.core.views import Viewing
from ingot_issues.store import accounts, issues, repositories


class Following:
    """Handlers of events."""

    def __init__(self, jobs: Jobs, viewing: Viewing) -> None:
        self._jobs, self._viewing = jobs, viewing

    def subscriptions(self) -> Subscriptions:
        return {
            identity.UserCreated: self.account_changed,
            identity.UserEdited: self.account_changed,
            identity.UserDeleted: self.user_deleted,
            identity.OrganizationCreated: self.account_changed,
            identity.OrganizationEdited: self.account_changed,
            identity.OrganizationDeleted: self.organization_deleted,
            repos.RepositoryEdited: self.repository_edited,
            repos.RepositoryDeleted: self.repository_deleted,
            repos.RepositoryForked: self.repository_forked,
            repos.PushReceived: self.push_received,
        }

    async def account_changed(
        self,
        tx: Tx,
        event: (
            identity.UserCreated
            | identity.UserEdited
            | identity.OrganizationCreated
            | identity.OrganizationEdited
        ),
        _envelope: Envelope,
    ) -> None:
        await accounts.save(tx, event.account)

    async def user_deleted(self, tx: Tx, event: identity.UserDeleted, _envelope: Envelope) -> None:
        """What the person wrote stays; the ghost is shown as its author."""
        await accounts.remove(tx, event.user_id)

    async def organization_deleted(
        self, tx: Tx, event: identity.OrganizationDeleted, _envelope: Envelope
    ) -> None:
        await accounts.remove(tx, event.organization_id)

    async def repository_edited(self, tx: Tx, event: repos.RepositoryEdited, _envelope: Envelope) -> None:
        await repositories.renew(tx, event.repository)

    async def repository_deleted(self, tx: Tx, event: repos.RepositoryDeleted, _envelope: Envelope) -> None:
        await repositories.remove(tx, event.repository.id)
        tx.emit(IssuesForgotten(repository_id=event.repository.id), key=event.repository.id)

    async def repository_forked(self, tx: Tx, event: repos.RepositoryForked, _envelope: Envelope) -> None:
        """Pull requests name a fork by its owner only."""
        await repositories.save(tx, event.repository)

    async def push_received(self, tx: Tx, event: repos.PushReceived, _envelope: Envelope) -> None:
        """A branch moved: record the merge it is, have its pull requests checked, follow its commits' messages."""
        if not event.ref.startswith("refs/heads/"):
            return
        await accounts.add_missing(tx, copied(event.pusher))
        await repositories.renew(tx, event.repository)
        site = Site(event.repository, event.pusher.id, self._viewing, self._jobs, event.confined)
        if event.merged_pull:
            row = await issues.get(tx, event.repository.id, event.merged_pull)
            if row is not None and row.is_pull and not row.merged:
                found = await find_in_opened(row.title, row.body)
                merged = Merged(sha=event.after, base_sha=event.before)
                await merges.record_merge(tx, site, row, merged, found)
        await checks.follow_push(tx, self._jobs, event)
        await commits.follow_push(tx, site, event)


def copied(user: User) -> Account:
    """The account of a person who acted, as far as an event tells."""
    return Account(
        id=user.id,
        kind="user",
        login=user.login,
        full_name=user.full_name,
        email=user.email,
        avatar_url=user.avatar_url,
    )
