"""What events of identity and repos change here. Handlers write rows; slow work becomes a job."""

from ingot_chassis.db.transaction import Tx
from ingot_chassis.events.consumers import Subscriptions
from ingot_chassis.events.envelope import Envelope
from ingot_chassis.jobs.jobs import Jobs
from ingot_contracts import identity, repos
from ingot_contracts.identity import Account, User
from ingot_contracts.issues import IssuesForgotten
from ingot_contracts.pulls import Merged
from ingot_issues.core import commits, mergeability, merges, proposals, scheduled_merges
from ingot_issues.core.events import emit
from ingot_issues.core.issues import references_of
from ingot_issues.core.presenter import Presenter
from ingot_issues.core.repository_context import RepositoryContext
from ingot_issues.store import (
    accounts,
    file_views,
    issue_rows,
    labels,
    organization_labels,
    repositories,
    teams,
)
from ingot_issues.store import scheduled_merges as scheduled_merge_rows


class EventSubscriptions:
    """The handlers of events."""

    def __init__(self, jobs: Jobs, presenter: Presenter) -> None:
        self._jobs, self._presenter = jobs, presenter

    def subscriptions(self) -> Subscriptions:
        return {
            identity.UserCreated: self.on_user_created,
            identity.UserEdited: self.on_user_edited,
            identity.UserDeleted: self.on_user_deleted,
            identity.OrganizationCreated: self.on_organization_created,
            identity.OrganizationEdited: self.on_organization_edited,
            identity.OrganizationDeleted: self.on_organization_deleted,
            identity.TeamEdited: self.on_team_edited,
            identity.TeamDeleted: self.on_team_deleted,
            repos.RepositoryCreated: self.on_repository_created,
            repos.RepositoryEdited: self.on_repository_edited,
            repos.RepositoryDeleted: self.on_repository_deleted,
            repos.RepositoryForked: self.on_repository_forked,
            repos.PushReceived: self.on_push_received,
            repos.CommitsProposed: self.on_commits_proposed,
            repos.StatusCreated: self.on_status_created,
        }

    async def on_user_created(self, tx: Tx, event: identity.UserCreated, _envelope: Envelope) -> None:
        await accounts.save(tx, event.account)

    async def on_user_edited(self, tx: Tx, event: identity.UserEdited, _envelope: Envelope) -> None:
        await accounts.save(tx, event.account)

    async def on_user_deleted(self, tx: Tx, event: identity.UserDeleted, _envelope: Envelope) -> None:
        """What the person wrote stays; the ghost is shown as its author. What only they saw goes."""
        await accounts.remove(tx, event.user_id)
        await file_views.remove_of_account(tx, event.user_id)

    async def on_organization_created(
        self, tx: Tx, event: identity.OrganizationCreated, _envelope: Envelope
    ) -> None:
        await accounts.save(tx, event.account)

    async def on_organization_edited(
        self, tx: Tx, event: identity.OrganizationEdited, _envelope: Envelope
    ) -> None:
        await accounts.save(tx, event.account)

    async def on_organization_deleted(
        self, tx: Tx, event: identity.OrganizationDeleted, _envelope: Envelope
    ) -> None:
        await accounts.remove(tx, event.organization_id)
        await organization_labels.remove_all(tx, event.organization_id)
        await scheduled_merges.wake(tx, self._jobs, await teams.remove_all(tx, event.organization_id))

    async def on_team_edited(self, tx: Tx, event: identity.TeamEdited, _envelope: Envelope) -> None:
        """Pull requests that wait for its review name it."""
        await teams.renew(tx, event.team)

    async def on_team_deleted(self, tx: Tx, event: identity.TeamDeleted, _envelope: Envelope) -> None:
        """It is asked for reviews no longer; a scheduled merge may have waited for one."""
        await scheduled_merges.wake(tx, self._jobs, await teams.remove(tx, event.team_id))

    async def on_repository_created(
        self, tx: Tx, event: repos.RepositoryCreated, _envelope: Envelope
    ) -> None:
        """Add the labels with which the repository begins."""
        if not event.labels and not event.labels_of:
            return
        # Labels of organizations have no repository: 0 would stand for those of all of them.
        more = await labels.list_all(tx, event.labels_of) if event.labels_of else []
        first = [
            {name: getattr(one, name) for name in ("name", "color", "description", "exclusive")}
            for one in (*event.labels, *more)
        ]
        await labels.add_missing(tx, event.repository.id, first)

    async def on_repository_edited(self, tx: Tx, event: repos.RepositoryEdited, envelope: Envelope) -> None:
        """After a transfer, issues lose labels and reviewing teams of the organization that owned the repository."""
        before = await repositories.get(tx, event.repository.id)
        await repositories.renew(tx, event.repository)
        await mergeability.invalidate_after_edit(tx, self._jobs, event, before, envelope.id)
        owner = event.repository.owner
        if event.previous_full_name.partition("/")[0].lower() not in ("", owner.login.lower()):
            await organization_labels.take_off_foreign(tx, event.repository.id, owner.id)
            issue_ids = await teams.withdraw_foreign(tx, event.repository.id, owner.id)
            await scheduled_merges.wake(tx, self._jobs, issue_ids)

    async def on_repository_deleted(
        self, tx: Tx, event: repos.RepositoryDeleted, _envelope: Envelope
    ) -> None:
        await repositories.remove(tx, event.repository.id)
        emit(tx, IssuesForgotten(repository_id=event.repository.id), event.repository.id)

    async def on_repository_forked(self, tx: Tx, event: repos.RepositoryForked, _envelope: Envelope) -> None:
        """Pull requests name a fork by its owner only, so each fork has a copy."""
        await repositories.save(tx, event.repository)

    async def on_push_received(self, tx: Tx, event: repos.PushReceived, _envelope: Envelope) -> None:
        """Record the merge that the push is, compare pull requests of the branch again, read commit messages."""
        if not event.ref.startswith("refs/heads/"):
            return
        await accounts.add_missing(tx, account_of(event.pusher))
        await repositories.renew(tx, event.repository)
        context = RepositoryContext(
            event.repository, event.pusher.id, self._presenter, self._jobs, event.restricted
        )
        if event.merged_pull:
            pull = await issue_rows.get_pull(tx, event.repository.id, event.merged_pull)
            if pull is not None and not pull.merged:
                merged = Merged(sha=event.after, base_sha=event.before)
                references = await references_of(pull.title, pull.body)
                await merges.record_merge(tx, context, pull, merged, references)
        await mergeability.invalidate(tx, self._jobs, event)
        await commits.read_push(tx, context, event)

    async def on_commits_proposed(self, tx: Tx, event: repos.CommitsProposed, _envelope: Envelope) -> None:
        """Open a pull request, or update it, by a job."""
        await accounts.add_missing(tx, account_of(event.pusher))
        await repositories.save(tx, event.repository)
        await proposals.add_job(tx, self._jobs, event)

    async def on_status_created(self, tx: Tx, event: repos.StatusCreated, _envelope: Envelope) -> None:
        """A check may have been all that a scheduled merge waited for."""
        if event.status.status in repos.PASSED:
            ids = await scheduled_merge_rows.list_ids_at(tx, event.repository.id, event.sha)
            await scheduled_merges.wake(tx, self._jobs, ids)


def account_of(user: User) -> Account:
    """The account of a person, with the fields that an event has."""
    return Account(
        id=user.id,
        kind="user",
        login=user.login,
        full_name=user.full_name,
        email=user.email,
        avatar_url=user.avatar_url,
    )
