"""Events of other services: most become deliveries, some delete hooks or ask for a permission check.

Handlers only write rows. A permission check calls other services, so a worker does it.
"""

from collections.abc import Sequence

from ingot_chassis.db.transaction import Tx
from ingot_chassis.events.consumers import Subscriptions
from ingot_chassis.events.envelope import Envelope
from ingot_contracts.hooks import HooksForgotten
from ingot_contracts.identity import (
    CredentialsRevoked,
    MembershipChanged,
    OrganizationDeleted,
    UserDeleted,
    UserEdited,
)
from ingot_contracts.issues import (
    CommentChanged,
    IssueChanged,
    PullRequestChanged,
    ReviewChanged,
    ReviewRequested,
)
from ingot_contracts.repos import (
    AccessChanged,
    PushReceived,
    ReleaseChanged,
    RepositoryCreated,
    RepositoryDeleted,
    RepositoryEdited,
    RepositoryForked,
    StatusCreated,
)
from ingot_hooks.core import fanout, hooks, notices
from ingot_hooks.core.notices import Notice
from ingot_hooks.core.wakeup import Wakeup
from ingot_hooks.store import hooks as store
from ingot_hooks.store.hooks import Owner


class EventSubscriptions:
    """Notifies ``delivery_wakeup`` of new deliveries, ``permission_wakeup`` of hooks that await a permission check."""

    def __init__(self, delivery_wakeup: Wakeup, permission_wakeup: Wakeup) -> None:
        self._delivery_wakeup, self._permission_wakeup = delivery_wakeup, permission_wakeup

    def subscriptions(self) -> Subscriptions:
        """The handler of each event."""
        return {
            PushReceived: self.on_push_received,
            RepositoryForked: self.on_repository_forked,
            RepositoryCreated: self.on_repository_created,
            RepositoryDeleted: self.on_repository_deleted,
            IssueChanged: self.on_issue_changed,
            CommentChanged: self.on_comment_changed,
            PullRequestChanged: self.on_pull_request_changed,
            ReviewChanged: self.on_review_changed,
            ReviewRequested: self.on_review_requested,
            StatusCreated: self.on_status_created,
            ReleaseChanged: self.on_release_changed,
            OrganizationDeleted: self.on_organization_deleted,
            AccessChanged: self.on_access_changed,
            RepositoryEdited: self.on_repository_edited,
            MembershipChanged: self.on_membership_changed,
            CredentialsRevoked: self.on_credentials_revoked,
            UserEdited: self.on_user_edited,
            UserDeleted: self.on_user_deleted,
        }

    async def on_push_received(self, tx: Tx, event: PushReceived, envelope: Envelope) -> None:
        await self._queue(tx, notices.notices_of_push(event), envelope)

    async def on_repository_forked(self, tx: Tx, event: RepositoryForked, envelope: Envelope) -> None:
        await self._queue(tx, notices.notices_of_fork(event), envelope)

    async def on_repository_created(self, tx: Tx, event: RepositoryCreated, envelope: Envelope) -> None:
        await store.copy_defaults(tx, event.repository.id)
        await self._queue(tx, notices.notices_of_repository(event), envelope)

    async def on_repository_deleted(self, tx: Tx, event: RepositoryDeleted, envelope: Envelope) -> None:
        """Queue the deliveries for the organization, then delete the hooks of the repository."""
        await self._queue(tx, notices.notices_of_repository(event), envelope)
        repository_id = event.repository.id
        await hooks.remove_all(tx, Owner(repository_id=repository_id), "the repository was deleted")
        tx.emit(HooksForgotten(repository_id=repository_id), key=repository_id)

    async def on_issue_changed(self, tx: Tx, event: IssueChanged, envelope: Envelope) -> None:
        await self._queue(tx, notices.notices_of_issue(event), envelope)

    async def on_comment_changed(self, tx: Tx, event: CommentChanged, envelope: Envelope) -> None:
        await self._queue(tx, notices.notices_of_comment(event), envelope)

    async def on_pull_request_changed(self, tx: Tx, event: PullRequestChanged, envelope: Envelope) -> None:
        await self._queue(tx, notices.notices_of_pull_request(event), envelope)

    async def on_review_changed(self, tx: Tx, event: ReviewChanged, envelope: Envelope) -> None:
        await self._queue(tx, notices.notices_of_review(event), envelope)

    async def on_review_requested(self, tx: Tx, event: ReviewRequested, envelope: Envelope) -> None:
        await self._queue(tx, notices.notices_of_review_request(event), envelope)

    async def on_status_created(self, tx: Tx, event: StatusCreated, envelope: Envelope) -> None:
        await self._queue(tx, notices.notices_of_status(event), envelope)

    async def on_release_changed(self, tx: Tx, event: ReleaseChanged, envelope: Envelope) -> None:
        await self._queue(tx, notices.notices_of_release(event), envelope)

    async def on_organization_deleted(self, tx: Tx, event: OrganizationDeleted, _envelope: Envelope) -> None:
        owner = Owner(organization_id=event.organization_id)
        await hooks.remove_all(tx, owner, "the organization was deleted")

    async def on_access_changed(self, tx: Tx, event: AccessChanged, _envelope: Envelope) -> None:
        await self._request_permission_check(tx, repository_id=event.repository_id)

    async def on_repository_edited(self, tx: Tx, event: RepositoryEdited, _envelope: Envelope) -> None:
        await self._request_permission_check(tx, repository_id=event.repository.id)

    async def on_membership_changed(self, tx: Tx, event: MembershipChanged, _envelope: Envelope) -> None:
        await self._request_permission_check(tx, creator_id=event.user_id)

    async def on_credentials_revoked(self, tx: Tx, event: CredentialsRevoked, _envelope: Envelope) -> None:
        await self._request_permission_check(tx, creator_id=event.user_id)

    async def on_user_edited(self, tx: Tx, event: UserEdited, _envelope: Envelope) -> None:
        await self._request_permission_check(tx, creator_id=event.account.id)

    async def on_user_deleted(self, tx: Tx, event: UserDeleted, _envelope: Envelope) -> None:
        owner = Owner(organization_id=event.user_id)
        await hooks.remove_all(tx, owner, "the account was deleted")
        await self._request_permission_check(tx, creator_id=event.user_id)

    async def _queue(self, tx: Tx, notices: Sequence[Notice], envelope: Envelope) -> None:
        count = await fanout.queue_notices(
            tx, notices, event_id=envelope.id, traceparent=envelope.traceparent
        )
        if count:
            tx.on_commit(self._delivery_wakeup.notify)

    async def _request_permission_check(
        self, tx: Tx, *, repository_id: int | None = None, creator_id: int | None = None
    ) -> None:
        if await store.request_permission_check(tx, repository_id=repository_id, creator_id=creator_id):
            tx.on_commit(self._permission_wakeup.notify)
