"""Keys that sign principals: sealed in the database, rotated, published while their tokens may be valid."""

import time
from datetime import timedelta

from ingot_chassis.clock import now
from ingot_chassis.db.database import Database
from ingot_chassis.security.keys import Jwk, Jwks, SigningKey
from ingot_chassis.security.sealing import Seal, Unreadable
from ingot_chassis.settings import SettingsError
from ingot_identity.authentication import store
from ingot_identity.settings import Settings

REREAD_SECONDS = 10.0
OVERLAP = timedelta(hours=1)


class SigningKeys:
    """Reads the latest key, creates the first one, and creates a new one when the latest is too old."""

    def __init__(self, database: Database, settings: Settings) -> None:
        """Load the sealing key. Raises SettingsError."""
        self._seal = Seal(settings.sealing_key, "INGOT_IDENTITY_SEALING_KEY")
        self._db = database
        self._age = timedelta(days=settings.signing_key_days)
        self._read_at = float("-inf")
        self._current: SigningKey | None = None
        self._published: list[Jwk] = []

    async def current(self) -> SigningKey:
        """Return the key to sign with. A new key of another replica is read within 10 s.

        Raises SettingsError if the keys cannot be opened.
        """
        if time.monotonic() - self._read_at > REREAD_SECONDS:
            await self._reread()
        if self._current is None:
            await self.rotate()
        if self._current is None:
            raise LookupError("no signing key")
        return self._current

    async def published(self) -> Jwks:
        """Return every key whose signatures may still be valid.

        The keys are read on each call, because callers ask when they see an unknown key.
        """
        await self._reread()
        return Jwks(self._published)

    async def rotate(self) -> None:
        """Create the next key if the latest is too old, and delete keys without valid signatures."""
        async with self._db.transaction() as tx:
            rows = await store.list_newest_first(tx)
            if not rows or now() - rows[0].created_at >= self._age:
                key = SigningKey.generate()
                await store.add(
                    tx,
                    kid=key.kid,
                    sealed=self._seal.close(key.text()),
                    x=key.x,
                    created_at=now(),
                    version=rows[0].version + 1 if rows else 1,
                )
            await store.remove_older(tx, now() - self._age - OVERLAP)
        await self._reread()

    async def _reread(self) -> None:
        async with self._db.read() as db:
            rows = await store.list_newest_first(db)
        if rows:
            try:
                self._current = SigningKey.read(self._seal.open(rows[0].sealed))
            except Unreadable as error:
                raise SettingsError(
                    ["INGOT_IDENTITY_SEALING_KEY is not the key that the signing keys were sealed with"]
                ) from error
        self._published = [Jwk(kid=row.kid, x=row.x) for row in rows]
        self._read_at = time.monotonic()
