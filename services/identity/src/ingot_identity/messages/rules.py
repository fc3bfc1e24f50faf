"""Requests for messages, and the links in them.

A link has a random secret. The database stores its SHA-256. It also stores the sealed secret for the mail,
which is sent later. Links are pages of identity with the secret in their query, which is never logged.
"""

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from datetime import datetime, timedelta
from urllib.parse import urlencode

import msgspec

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import TooManyRequests
from ingot_chassis.security.sealing import Seal
from ingot_contracts.identity.messages import MessageKind, MessageRequested
from ingot_identity.messages import store
from ingot_identity.messages.store import MessageRow

PAGES: Mapping[str, str] = {
    "address_confirmation": "/user/confirm_address",
    "password_reset": "/user/reset_password",
    "invitation": "/user/invitation",
    "registration": "/user/register",
}
"""Pages behind the links of messages."""
LIFETIMES: Mapping[str, timedelta] = {
    "address_confirmation": timedelta(days=1),
    "password_reset": timedelta(hours=1),
    "invitation": timedelta(days=7),
    "registration": timedelta(days=1),
}
"""Lifetimes of links. Other messages are due for ``NOTE_LIFETIME``."""
NOTE_LIFETIME = timedelta(days=7)
PER_ADDRESS = 3
"""Messages of a kind with a link, to one address within an hour."""
INVITATIONS_PER_ADDRESS = 20
"""Invitations to one address within an hour: several people may invite the same one."""
PER_ACCOUNT = 20
"""Messages of a kind, of one account within an hour."""


class Messages:
    """Adds messages. Without an SMTP server ``is_on`` is False, and no message is added."""

    def __init__(self, sealing_key: str, public_url: str, *, is_on: bool) -> None:
        """Load the key. Raises SettingsError."""
        self._seal = Seal(sealing_key, "INGOT_IDENTITY_SEALING_KEY")
        self._digest_key = hashlib.sha256(b"addresses of messages\0" + sealing_key.encode()).digest()
        self._public_url = public_url.rstrip("/")
        self.is_on = is_on

    async def request(
        self,
        tx: Tx,
        kind: MessageKind,
        *,
        address: str = "",
        account_id: int | None = None,
        subject_id: int = 0,
        fields: Mapping[str, str] | None = None,
    ) -> None:
        """Add a message to ``address`` or, if it is empty, to the primary address of the account.

        Messages above a limit are dropped silently: with a link, by kind and address; without a link, by kind
        and account. A message with a link raises TooManyRequests if the account has requested
        ``PER_ACCOUNT``.
        """
        if not self.is_on:
            return
        digest = self.digest_of(address) if address else None
        has_link = kind in PAGES
        if not has_link and account_id and await store.count_of_account(tx, kind, account_id) >= PER_ACCOUNT:
            return
        if has_link and account_id and await store.count_of_account(tx, kind, account_id) >= PER_ACCOUNT:
            raise TooManyRequests("too many messages; try again later", headers={"Retry-After": "3600"})
        most = INVITATIONS_PER_ADDRESS if kind == "invitation" else PER_ADDRESS
        if has_link and digest and await store.count_of_address(tx, kind, digest) >= most:
            return
        secret = secrets.token_urlsafe(32) if has_link else ""
        message_id = await store.add(
            tx,
            kind=kind,
            account_id=account_id,
            subject_id=subject_id,
            address_digest=digest,
            sealed_address=self._seal.close(address),
            sha256=digest_of_secret(secret) if secret else None,
            sealed_secret=self._seal.close(secret),
            fields=msgspec.json.encode(dict(fields or {})).decode(),
            expires_at=now() + LIFETIMES.get(kind, NOTE_LIFETIME),
        )
        tx.emit(MessageRequested(message_id=message_id, kind=kind), key=f"message {message_id}")

    async def notify(self, tx: Tx, kind: MessageKind, account_id: int, *, page: str, **fields: str) -> None:
        """Add a message about an account to its primary address.

        ``page`` is the path of the page where the owner of the account can react. The message is dropped if
        the account got ``PER_ACCOUNT`` messages of the kind within an hour.
        """
        url = f"{self._public_url}{page}"
        await self.request(tx, kind, account_id=account_id, fields={**fields, "url": url})

    async def get_by_code(self, db: Executor, kind: MessageKind, code: str) -> MessageRow | None:
        """Return the message whose link has ``code``; None if it is not valid."""
        return await store.get_by_secret(db, kind, digest_of_secret(code))

    def address_of(self, row: MessageRow) -> str:
        return self._seal.open(row.sealed_address)

    def seal(self, address: str) -> bytes:
        return self._seal.close(address) or b""

    def unseal(self, sealed_address: bytes) -> str:
        return self._seal.open(sealed_address)

    def fields_of(self, row: MessageRow) -> dict[str, str]:
        """Return the template fields of a message. With a link, they include its URL and expiry time."""
        fields = msgspec.json.decode(row.fields, type=dict[str, str])
        if row.sealed_secret is not None:
            fields["url"] = self.link(row.kind, self._seal.open(row.sealed_secret))
            fields["expires"] = in_words(row.expires_at)
        return fields

    def link(self, kind: str, secret: str) -> str:
        return f"{self._public_url}{PAGES[kind]}?{urlencode({'code': secret})}"

    def digest_of(self, address: str) -> bytes:
        """Return an HMAC-SHA-256 of the address in lower case. Its key is derived from the sealing key."""
        return hmac.digest(self._digest_key, address.lower().encode(), "sha256")


def digest_of_secret(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()


def in_words(time: datetime) -> str:
    """Return the time as text in UTC, such as ``2026-01-31 14:05 UTC``."""
    return f"{time:%Y-%m-%d %H:%M} UTC"
