"""Handlers for events of other services: they queue deliveries, delete hooks or request permission checks.

Handlers only write rows. A permission check calls other services, so a worker does it.
"""

from collections.abc import Sequence
from typing import Any

from ingot_chassis.db.transaction import Tx
from ingot_chassis.events.consumers import Subscriptions, Together
from ingot_chassis.events.envelope import Envelope
from ingot_contracts.hooks.events import HooksForgotten
from ingot_contracts.identity.events import (
    CredentialsRevoked,
    MembershipChanged,
    OrganizationDeleted,
    UserDeleted,
    UserEdited,
)
from ingot_contracts.repos.events import AccessChanged, RepositoryCreated, RepositoryDeleted, RepositoryEdited
from ingot_hooks.catalog.rules.wakeup import Wakeup
from ingot_hooks.catalog.store import queries as store
from ingot_hooks.catalog.store.queries import Owner
from ingot_hooks.deliveries.rules import fanout
from ingot_hooks.deliveries.rules.fanout import EventNotices
from ingot_hooks.hooks import rules as hooks
from ingot_hooks.payloads.rules.notices import NOTICES_OF


def _event_notices(event: object, envelope: Envelope) -> EventNotices:
    return EventNotices(NOTICES_OF[type(event)](event), envelope.id, envelope.traceparent)


class EventSubscriptions:
    """Event handlers. They notify ``delivery_wakeup`` and ``permission_wakeup`` of due work."""

    def __init__(self, delivery_wakeup: Wakeup, permission_wakeup: Wakeup) -> None:
        self._delivery_wakeup, self._permission_wakeup = delivery_wakeup, permission_wakeup

    def subscriptions(self) -> Subscriptions:
        """Return the handler of each event."""
        return {
            **dict.fromkeys(NOTICES_OF, Together(self.on_noticed)),
            RepositoryCreated: self.on_repository_created,
            RepositoryDeleted: self.on_repository_deleted,
            OrganizationDeleted: self.on_organization_deleted,
            AccessChanged: self.on_access_changed,
            RepositoryEdited: self.on_repository_edited,
            MembershipChanged: self.on_membership_changed,
            CredentialsRevoked: self.on_credentials_revoked,
            UserEdited: self.on_user_edited,
            UserDeleted: self.on_user_deleted,
        }

    async def on_noticed(self, tx: Tx, events: Sequence[tuple[Any, Envelope]]) -> None:
        await self._queue(tx, [_event_notices(event, envelope) for event, envelope in events])

    async def on_repository_created(self, tx: Tx, event: RepositoryCreated, envelope: Envelope) -> None:
        await store.copy_defaults(tx, event.repository.id)
        await self._queue(tx, [_event_notices(event, envelope)])

    async def on_repository_deleted(self, tx: Tx, event: RepositoryDeleted, envelope: Envelope) -> None:
        """Queue the deliveries for the organization, then delete the hooks of the repository."""
        await self._queue(tx, [_event_notices(event, envelope)])
        repository_id = event.repository.id
        await hooks.remove_all(tx, Owner(repository_id=repository_id), "the repository was deleted")
        tx.emit(HooksForgotten(repository_id=repository_id), key=repository_id)

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

    async def _queue(self, tx: Tx, events: Sequence[EventNotices]) -> None:
        if await fanout.queue_notices(tx, events):
            tx.on_commit(self._delivery_wakeup.notify)

    async def _request_permission_check(
        self, tx: Tx, *, repository_id: int | None = None, creator_id: int | None = None
    ) -> None:
        if await store.request_permission_check(tx, repository_id=repository_id, creator_id=creator_id):
            tx.on_commit(self._permission_wakeup.notify)
