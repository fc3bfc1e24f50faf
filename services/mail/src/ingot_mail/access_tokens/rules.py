"""Refresh tokens that survive a restart, and the access tokens for mail servers.

Some token endpoints accept each refresh token once, and return the next one with the access token. So the
last refresh token is stored, sealed, before the access token is used. All processes share it and send one
request at a time. An endpoint may treat a refresh token that is sent twice as stolen, and end the grant.
"""

import asyncio
import time
from datetime import timedelta
from hashlib import sha256

from ingot_chassis.clock import now
from ingot_chassis.db.database import Database
from ingot_chassis.db.driver import is_outage
from ingot_chassis.security.sealing import Seal, Unreadable
from ingot_mail.access_tokens import store
from ingot_mail.access_tokens.clients import AccessTokens, TokenEndpoint, TokenError
from ingot_mail.access_tokens.store import RefreshTokenRow
from ingot_mail.settings import Settings

POLL_SECONDS = 0.5
MARGIN_SECONDS = 30.0
"""A lease is longer than the timeout of its request by this."""
UNUSED = timedelta(days=90)
"""The token of a grant without requests is deleted after this time."""


class StoredRefreshTokens:
    """The refresh token of one grant: ``first`` of the settings, or the last one that replaced it."""

    def __init__(
        self, database: Database, seal: Seal, endpoint: TokenEndpoint, first: str, *, seconds: float
    ) -> None:
        """Use a grant of ``endpoint``. ``seconds`` is the timeout of a request with the token."""
        self._database, self._seal, self._first = database, seal, first
        grant = f"{endpoint.url}\0{endpoint.client}\0{first}"
        self._grant = sha256(grant.encode()).hexdigest()
        self._seconds = seconds + MARGIN_SECONDS
        self._leased_until = now()
        self._unsaved = ""
        """The last token of the endpoint, if the database was unavailable until the lease ended."""

    async def take(self) -> str:
        """Return the token for one request. Wait while another process requests. Raises TokenError."""
        end = time.monotonic() + self._seconds
        while (token := await self._try()) is None:
            if time.monotonic() > end:
                raise TokenError("another process requests an access token and does not end")
            await asyncio.sleep(POLL_SECONDS)
        return token

    async def _try(self) -> str | None:
        """Return the leased token, or None while another process has it."""
        async with self._database.transaction() as tx:
            await tx.advisory_lock(f"refresh-token-{self._grant}")
            row = await store.get(tx, self._grant)
            if row is not None and row.leased_until is not None and row.leased_until > now():
                return None
            token = self._unsaved or self._opened(row)
            until = now() + timedelta(seconds=self._seconds)
            await store.delete_unused(tx, now() - UNUSED)
            await store.lease(tx, self._grant, until, sealed_token=self._sealed(token))
        self._leased_until = until
        return token

    async def give_back(self, token: str, following: str | None) -> None:
        """End the request. ``following`` is the new refresh token of the response; None keeps ``token``.

        While the database is unavailable, it is tried again until the lease ends.
        """
        self._unsaved = following or token
        sealed = self._sealed(self._unsaved)
        while True:
            try:
                async with self._database.transaction() as tx:
                    await store.release(tx, self._grant, self._leased_until, sealed_token=sealed)
            except Exception as error:
                if not is_outage(error) or now() > self._leased_until:
                    raise
                await asyncio.sleep(POLL_SECONDS)
            else:
                self._unsaved = ""
                return

    def _sealed(self, token: str) -> bytes:
        return self._seal.close(token) or b""

    def _opened(self, row: RefreshTokenRow | None) -> str:
        """Return the stored token, or that of the settings if none can be read."""
        try:
            return self._first if row is None else self._seal.open(row.sealed_token)
        except Unreadable:
            return self._first


def smtp_tokens(settings: Settings, database: Database) -> AccessTokens:
    """Return the access tokens for the SMTP server."""
    endpoint = TokenEndpoint(
        settings.smtp_oauth_url,
        settings.smtp_oauth_client,
        settings.smtp_oauth_secret,
        settings.smtp_oauth_scope,
    )
    return _tokens(settings, database, endpoint, settings.smtp_oauth_refresh, settings.smtp_seconds)


def imap_tokens(settings: Settings, database: Database, *, seconds: float) -> AccessTokens:
    """Return the access tokens for the mailbox. ``seconds`` is the timeout of a request."""
    endpoint = TokenEndpoint(
        settings.imap_oauth_url,
        settings.imap_oauth_client,
        settings.imap_oauth_secret,
        settings.imap_oauth_scope,
    )
    return _tokens(settings, database, endpoint, settings.imap_oauth_refresh, seconds)


def _tokens(
    settings: Settings, database: Database, endpoint: TokenEndpoint, first: str, seconds: float
) -> AccessTokens:
    if not endpoint.url or not first:
        return AccessTokens(endpoint, seconds=seconds)
    seal = Seal.for_purpose(settings.sealing_key, "INGOT_MAIL_SEALING_KEY", "refresh tokens")
    refresh_tokens = StoredRefreshTokens(database, seal, endpoint, first, seconds=seconds)
    return AccessTokens(endpoint, refresh_tokens, seconds=seconds)
