"""The worker: claims due mails, fetches their contents, sends them and records the outcomes.

A mail is sent at most once. Its row is marked before the server gets the content. If the process or the
connection ends after that, the mail has failed. Only an administrator can send it again.
"""

import asyncio
import random
import uuid
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import NamedTuple

import msgspec
import structlog
from opentelemetry.trace import SpanKind
from prometheus_client import Counter

from ingot_chassis.clock import now
from ingot_chassis.db.database import Database
from ingot_chassis.errors import ApiError
from ingot_chassis.telemetry import continue_span
from ingot_contracts.identity.messages import MailRecipient
from ingot_contracts.issues.notices import NoticeReason
from ingot_mail.composition.rules import Content, Links, message_of, of_digest, sender_of
from ingot_mail.mails import store
from ingot_mail.mails.components import MailComponents
from ingot_mail.mails.jobs.contents import Contents, NotDueError
from ingot_mail.mails.rules import next_attempt_at
from ingot_mail.mails.store import UNCONFIRMED, MailKind, MailRow, MailState, NewMail
from ingot_mail.preferences import store as preferences
from ingot_mail.preferences.rules import Subscription, UnsubscribeLinks, frequency_of, plan
from ingot_mail.preferences.store import Choices, Frequency
from ingot_mail.reply_addresses.rules import ReplyAddresses
from ingot_mail.settings import Settings
from ingot_mail.smtp.clients import OutgoingMail, SmtpError, SmtpPool, UnconfirmedError

log = structlog.get_logger()

CLAIMED = 100
LEASE = timedelta(minutes=10)
"""The lease of a claim. It is longer than an attempt; then claims of a dead worker are released."""
ATTEMPT_SECONDS = 300.0
OWNER_PAUSE = timedelta(seconds=30)
"""The pause of a mail if a service does not answer. Such an attempt does not count."""
BY_CHOICE = (MailKind.ISSUE, MailKind.CHECK, MailKind.RELEASE)

ATTEMPTS = Counter(
    "ingot_mail_attempts_total", "Attempts to send a mail, by what became of them", ["outcome"]
)


class _Due(NamedTuple):
    """A due mail with its content."""

    row: MailRow
    content: Content


class MailWorker:
    """Sends due mails in parallel, one per connection of the pool."""

    def __init__(
        self,
        database: Database,
        settings: Settings,
        components: MailComponents,
        contents: Contents,
        pool: SmtpPool,
        links: UnsubscribeLinks,
        addresses: ReplyAddresses,
        *,
        jitter: Callable[[], float] = lambda: random.uniform(-1, 1),  # noqa: S311 - spreads load
    ) -> None:
        self._db, self._settings, self._components = database, settings, components
        self._contents, self._pool, self._links, self._jitter = contents, pool, links, jitter
        self._addresses = addresses

    async def run(self) -> None:
        """Send mails until cancelled."""
        while True:
            try:
                count = await self.step()
            except Exception as error:  # noqa: BLE001 - the database may be down
                log.warning("mails not claimed, trying again", error=repr(error))
                count = 0
            if not count:
                await self._components.wait()

    async def step(self) -> int:
        """Send mails that are due now. Return the number of claimed mails."""
        async with self._db.transaction() as tx:
            rows = await store.claim(tx, CLAIMED, lease=LEASE)
        groups: dict[tuple[int, str, int], list[MailRow]] = defaultdict(list)
        for row in rows:
            groups[row.account_id, row.digest, 0 if row.digest else row.number].append(row)
        slots = asyncio.Semaphore(self._settings.smtp_connections)

        async def send(group: list[MailRow]) -> None:
            async with slots:
                await self._attempt(group)

        await asyncio.gather(*(send(group) for group in groups.values()))
        return len(rows)

    async def _attempt(self, rows: list[MailRow]) -> None:
        with continue_span(f"mail {rows[0].kind}", rows[0].traceparent, SpanKind.CLIENT):
            try:
                async with asyncio.timeout(ATTEMPT_SECONDS):
                    await self._send_group(rows)
            except ApiError as error:
                await self._return(rows, f"its content could not be asked for: {error.message}")
            except Exception:
                log.exception("attempt failed, the lease of the mail will end", id=rows[0].id)

    async def _send_group(self, rows: list[MailRow]) -> None:
        first = rows[0]
        if first.kind == MailKind.WATCHERS:
            await self._expand(first)
            return
        if first.kind == MailKind.MESSAGE:
            try:
                recipient, content = await self._contents.message(first)
            except NotDueError as error:
                await self._end(rows, MailState.CANCELLED, str(error))
                return
            await self._send(rows, recipient, content, Links())
            return
        try:
            recipient = await self._contents.recipient(first.account_id)
        except NotDueError as error:
            await self._end(rows, MailState.CANCELLED, str(error))
            return
        due = [one for row in rows if (one := await self._due(row)) is not None]
        if not due:
            return
        if first.digest:
            content, links = (
                of_digest([one.content for one in due], self._settings.site_name),
                self._own_links(),
            )
        else:
            content, links = due[0].content, self._links_of(first)
        await self._send([one.row for one in due], recipient, content, links)

    async def _due(self, row: MailRow) -> _Due | None:
        """Return the mail with its current content. Cancel it and return None if it must not be sent."""
        if row.kind in BY_CHOICE and not await self._is_chosen(row):
            await self._end([row], MailState.CANCELLED, "the recipient does not want it any more")
            return None
        try:
            return _Due(row, await self._contents.of(row))
        except NotDueError as error:
            await self._end([row], MailState.CANCELLED, str(error))
            return None

    async def _is_chosen(self, row: MailRow) -> bool:
        async with self._db.read() as db:
            choices = await preferences.list_effective(db, [row.account_id], row.repository_id)
        return _frequency(choices[row.account_id], row) != Frequency.OFF

    async def _expand(self, row: MailRow) -> None:
        """Queue a mail for each watcher of a repository."""
        watcher_ids = await self._contents.watchers(row.repository_id)
        async with self._db.transaction() as tx:
            choices = await preferences.list_effective(tx, watcher_ids, row.repository_id)
            new = [
                NewMail(
                    id=str(uuid.uuid4()),
                    event_id=row.event_id,
                    account_id=account_id,
                    kind=MailKind.RELEASE.value,
                    reason="watching",
                    repository_id=row.repository_id,
                    subject_id=row.subject_id,
                    details=row.details,
                    digest=planned.digest,
                    next_attempt_at=planned.due_at,
                    traceparent=row.traceparent,
                )
                for account_id in watcher_ids
                if (planned := plan(frequency_of(choices[account_id], "watching"), now())) is not None
            ]
            await store.add(tx, new)
            await store.record(tx, [row], {"state": MailState.SENT, "finished_at": now()})

    async def _send(
        self, rows: Sequence[MailRow], recipient: MailRecipient, content: Content, links: Links
    ) -> None:
        try:
            message = message_of(
                content,
                recipient,
                self._settings,
                mail_id=rows[0].id,
                at=now(),
                links=links,
                reply_to=self._reply_to(rows[0]),
            )
        except ValueError as error:
            await self._end(rows, MailState.FAILED, f"no mail can have this address: {error}")
            return

        async def before_content() -> bool:
            async with self._db.transaction() as tx:
                return await store.mark_submitted(tx, rows, recipient.address)

        outgoing = OutgoingMail(sender_of(self._settings), recipient.address, message.as_bytes())
        try:
            is_sent = await self._pool.send(outgoing, before_content)
        except UnconfirmedError as error:
            await self._end(rows, MailState.FAILED, f"{UNCONFIRMED}: {error}")
        except SmtpError as error:
            await self._retry(rows, error)
        else:
            if is_sent:
                await self._end(rows, MailState.SENT, "")

    async def _retry(self, rows: Sequence[MailRow], error: SmtpError) -> None:
        again_at = next_attempt_at(rows[0].attempts, now(), self._jitter()) if error.retried else None
        if again_at is None:
            await self._end(rows, MailState.FAILED, error.reason)
            return
        await self._record(
            rows,
            "retried",
            {
                "state": MailState.PENDING,
                "next_attempt_at": again_at,
                "submitted_at": None,
                "error": error.reason,
            },
        )

    async def _return(self, rows: Sequence[MailRow], reason: str) -> None:
        """Release the mails for a later attempt. The current attempt does not count."""
        for row in rows:
            values = {
                "state": MailState.PENDING,
                "attempts": row.attempts - 1,
                "next_attempt_at": now() + OWNER_PAUSE,
                "error": reason,
            }
            await self._record([row], "returned", values)

    async def _end(self, rows: Sequence[MailRow], state: MailState, error: str) -> None:
        await self._record(rows, state.value, {"state": state, "error": error, "finished_at": now()})

    async def _record(self, rows: Sequence[MailRow], outcome: str, values: dict[str, object]) -> None:
        async with self._db.transaction() as tx:
            await store.record(tx, rows, values)
        ATTEMPTS.labels(outcome).inc(len(rows))
        log.info("mail", id=rows[0].id, kind=rows[0].kind, outcome=outcome, error=values["error"] or None)

    def _reply_to(self, row: MailRow) -> str:
        """Return the address for replies to a notice about one issue; empty for other mails and digests."""
        if row.kind not in (MailKind.ISSUE, MailKind.CHECK) or row.digest:
            return ""
        return self._addresses.sign(row.account_id, row.subject_id, now())

    def _own_links(self) -> Links:
        return Links(preferences=f"{self._root}user/settings/mail")

    def _links_of(self, row: MailRow) -> Links:
        if row.kind not in BY_CHOICE:
            return Links()
        url = self._links.url(Subscription(row.account_id, row.repository_id))
        return self._own_links()._replace(unsubscribe=url)

    @property
    def _root(self) -> str:
        return self._settings.public_url.rstrip("/") + "/"


def _frequency(choices: Choices, row: MailRow) -> Frequency:
    return frequency_of(choices, msgspec.convert(row.reason, type=NoticeReason))
