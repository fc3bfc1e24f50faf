"""Recipients of an event: participants of the issue, mentioned people, and watchers of the repository.

An event adds a job in its transaction. The job finds the recipients, and asks repos if they may read the
repository. So requests do not wait for this, and people without access get no notification.
"""

from collections.abc import Collection, Mapping, Sequence

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.transaction import Tx
from ingot_contracts.issues.events import PeopleNotified
from ingot_contracts.issues.notices import NoticeReason, NoticeSource, NotifiedPerson
from ingot_contracts.limits import EVENT_PEOPLE
from ingot_issues.comments import store as comments
from ingot_issues.mentions import rules as mentions
from ingot_issues.mentions import store as mention_rows
from ingot_issues.notifications.store import subscriptions
from ingot_issues.records.rules.notices import MOST_PEOPLE, Notify
from ingot_issues.records.store import issues as issue_rows
from ingot_issues.repositories.rules.announcements import emit
from ingot_issues.reviews import store as reviews


async def mentioned_logins(db: Executor, job: Notify) -> list[str]:
    """Return the logins that the text of the job mentions. Some may not exist."""
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
) -> Mapping[int, NoticeReason]:
    """Return the ids of people to notify, each with the reason.

    They are participants of the issue, mentioned people (``named_ids``) and watchers, without the actor.
    Above MOST_PEOPLE some watchers are omitted. After an edit, only newly mentioned people are notified.
    """
    if job.is_edited:
        new_ids = {*named_ids} - await mention_rows.list_ids(db, job.issue_id)
        willing_ids = await subscriptions.without_unsubscribed(db, job.issue_id, new_ids)
        return dict.fromkeys(sorted(willing_ids), "mentioned")
    others = {*named_ids, *job.also}
    people, refusals = await subscriptions.list_subscriptions_of(db, job.issue_id, others.union(watcher_ids))
    people |= others - refusals
    watchers = {*watcher_ids} - refusals - people
    ids = [*sorted(people - {job.actor_id}), *sorted(watchers - {job.actor_id})][:MOST_PEOPLE]
    reasons: dict[int, NoticeReason] = dict.fromkeys(ids, "participating")
    reasons |= dict.fromkeys(watchers.intersection(ids), "watching")
    reasons |= dict.fromkeys({*job.also}.intersection(ids), "requested")
    return reasons | dict.fromkeys({*named_ids}.intersection(ids), "mentioned")


def announce_people(tx: Tx, job: Notify, reasons: Mapping[int, NoticeReason]) -> None:
    """Announce who was notified and why, for mail. The actor is announced as "own", except after an edit."""
    people = [
        NotifiedPerson(account_id=account_id, reason=reason) for account_id, reason in sorted(reasons.items())
    ]
    if not job.is_edited:
        people.append(NotifiedPerson(account_id=job.actor_id, reason="own"))
    if not people:
        return
    source = NoticeSource(
        actor_id=job.actor_id,
        comment_id=job.comment_id,
        review_id=job.review_id,
        reply_id=job.reply_id,
        is_opened=job.is_opened,
    )
    event = PeopleNotified(
        repository_id=job.repository_id, issue_id=job.issue_id, source=source, people=people[:EVENT_PEOPLE]
    )
    emit(tx, event, job.repository_id)
