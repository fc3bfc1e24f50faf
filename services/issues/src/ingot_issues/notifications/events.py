"""Events of other services that cause mails, but no notifications."""

from collections.abc import Mapping

import msgspec

from ingot_chassis.db.transaction import Tx
from ingot_chassis.events.consumers import Handler
from ingot_chassis.events.envelope import Envelope
from ingot_contracts.issues.events import ChecksFailed
from ingot_contracts.repos.commits import FAILED
from ingot_contracts.repos.events import StatusCreated
from ingot_issues.notifications.store import pulls, subscriptions
from ingot_issues.repositories.rules.announcements import emit


async def notify_of_failed_check(tx: Tx, event: StatusCreated, _envelope: Envelope) -> None:
    """Announce a failed check to the authors of open pull requests whose head is the checked commit.

    An author who has unsubscribed gets nothing. mail sends one mail for all checks of a head.
    """
    if event.status.status not in FAILED:
        return
    for row in await pulls.list_open_at(tx, event.repository.id, event.sha):
        for author_id in await subscriptions.without_unsubscribed(tx, row.issue_id, [row.author_id]):
            failed = ChecksFailed(
                repository_id=event.repository.id,
                issue_id=row.issue_id,
                author_id=author_id,
                sha=event.sha,
            )
            emit(tx, failed, event.repository.id)


SUBSCRIPTIONS: Mapping[type[msgspec.Struct], Handler] = {StatusCreated: notify_of_failed_check}
