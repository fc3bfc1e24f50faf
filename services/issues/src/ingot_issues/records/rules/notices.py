"""Jobs that notify people of an event. ``notifications`` finds the recipients when the job runs."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from ingot_chassis.clock import now
from ingot_chassis.db.transaction import Tx
from ingot_issues.records.rules.context import RepositoryContext

NOTIFY = "issue.notify"
"""The kind of jobs that notify people."""


MOST_PEOPLE = 500
"""Maximum number of recipients of one event."""


class Notify(msgspec.Struct, frozen=True, kw_only=True):
    """A job that notifies people of an action of the actor.

    ``comment_id`` is set for a comment. ``review_id`` is set for a review, and for a reply (``reply_id``) to
    one of its comments. ``is_opened``: an issue was opened with a text that may mention people.
    ``is_edited``: only newly mentioned people are notified. ``also`` has people to notify who are no
    participants yet. ``at`` is the time of the action.
    """

    repository_id: int
    issue_id: int
    actor_id: int
    comment_id: int = 0
    review_id: int = 0
    reply_id: int = 0
    is_opened: bool = False
    is_edited: bool = False
    also: list[int] = []
    at: datetime


async def notify(
    tx: Tx,
    context: RepositoryContext,
    issue_id: int,
    *,
    comment_id: int = 0,
    review_id: int = 0,
    reply_id: int = 0,
    is_opened: bool = False,
    is_edited: bool = False,
    also: Sequence[int] = (),
) -> None:
    """Add the job that notifies people of an action of the actor.

    Mentioned people are notified of an opening, an edit, a comment or a review. People in ``also`` are always
    notified.
    """
    job = Notify(
        repository_id=context.repository.id,
        issue_id=issue_id,
        actor_id=context.actor_id,
        comment_id=comment_id,
        review_id=review_id,
        reply_id=reply_id,
        is_opened=is_opened,
        is_edited=is_edited,
        also=[*also[:MOST_PEOPLE]],
        at=now(),
    )
    key = f"{issue_id}:{comment_id}:{context.actor_id}:{job.at.timestamp()}"
    await context.jobs.add(tx, NOTIFY, key, job)
