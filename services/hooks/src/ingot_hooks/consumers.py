"""Events of sister services become deliveries, and the end of an owner the end of its hooks.

What may have cost somebody a right only casts doubt on their hooks: asking takes a while, and belongs elsewhere.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from ingot_chassis.database import Tx
from ingot_chassis.events import Envelope
from ingot_chassis.inbox import Handler, Subscriptions
from ingot_contracts.hooks import HooksForgotten
from ingot_contracts.identity import (
    CredentialsRevoked,
    MembershipChanged,
    OrganizationDeleted,
    UserDeleted,
    UserEdited,
)
from ingot_contracts.issues import CommentChanged, IssueChanged, PullRequestChanged
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
from ingot_hooks.core import fanout, hooks, payloads
from ingot_hooks.core.payloads import Notice
from ingot_hooks.store import hooks as store
from ingot_hooks.store.hooks import Owner

TOLD: dict[type[msgspec.Struct], Callable[[Any], list[Notice]]] = {
    PushReceived: payloads.notices_of_push,
    RepositoryForked: payloads.notices_of_fork,
    RepositoryCreated: payloads.notices_of_repository,
    RepositoryDeleted: payloads.notices_of_repository,
    IssueChanged: payloads.notices_of_issue,
    CommentChanged: payloads.notices_of_comment,
    PullRequestChanged: payloads.notices_of_pull_request,
    StatusCreated: payloads.notices_of_status,
    ReleaseChanged: payloads.notices_of_release,
}


def subscriptions(ring: Callable[[], None], ring_for_rights: Callable[[], None]) -> Subscriptions:
    """What hooks listens to. ``ring`` is called once there is something to deliver, the other with a doubt."""

    def telling(notices: Callable[[Any], list[Notice]]) -> Handler:
        async def tell(tx: Tx, event: Any, envelope: Envelope) -> None:
            queued = await fanout.tell(
                tx, notices(event), event_id=envelope.id, traceparent=envelope.traceparent
            )
            if isinstance(event, RepositoryDeleted):
                await hooks.remove_all(
                    tx, Owner(repository_id=event.repository.id), "the repository was deleted"
                )
                tx.emit(HooksForgotten(repository_id=event.repository.id), key=event.repository.id)
            if queued:
                tx.once_committed(ring)

        return tell

    async def organization_deleted(tx: Tx, event: OrganizationDeleted, _envelope: Envelope) -> None:
        await hooks.remove_all(
            tx, Owner(organization_id=event.organization_id), "the organization was deleted"
        )

    def doubting(whose: Callable[[Any], dict[str, int]]) -> Handler:
        async def doubt(tx: Tx, event: Any, _envelope: Envelope) -> None:
            if await store.doubt(tx, **whose(event)):
                tx.once_committed(ring_for_rights)

        return doubt

    return {
        **{cls: telling(notices) for cls, notices in TOLD.items()},
        OrganizationDeleted: organization_deleted,
        AccessChanged: doubting(lambda event: {"repository_id": event.repository_id}),
        RepositoryEdited: doubting(lambda event: {"repository_id": event.repository.id}),
        MembershipChanged: doubting(lambda event: {"creator_id": event.user_id}),
        CredentialsRevoked: doubting(lambda event: {"creator_id": event.user_id}),
        UserEdited: doubting(lambda event: {"creator_id": event.account.id}),
        UserDeleted: doubting(lambda event: {"creator_id": event.user_id}),
    }
