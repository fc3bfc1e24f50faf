"""The RSA keys that sign id tokens (RS256, which every client supports): sealed in the database, rotated.

The first key is created on first use. A new key is published for a while before it signs. An old key is
published as long as its tokens may be valid. So clients that cache the published keys have every key that
signs.
"""

import asyncio
import time
from datetime import timedelta

import msgspec
from joserfc.jwk import RSAKey

from ingot_chassis.clock import now
from ingot_chassis.db.database import Database
from ingot_chassis.security.sealing import Seal, Unreadable
from ingot_chassis.settings import SettingsError
from ingot_identity.oauth2.store import id_token_keys as store
from ingot_identity.settings import Settings

BITS = 2048
REREAD_SECONDS = 60.0
LEAD = timedelta(hours=2)
"""Time for which a new key is published before it signs."""
OVERLAP = timedelta(days=1)
"""Time for which an old key is published after it has signed last."""


class IdTokenKeys:
    """Reads the keys, creates the first key, and rotates them."""

    def __init__(self, database: Database, settings: Settings) -> None:
        """Load the sealing key. Raises SettingsError."""
        self._seal = Seal(settings.sealing_key, "INGOT_IDENTITY_SEALING_KEY")
        self._db = database
        self._age = timedelta(days=settings.signing_key_days)
        self._read_at = float("-inf")
        self._current: RSAKey | None = None
        self._published: list[dict[str, object]] = []

    async def current(self) -> RSAKey:
        """Return the key to sign with. Creates the first key if none exists.

        Raises SettingsError if the keys cannot be opened.
        """
        if self._current is None or time.monotonic() - self._read_at > REREAD_SECONDS:
            await self._read()
        if self._current is None:
            await self._make(version=1)
        if self._current is None:
            raise LookupError("no key for id tokens")
        return self._current

    async def published(self) -> list[dict[str, object]]:
        """Return the public keys (RFC 7517)."""
        await self.current()
        return self._published

    async def rotate(self) -> None:
        """Create the next key if the latest is too old. Otherwise delete keys without valid tokens."""
        async with self._db.read() as db:
            rows = await store.list_newest_first(db)
        if rows and now() - rows[0].created_at >= self._age:
            await self._make(version=rows[0].version + 1)
            return
        async with self._db.transaction() as tx:
            await store.remove_older(tx, now() - self._age - LEAD - OVERLAP)

    async def _make(self, *, version: int) -> None:
        # It takes some tenths of a second.
        key = await asyncio.to_thread(RSAKey.generate_key, BITS, {"use": "sig", "alg": "RS256"})
        key.ensure_kid()
        async with self._db.transaction() as tx:
            await store.add(
                tx,
                kid=key.kid,
                sealed=self._seal.close(msgspec.json.encode(key.as_dict(private=True)).decode()),
                public_jwk=msgspec.json.encode(key.as_dict(private=False)).decode(),
                version=version,
            )
        await self._read()

    async def _read(self) -> None:
        async with self._db.read() as db:
            rows = await store.list_newest_first(db)
        if rows:
            since = now() - LEAD
            row = next((row for row in rows if row.created_at <= since), rows[-1])
            try:
                self._current = RSAKey.import_key(msgspec.json.decode(self._seal.open(row.sealed)))
            except Unreadable as error:
                raise SettingsError(
                    ["INGOT_IDENTITY_SEALING_KEY is not the key that the id token keys were sealed with"]
                ) from error
            self._read_at = time.monotonic()
        self._published = [msgspec.json.decode(row.public_jwk) for row in rows]
