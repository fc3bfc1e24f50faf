"""Events of other services that people are notified of by mail alone."""

from collections.abc import Mapping

import msgspec

from ingot_chassis.db.transaction import Tx
from ingot_chassis.events.consumers import Handler
from ingot_chassis.events.envelope import Envelope
from ingot_contracts.issues.events import PeopleNotified
from ingot_contracts.issues.notices import NoticeSource, NotifiedPerson
from ingot_contracts.repos.commits import FAILED
from ingot_contracts.repos.events import StatusCreated
from ingot_issues.notifications.store import pulls, subscriptions
from ingot_issues.repositories.rules.announcements import emit


async def notify_of_failed_check(tx: Tx, event: StatusCreated, _envelope: Envelope) -> None:
    """Announce a failed check to the authors of open pull requests whose head is its commit.

    An author who has unsubscribed gets nothing. mail sends one mail for all checks of a head.
    """
    if event.status.status not in FAILED:
        return
    for row in await pulls.list_open_at(tx, event.repository.id, event.sha):
        for account_id in await subscriptions.without_unsubscribed(tx, row.issue_id, [row.author_id]):
            people = [NotifiedPerson(account_id=account_id, reason="participating")]
            notice = PeopleNotified(
                repository_id=event.repository.id,
                issue_id=row.issue_id,
                source=NoticeSource(failed_head=event.sha),
                people=people,
            )
            emit(tx, notice, event.repository.id)


SUBSCRIPTIONS: Mapping[type[msgspec.Struct], Handler] = {StatusCreated: notify_of_failed_check}
