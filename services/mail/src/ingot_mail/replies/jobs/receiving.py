"""Receives mails: verifies the signed address and the sender, and passes the text to issues as a comment.

The header contains both. The rest of a mail is parsed only if they are valid, and one mail at a time.

The signed address is the secret: it proves that the sender has a mail of this site. The sender's address must
be a confirmed address of the same person. issues checks the access when it stores the comment.
"""

import asyncio
import hashlib
from collections.abc import Callable
from datetime import timedelta
from typing import ParamSpec, TypeVar

import structlog
from prometheus_client import Counter
from sqlalchemy.exc import DBAPIError

from ingot_chassis.clock import now
from ingot_chassis.db.database import Database
from ingot_chassis.errors import ApiError, NotFound, TooManyRequests
from ingot_contracts.issues.replies import MOST_CHARACTERS
from ingot_mail.clients.identity import HttpIdentity
from ingot_mail.clients.issues import HttpIssues
from ingot_mail.composition.rules import sender_of
from ingot_mail.mails.components import MailComponents
from ingot_mail.replies import store
from ingot_mail.replies.rules.headers import MailHeader, UnreadableError, read_header
from ingot_mail.replies.rules.outcomes import Outcome, Received
from ingot_mail.replies.rules.reading import read_text
from ingot_mail.replies.rules.refusals import refuse
from ingot_mail.replies.store import NewReply
from ingot_mail.reply_addresses.rules import ReplyAddresses, ReplyTarget
from ingot_mail.settings import Settings

log = structlog.get_logger()

_P = ParamSpec("_P")
_T = TypeVar("_T")

HOUR = timedelta(hours=1)
MOST_PER_HOUR = 60
"""The limit for replies of one person, stored or refused. Unconfirmed senders do not count."""
UNCONFIRMED = "it came from an address that is not confirmed for your account"
EXPIRED = "the address that it was sent to has expired; answer a newer mail or on the page"
EMPTY = "it has no text of its own"
HIDDEN = "its sender may not read what it is about, or it was deleted"
"""A reason that is not mailed: it would tell that something exists."""
TOO_LONG = f"its text is longer than {MOST_CHARACTERS:,} characters"

RECEIVED = Counter("ingot_mail_received_total", "Incoming mails, by what became of them", ["outcome"])


class Receiver:
    """Receives mails, and parses one at a time. A mail that is received again gets its first outcome."""

    def __init__(
        self,
        database: Database,
        settings: Settings,
        queue: MailComponents,
        addresses: ReplyAddresses,
        identity: HttpIdentity,
        issues: HttpIssues,
    ) -> None:
        self._db, self._queue, self._addresses = database, queue, addresses
        self._identity, self._issues = identity, issues
        self._own_address, self._most_bytes = sender_of(settings).lower(), settings.reply_max_bytes
        self._parsing = asyncio.Lock()

    async def receive(self, content: bytes) -> Received:
        """Return the outcome of the mail.

        Raises ApiError, DBAPIError or OSError for a temporary failure. The mail must then be received again.
        Any other error would repeat for the same mail. It is logged, and the mail is ignored.
        """
        try:
            received = await self._receive(content)
        except (DBAPIError, OSError):
            raise
        except Exception as error:
            if isinstance(error, ApiError) and _is_for_now(error):
                raise
            log.exception("cannot receive a mail")
            received = Received(Outcome.IGNORED, "it could not be received; the log has the details")
        RECEIVED.labels(received.outcome).inc()
        log.info("incoming mail", outcome=received.outcome, reason=received.reason or None)
        return received

    async def _receive(self, content: bytes) -> Received:
        try:
            header = await self._parsed(read_header, content, self._most_bytes)
        except UnreadableError as error:
            return Received(Outcome.IGNORED, str(error))
        target = self._addresses.find(header.recipients)
        if target is None:
            return Received(Outcome.IGNORED, "no recipient is a reply address of this site")
        if reason := header.automatic or self._loop(header.sender.lower()):
            return Received(Outcome.IGNORED, reason)
        return await self._reply(target, header, content)

    async def _parsed(self, parse: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        async with self._parsing:
            return await asyncio.to_thread(parse, *args, **kwargs)

    def _loop(self, sender: str) -> str:
        if sender == self._own_address or self._addresses.is_own(sender):
            return "this site sent it"
        return ""

    async def _reply(self, target: ReplyTarget, header: MailHeader, content: bytes) -> Received:
        key = hashlib.sha256(f"{target.account_id}\0{target.issue_id}\0{header.id}".encode()).hexdigest()
        async with self._db.read() as db:
            earlier = await store.get_refusal(db, key)
        if earlier is not None:
            return _outcome_of(earlier.refusal)
        comment_id, refusal = await self._passed_on(target, header, content, key)
        row = NewReply(
            key=key,
            account_id=target.account_id,
            issue_id=target.issue_id,
            comment_id=comment_id,
            refusal=refusal,
        )
        async with self._db.transaction() as tx:
            if refusal == UNCONFIRMED and await store.has_refusal_since(tx, row, HOUR):
                # Anybody who has the address can send them. One row and one mail in an hour are enough.
                return _outcome_of(refusal)
            if await store.add(tx, row) and refusal not in ("", HIDDEN):
                await refuse(tx, row)
                tx.on_commit(self._queue.notified.set)
        return _outcome_of(refusal)

    async def _passed_on(
        self, target: ReplyTarget, header: MailHeader, content: bytes, key: str
    ) -> tuple[int, str]:
        """Return the id of the comment, or 0 and the reason for the refusal."""
        try:
            principal = await self._identity.reply_principal(target.account_id, header.sender)
        except NotFound:
            return 0, UNCONFIRMED
        async with self._db.read() as db:
            count = await store.count_since(db, target.account_id, HOUR, without=UNCONFIRMED)
        if count >= MOST_PER_HOUR:
            raise TooManyRequests(f"the sender has sent {MOST_PER_HOUR} replies within an hour")
        try:
            text = await self._own_text(target, content)
            return await self._issues.reply(target.issue_id, key, text, principal), ""
        except UnreadableError as error:
            return 0, str(error)
        except NotFound:
            return 0, HIDDEN
        except ApiError as error:
            if _is_for_now(error):
                raise
            return 0, error.message

    async def _own_text(self, target: ReplyTarget, content: bytes) -> str:
        """Return the text for issues. Raises UnreadableError with the reason to refuse the reply."""
        if target.expires_at <= now():
            raise UnreadableError(EXPIRED)
        text = await self._parsed(read_text, content)
        if not text.strip():
            raise UnreadableError(EMPTY)
        if len(text) > MOST_CHARACTERS:
            raise UnreadableError(TOO_LONG)
        return await self._parsed(self._addresses.removed_from, text)


def _is_for_now(error: ApiError) -> bool:
    """True if the same request may succeed later."""
    return error.status >= 500 or error.status == TooManyRequests.status


def _outcome_of(refusal: str) -> Received:
    return Received(Outcome.REFUSED, refusal) if refusal else Received(Outcome.STORED)
