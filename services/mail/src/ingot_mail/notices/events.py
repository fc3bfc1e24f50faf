"""Events of other services that cause mails.

Handlers only write rows. Without an SMTP server they write none.
"""

import uuid

from ingot_chassis.db.transaction import Tx
from ingot_chassis.events.consumers import Subscriptions
from ingot_chassis.events.envelope import Envelope
from ingot_contracts.hooks.events import HookDeactivated
from ingot_contracts.identity.events import UserDeleted
from ingot_contracts.identity.messages import MessageRequested
from ingot_contracts.issues.events import ChecksFailed, PeopleNotified
from ingot_contracts.issues.notices import NotifiedPerson
from ingot_contracts.repos.events import ImportFinished, ReleaseChanged
from ingot_mail.composition.rules import Deactivation, FailedCheck, FinishedImport, Release
from ingot_mail.mails import store
from ingot_mail.mails.components import MailComponents
from ingot_mail.mails.store import MailKind
from ingot_mail.notices import rules as notices
from ingot_mail.notices.rules import Notice
from ingot_mail.preferences import store as preferences

CHECKS = uuid.UUID("5f3c1c0e-6d0b-4c55-9a7e-3f1f6c1d2b90")
"""The namespace of keys for mails about failed checks."""


class MailEvents:
    """Event handlers. With ``is_on`` False there is no SMTP server, so events are ignored."""

    def __init__(self, components: MailComponents, *, is_on: bool) -> None:
        self._components, self._is_on = components, is_on

    def subscriptions(self) -> Subscriptions:
        """Return the handler of each event."""
        return {
            PeopleNotified: self.on_people_notified,
            ChecksFailed: self.on_checks_failed,
            MessageRequested: self.on_message_requested,
            ReleaseChanged: self.on_release_changed,
            HookDeactivated: self.on_hook_deactivated,
            ImportFinished: self.on_import_finished,
            UserDeleted: self.on_user_deleted,
        }

    async def on_people_notified(self, tx: Tx, event: PeopleNotified, envelope: Envelope) -> None:
        if await self._is_mailed(tx, envelope):
            notice = Notice(
                MailKind.ISSUE, event.source, repository_id=event.repository_id, subject_id=event.issue_id
            )
            self._wake(tx, await notices.queue(tx, envelope, notice, event.people))

    async def on_checks_failed(self, tx: Tx, event: ChecksFailed, envelope: Envelope) -> None:
        """Queue one mail for each head, because many checks of a head can fail."""
        if await self._is_mailed(tx, envelope):
            details = FailedCheck(sha=event.sha)
            notice = Notice(
                MailKind.CHECK, details, repository_id=event.repository_id, subject_id=event.issue_id
            )
            author = NotifiedPerson(account_id=event.author_id, reason="participating")
            key = str(uuid.uuid5(CHECKS, f"{event.issue_id} {event.sha}"))
            self._wake(tx, await notices.queue(tx, envelope, notice, [author], key=key))

    async def on_message_requested(self, tx: Tx, event: MessageRequested, envelope: Envelope) -> None:
        if await self._is_mailed(tx, envelope):
            notice = Notice(MailKind.MESSAGE, event, subject_id=event.message_id)
            self._wake(tx, await notices.queue_always(tx, envelope, notice, 0))

    async def on_release_changed(self, tx: Tx, event: ReleaseChanged, envelope: Envelope) -> None:
        """Queue one row. The worker replaces it by a mail for each watcher of the repository."""
        if event.action != "published" or not await self._is_mailed(tx, envelope):
            return
        release = Release(
            full_name=event.repository.full_name,
            tag=event.release.tag_name,
            name=event.release.name,
            author=event.sender.login,
            text=event.release.body,
            url=event.release.html_url,
        )
        notice = Notice(
            MailKind.WATCHERS, release, repository_id=event.repository.id, subject_id=event.release.id
        )
        self._wake(tx, await notices.queue_always(tx, envelope, notice, 0))

    async def on_hook_deactivated(self, tx: Tx, event: HookDeactivated, envelope: Envelope) -> None:
        if await self._is_mailed(tx, envelope):
            details = Deactivation(hook_id=event.hook_id, host=event.host, reason=event.reason)
            notice = Notice(
                MailKind.HOOK, details, repository_id=event.repository_id or 0, subject_id=event.hook_id
            )
            self._wake(tx, await notices.queue_always(tx, envelope, notice, event.creator_id))

    async def on_import_finished(self, tx: Tx, event: ImportFinished, envelope: Envelope) -> None:
        if await self._is_mailed(tx, envelope):
            details = FinishedImport(
                full_name=event.repository.full_name, url=event.repository.html_url, reason=event.reason
            )
            notice = Notice(MailKind.IMPORT, details, repository_id=event.repository.id)
            self._wake(tx, await notices.queue_always(tx, envelope, notice, event.requested_by))

    async def on_user_deleted(self, tx: Tx, event: UserDeleted, _envelope: Envelope) -> None:
        """Delete the choices of a deleted account, and cancel its mails."""
        await preferences.remove(tx, event.user_id)
        await store.cancel_pending(tx, event.user_id, "the account was deleted")

    async def _is_mailed(self, tx: Tx, envelope: Envelope) -> bool:
        """True if mail is on and the event is not older than the database of mail."""
        return self._is_on and envelope.occurred_at >= await store.began_at(tx)

    def _wake(self, tx: Tx, count: int) -> None:
        if count:
            tx.on_commit(self._components.notified.set)
