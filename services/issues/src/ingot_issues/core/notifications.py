"""Telling people what happened to an issue that they take part in, in which they are mentioned, or whose repository they watch.

What happened adds a job in the same transaction; the job finds the people, and asks repos whether they may read the
repository. So nobody waits for it, and nobody hears of what they may not see.
"""

from collections.abc import Collection, Sequence
from datetime import datetime

import msgspec

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.transaction import Tx
from ingot_issues.core import mentions
from ingot_issues.core.repository_context import RepositoryContext
from ingot_issues.store import comments, issue_rows, reviews, subscriptions
from ingot_issues.store import mentions as mention_rows

NOTIFY = "issue.notify"
"""The kind of the job."""
MOST_PEOPLE = 500
"""People who hear of one issue."""


class Notify(msgspec.Struct, frozen=True, kw_only=True):
    """The job: tell people of what the actor did. ``comment_id`` 0: it was no comment.

    ``review_id``: it was a review or, with ``reply_id``, an answer to one of its comments.
    ``is_opened``: it was opened with a text in which somebody may be mentioned. ``is_edited``: only who is mentioned for
    the first time hears of it. ``also`` are people who take no part yet.
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
    """Add the job. With ``is_opened``, ``is_edited``, a comment or a review, who is mentioned there hears of it as well.

    So do the people of ``also``.
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


async def mentioned_logins(db: Executor, job: Notify) -> list[str]:
    """The logins that are mentioned in the text that the job is about. Some of them may be nobody's."""
    logins = dict[str, None]()
    for text in await _texts(db, job):
        if len(logins) < mentions.MOST:
            logins |= dict.fromkeys(await mentions.find_in_markdown(text))
    return list(logins)[: mentions.MOST]


async def _texts(db: Executor, job: Notify) -> list[str]:
    if job.comment_id:
        return [row.body for row in await comments.list_by_id(db, [job.comment_id])]
    if job.review_id:
        review = await reviews.get(db, job.issue_id, job.review_id)
        on_lines = await reviews.list_comments(db, job.review_id)
        if job.reply_id or review is None:
            return [row.body for row in on_lines if row.id == job.reply_id]
        return [review.body, *(row.body for row in on_lines)]
    if job.is_opened or job.is_edited:
        issue = await issue_rows.get_by_id(db, job.issue_id)
        return [f"{issue.title}\n\n{issue.body}"] if issue is not None else []
    return []


async def recipients(
    db: Executor, job: Notify, watcher_ids: Sequence[int], named_ids: Collection[int]
) -> list[int]:
    """The people who take part in the issue, are mentioned in the text, or watch the repository; without the actor.

    ``named_ids`` are those who are mentioned. Of more than MOST_PEOPLE some watchers are left out.
    """
    if job.is_edited:
        new_ids = {*named_ids} - await mention_rows.list_ids(db, job.issue_id)
        return sorted(await subscriptions.list_willing_ids(db, job.issue_id, new_ids))
    others = {*named_ids, *job.also}
    people, refusals = await subscriptions.list_opinions(db, job.issue_id, others.union(watcher_ids))
    people |= others - refusals
    watchers = {*watcher_ids} - refusals - people
    return [*sorted(people - {job.actor_id}), *sorted(watchers - {job.actor_id})][:MOST_PEOPLE]
