"""The service under test: the real app and database, with fakes of its peers."""

from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import msgspec
from sqlalchemy import Table, update

from ingot_chassis.clock import now
from ingot_chassis.db.database import Database
from ingot_chassis.http.parts import PARTS
from ingot_chassis.peers.peers import Peers
from ingot_chassis.security.keys import SigningKey
from ingot_chassis.security.principal import Principal, ServiceIdentity, sign_principal
from ingot_contracts.identity.messages import MailRecipient
from ingot_contracts.issues.events import ChecksFailed, PeopleNotified
from ingot_contracts.issues.notices import IssueNotice, NoticeReason, NoticeSource, NotifiedPerson
from ingot_contracts.repos.releases import PublishedRelease
from ingot_contracts.testing.identity import FakeIdentity
from ingot_contracts.testing.issues import FakeIssues
from ingot_contracts.testing.repos import FakeRepos
from ingot_mail.access_tokens.rules import smtp_tokens
from ingot_mail.app import create_app
from ingot_mail.clients.identity import HttpIdentity
from ingot_mail.clients.issues import HttpIssues
from ingot_mail.clients.repos import HttpRepos
from ingot_mail.mails.components import MailComponents
from ingot_mail.mails.jobs.contents import Clients, Contents
from ingot_mail.mails.jobs.sending import MailWorker
from ingot_mail.preferences.components import PreferenceComponents
from ingot_mail.replies.components import ReplyComponents
from ingot_mail.replies.rules.outcomes import Received
from ingot_mail.reply_addresses.rules import ReplyAddresses
from ingot_mail.settings import Settings
from ingot_mail.smtp.clients import SmtpPool
from ingot_testing.service import Callers, deliver_event

from .builders import release, repository

PREFERENCES = "/user/mail-preferences"
REPLY_KEY = "the key of the mail server"


class World:
    """One running service.

    ann (1) owns the public ann/app (7) and the private ann/other (8). bob (2) is a user.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.callers = Callers("mail")
        key = self.callers.identity_key.jwk()
        self.identity, self.repos = FakeIdentity(kid=key.kid, x=key.x), FakeRepos()
        self.issues = FakeIssues()
        for account_id, login in ((1, "ann"), (2, "bob")):
            self.add_person(account_id, login)
        self.repos.add(repository())
        self.repos.add(repository(8, name="other", private=True))
        for repository_id in (7, 8):
            of = release(repository_id=repository_id).release
            shown = PublishedRelease(tag_name=of.tag_name, name=of.name, body=of.body)
            self.repos.releases[repository_id, of.id] = shown
        own = ServiceIdentity("mail", SigningKey.read(settings.private_key))
        peers = Peers.in_process({"identity": self.identity, "repos": self.repos, "issues": self.issues}, own)
        self.app = create_app(settings, peers=peers)
        self.client = httpx.AsyncClient(transport=httpx.ASGITransport(self.app), base_url="http://forge.test")
        self.db: Database = self.app.state.database
        self.contents = Contents(
            Clients(HttpIdentity(peers["identity"]), HttpRepos(peers["repos"]), HttpIssues(peers["issues"])),
            settings.site_name,
        )
        self.pool = SmtpPool(settings, smtp_tokens(settings, self.db))
        parts = self.app.state[PARTS]
        self.links = parts[PreferenceComponents].links
        self.addresses = ReplyAddresses(settings)
        self.replies = parts[ReplyComponents]
        self.worker = MailWorker(
            self.db,
            settings,
            parts[MailComponents],
            self.contents,
            self.pool,
            self.links,
            self.addresses,
            jitter=lambda: 0.0,
        )

    @property
    def receive(self) -> Callable[[bytes], Awaitable[Received]]:
        """Takes a mail. Only with an SMTP server."""
        assert self.replies.receive is not None
        return self.replies.receive

    async def close(self) -> None:
        await self.pool.close()
        await self.client.aclose()
        await self.db.close()

    def add_person(self, account_id: int, login: str) -> None:
        """A user with a confirmed address."""
        self.identity.add_account(account_id, login)
        address = f"{login}@example.org"
        self.identity.recipients[account_id] = MailRecipient(address=address, login=login)
        principal = Principal(id=account_id, name=login, via="mail", scopes=["write:issue"])
        token = sign_principal(principal, self.callers.identity_key, audience=["issues"])
        self.identity.reply_principals[account_id, address] = token

    def add_issue(self, issue_id: int = 100, **fields: Any) -> IssueNotice:
        """An issue of ann/app, as issues would show it to mail."""
        values: dict[str, Any] = {
            "repository_id": 7,
            "full_name": "ann/app",
            "number": 12,
            "title": "A title",
            "is_pull": False,
            "state": "open",
            "url": "http://forge.test/ann/app/issues/12",
            "actor": "ann",
            "text": "A text",
        }
        notice = IssueNotice(**values | fields)
        self.issues.notices[issue_id] = notice
        return notice

    async def notify(
        self,
        *people: tuple[int, NoticeReason],
        issue_id: int = 100,
        repository_id: int = 7,
        event_id: str = "",
        **source: Any,
    ) -> None:
        """Apply the event by which issues announces notifications."""
        event = PeopleNotified(
            repository_id=repository_id,
            issue_id=issue_id,
            source=NoticeSource(actor_id=1, **source or {"comment_id": 5}),
            people=[NotifiedPerson(account_id=account_id, reason=reason) for account_id, reason in people],
        )
        await self.deliver(event, event_id=event_id)

    async def fail(self, sha: str, *, issue_id: int = 100) -> None:
        """Apply the event by which issues announces a failed check of a pull request of bob (2)."""
        await self.deliver(ChecksFailed(repository_id=7, issue_id=issue_id, author_id=2, sha=sha))

    async def deliver(self, event: msgspec.Struct, *, event_id: str = "") -> None:
        """Apply an event of another service."""
        await deliver_event(self.app.state.parts.consumers, event, event_id=event_id)

    async def call(
        self, method: str, path: str, body: Any = None, *, user: int = 1, **principal: Any
    ) -> httpx.Response:
        """Send a request as the user; 0 is anonymous. ``principal``: more fields of the principal."""
        caller = (
            Principal(id=user, name=f"user{user}", **{"via": "token", **principal}) if user else Principal()
        )
        return await self.client.request(
            method, f"/api/v1{path}", json=body, headers=self.callers.headers(caller)
        )

    @property
    def table(self) -> Table:
        return self.db.metadata.tables["mail"]

    async def rows(self) -> list[Any]:
        """All mails in the order in which they were queued."""
        async with self.db.read() as db:
            return list((await db.execute(self.table.select().order_by(self.table.c.number))).all())

    async def update_all(self, **values: Any) -> None:
        async with self.db.transaction() as tx:
            await tx.execute(update(self.table).values(values))

    async def make_due(self) -> None:
        """Let every waiting mail be due now."""
        async with self.db.transaction() as tx:
            waiting = update(self.table).where(self.table.c.state == "pending")
            await tx.execute(waiting.values(next_attempt_at=now()))
