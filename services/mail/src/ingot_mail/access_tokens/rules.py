"""Refresh tokens that survive a restart, and the access tokens for mail servers.

Some token endpoints accept each refresh token once, and return the next one with the access token. So the
last refresh token is stored, sealed, before the access token is used. All processes share it and send one
request at a time. An endpoint may treat a refresh token that is sent twice as stolen, and end the grant.
"""

import asyncio
import time
from datetime import timedelta

from ingot_chassis.clock import now
from ingot_chassis.db.database import Database
from ingot_chassis.db.transaction import Tx
from ingot_chassis.security.sealing import Seal, Unreadable
from ingot_mail.access_tokens import store
from ingot_mail.access_tokens.clients import AccessTokens, TokenEndpoint, TokenError
from ingot_mail.access_tokens.store import RefreshTokenRow
from ingot_mail.settings import Settings

POLL_SECONDS = 0.5
MARGIN_SECONDS = 30.0
"""A lease is longer than the timeout of its request by this."""


class StoredRefreshTokens:
    """The refresh token of one server: ``first`` from the settings, or the last token that replaced it."""

    def __init__(self, database: Database, seal: Seal, server: str, first: str, *, seconds: float) -> None:
        """Use the stored token of ``server``, smtp or imap. ``seconds`` is the timeout of a request."""
        self._database, self._seal, self._server, self._first = database, seal, server, first
        self._lease = seconds + MARGIN_SECONDS

    async def take(self) -> str:
        """Return the token for one request. Wait while another process has it.

        Raises TokenError if the wait is longer than a request may take.
        """
        end = time.monotonic() + self._lease
        while (token := await self._try()) is None:
            if time.monotonic() > end:
                raise TokenError("another process requests an access token and does not end")
            await asyncio.sleep(POLL_SECONDS)
        return token

    async def _try(self) -> str | None:
        async with self._database.transaction() as tx:
            await tx.advisory_lock(f"refresh-token-{self._server}")
            row = await store.get(tx, self._server)
            if row is not None and row.leased_until is not None and row.leased_until > now():
                return None
            token = self._current(row)
            await self._put(tx, token, lease=timedelta(seconds=self._lease))
        return token

    async def give_back(self, token: str, following: str | None) -> None:
        """End the request. ``following`` is the new refresh token of the response; None keeps ``token``."""
        async with self._database.transaction() as tx:
            await self._put(tx, following or token)

    def _current(self, row: RefreshTokenRow | None) -> str:
        """Return the stored token if it replaced ``first``; otherwise ``first``."""
        if row is None:
            return self._first
        try:
            is_of_settings = self._seal.open(row.sealed_first) == self._first
            return self._seal.open(row.sealed_token) if is_of_settings else self._first
        except Unreadable:
            return self._first

    async def _put(self, tx: Tx, token: str, *, lease: timedelta | None = None) -> None:
        await store.put(
            tx,
            self._server,
            sealed_first=self._seal.close(self._first),
            sealed_token=self._seal.close(token),
            leased_until=now() + lease if lease else None,
        )


def smtp_tokens(settings: Settings, database: Database) -> AccessTokens:
    """Return the access tokens for the SMTP server."""
    endpoint = TokenEndpoint(
        settings.smtp_oauth_url,
        settings.smtp_oauth_client,
        settings.smtp_oauth_secret,
        settings.smtp_oauth_scope,
    )
    return _tokens(settings, database, "smtp", endpoint, settings.smtp_oauth_refresh, settings.smtp_seconds)


def imap_tokens(settings: Settings, database: Database, *, seconds: float) -> AccessTokens:
    """Return the access tokens for the mailbox. ``seconds`` is the timeout of a request."""
    endpoint = TokenEndpoint(
        settings.imap_oauth_url,
        settings.imap_oauth_client,
        settings.imap_oauth_secret,
        settings.imap_oauth_scope,
    )
    return _tokens(settings, database, "imap", endpoint, settings.imap_oauth_refresh, seconds)


def _tokens(
    settings: Settings, database: Database, server: str, endpoint: TokenEndpoint, first: str, seconds: float
) -> AccessTokens:
    if not endpoint.url or not first:
        return AccessTokens(endpoint, seconds=seconds)
    seal = Seal.for_purpose(settings.sealing_key, "INGOT_MAIL_SEALING_KEY", "refresh tokens")
    refresh_tokens = StoredRefreshTokens(database, seal, server, first, seconds=seconds)
    return AccessTokens(endpoint, refresh_tokens, seconds=seconds)
