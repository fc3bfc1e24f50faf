"""Fetches the content of a mail when it is sent, with the current recipient, access and texts."""

from typing import NamedTuple

import msgspec

from ingot_chassis.errors import Denied, NotFound
from ingot_contracts.identity.messages import MailRecipient
from ingot_contracts.identity.units import Unit
from ingot_contracts.issues.notices import NoticeReason, NoticeSource
from ingot_mail.clients.identity import HttpIdentity
from ingot_mail.clients.issues import HttpIssues
from ingot_mail.clients.repos import HttpRepos
from ingot_mail.composition import rules as composition
from ingot_mail.composition.rules import (
    Content,
    Deactivation,
    FailedCheck,
    FinishedImport,
    RefusedReply,
    Release,
)
from ingot_mail.mails.store import MailKind, MailRow

LOST_ACCESS = "the recipient may not read it any more, or it was deleted"
NO_ADDRESS = "the recipient has no confirmed address, or may not sign in"
OUTDATED = "the pull request is closed, or has another head"
NOT_DUE = "the message is not due any more"


class NotDueError(Exception):
    """The mail must not be sent. The text is the reason in the history."""


class Clients(NamedTuple):
    """Clients of the services that own the contents of mails."""

    identity: HttpIdentity
    repos: HttpRepos
    issues: HttpIssues


class Contents:
    """Loads contents of mails. Every method raises NotDueError, or ApiError if a service does not answer."""

    def __init__(self, clients: Clients, site_name: str) -> None:
        self._clients, self._site = clients, site_name

    async def recipient(self, account_id: int) -> MailRecipient:
        """Return the recipient of an account's mails."""
        try:
            return await self._clients.identity.recipient(account_id)
        except NotFound as error:
            raise NotDueError(NO_ADDRESS) from error

    async def message(self, row: MailRow) -> tuple[MailRecipient, Content]:
        """Return a message of identity, with its recipient."""
        try:
            message = await self._clients.identity.message(row.subject_id)
        except NotFound as error:
            raise NotDueError(NOT_DUE) from error
        content = composition.of_message(message, self._site)
        if content is None:
            raise NotDueError(f"this release knows no message of the kind {message.kind}")
        recipient = MailRecipient(
            address=message.address, login="", name=message.name, language=message.language
        )
        return recipient, content

    async def of(self, row: MailRow) -> Content:
        """Return the content of a notice for its recipient."""
        try:
            match row.kind:
                case MailKind.ISSUE:
                    return await self._of_issue(row)
                case MailKind.RELEASE:
                    return await self._of_release(row)
                case MailKind.HOOK:
                    if row.repository_id:
                        await self._require(row, None)
                    return composition.of_deactivation(
                        msgspec.json.decode(row.details, type=Deactivation), self._site
                    )
                case MailKind.IMPORT:
                    await self._require(row, None)
                    return composition.of_import(msgspec.json.decode(row.details, type=FinishedImport))
                case MailKind.CHECK:
                    return await self._of_failed_check(row)
                case MailKind.REPLY:
                    return await self._of_reply(row)
        except (NotFound, Denied) as error:
            raise NotDueError(LOST_ACCESS) from error
        raise NotDueError(f"this release knows no mail of the kind {row.kind}")

    async def watchers(self, repository_id: int) -> list[int]:
        """Return the ids of the users who watch a repository."""
        return await self._clients.repos.watchers(repository_id)

    async def _of_issue(self, row: MailRow) -> Content:
        source = msgspec.json.decode(row.details, type=NoticeSource)
        reason = msgspec.convert(row.reason, type=NoticeReason)
        notice = await self._clients.issues.notice(row.subject_id, row.account_id, source)
        return composition.of_issue(notice, source, reason)

    async def _of_failed_check(self, row: MailRow) -> Content:
        failed = msgspec.json.decode(row.details, type=FailedCheck)
        notice = await self._clients.issues.notice(row.subject_id, row.account_id, NoticeSource())
        if notice.state != "open" or (notice.head_sha or failed.sha) != failed.sha:
            raise NotDueError(OUTDATED)
        return composition.of_failed_check(notice, failed)

    async def _of_reply(self, row: MailRow) -> Content:
        notice = await self._clients.issues.notice(row.subject_id, row.account_id, NoticeSource())
        return composition.of_reply(notice, msgspec.json.decode(row.details, type=RefusedReply))

    async def _of_release(self, row: MailRow) -> Content:
        await self._require(row, "releases")
        now = await self._clients.repos.release(row.repository_id, row.subject_id)
        release = msgspec.json.decode(row.details, type=Release)
        return composition.of_release(
            msgspec.structs.replace(release, tag=now.tag_name, name=now.name, text=now.body)
        )

    async def _require(self, row: MailRow, unit: Unit | None) -> None:
        """Raise NotDueError unless the recipient may read the unit or, without one, any unit."""
        access = await self._clients.repos.access_of_user(row.repository_id, row.account_id)
        if access.of(unit) == "none":
            raise NotDueError(LOST_ACCESS)
