"""Event handlers that record activities.

They handle events of repos itself, of issues and of identity. So the requests that emit these events do not
wait for the table.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from ingot_chassis.db.transaction import Tx
from ingot_chassis.events.consumers import Handler
from ingot_chassis.events.envelope import Envelope
from ingot_contracts.identity.events import UserDeleted
from ingot_contracts.issues.events import (
    CommentChanged,
    IssueChanged,
    IssueDeleted,
    PullRequestChanged,
    ReviewChanged,
)
from ingot_contracts.repos.events import PushReceived, ReleaseChanged, RepositoryCreated, RepositoryEdited
from ingot_repos.activities import rules, store


def subscriptions() -> Mapping[type[msgspec.Struct], Handler]:
    """Return the handlers by type of event."""
    return {
        RepositoryCreated: _recorder(rules.of_creation),
        RepositoryEdited: _recorder(rules.of_edit),
        PushReceived: _recorder(rules.of_push),
        ReleaseChanged: on_release_changed,
        IssueChanged: _recorder(rules.of_issue),
        PullRequestChanged: _recorder(rules.of_pull),
        ReviewChanged: _recorder(rules.of_review),
        CommentChanged: on_comment_changed,
        IssueDeleted: on_issue_deleted,
        UserDeleted: on_user_deleted,
    }


def _recorder(of_event: Any) -> Handler:
    """Return a handler that records the activity of an event, if it has one."""

    async def record(tx: Tx, event: Any, envelope: Envelope) -> None:
        await _record(tx, of_event(event), envelope)

    return record


async def _record(tx: Tx, new: store.NewActivity | None, envelope: Envelope) -> None:
    """Record an activity of a user. The ghost account, which stands for deleted users, has no activities."""
    if new is not None and new.actor_id > 0:
        await store.add(tx, new, envelope.occurred_at)


async def on_release_changed(tx: Tx, event: ReleaseChanged, envelope: Envelope) -> None:
    if event.action == "published":
        await _record(tx, rules.of_release(event), envelope)
    elif event.action == "deleted":
        await store.remove_of_subject(tx, event.repository.id, event.release.id, ["releases"])


async def on_comment_changed(tx: Tx, event: CommentChanged, envelope: Envelope) -> None:
    new = rules.of_comment(event)
    if new is None:
        return
    if event.action == "created":
        await _record(tx, new, envelope)
    elif event.action == "edited":
        await store.change_comment(tx, new)
    else:
        await store.remove_comment(tx, new)


async def on_issue_deleted(tx: Tx, event: IssueDeleted, _envelope: Envelope) -> None:
    await store.remove_of_subject(tx, event.repository_id, event.number, ["issues", "pulls"])


async def on_user_deleted(tx: Tx, event: UserDeleted, _envelope: Envelope) -> None:
    await store.remove_of_actor(tx, event.user_id)
