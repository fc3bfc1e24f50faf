"""The keys that sign principals: sealed in the database, replaced by age, published while they may be in use."""

import asyncio
import time
from datetime import timedelta

from cryptography.fernet import Fernet, InvalidToken

from ingot_chassis.database import Database
from ingot_chassis.keys import Jwk, Jwks, SigningKey
from ingot_chassis.settings import SettingsError
from ingot_chassis.tables import now
from ingot_identity.settings import Settings
from ingot_identity.store import signing_keys as store

REREAD_SECONDS = 10.0
CHECK_SECONDS = 3600.0
OVERLAP = timedelta(hours=1)


class SigningKeys:
    """Reads the newest key, makes the first, and a new one when that is too old."""

    def __init__(self, database: Database, settings: Settings) -> None:
        try:
            self._seal = Fernet(settings.sealing_key)
        except ValueError as error:
            raise SettingsError([f"INGOT_IDENTITY_SEALING_KEY is no Fernet key: {error}"]) from error
        self._db = database
        self._age = timedelta(days=settings.signing_key_days)
        self._read_at = float("-inf")
        self._current: SigningKey | None = None
        self._published: list[Jwk] = []

    async def current(self) -> SigningKey:
        """The key to sign with. Another replica's new key is noticed within 10 s."""
        await self._refresh()
        if self._current is None:
            await self.rotate()
        if self._current is None:
            raise LookupError("no signing key")
        return self._current

    async def published(self) -> Jwks:
        """Every key that may have signed something that is still valid. Read fresh: somebody met a new one."""
        await self._reread()
        return Jwks(self._published)

    async def rotate(self) -> None:
        """Make the next key unless another replica just did, and drop those that signed nothing valid any more."""
        async with self._db.transaction() as tx:
            rows = await store.list_newest_first(tx)
            if not rows or now() - rows[0].created_at >= self._age:
                key = SigningKey.generate()
                await store.add(
                    tx,
                    kid=key.kid,
                    sealed=self._seal.encrypt(key.text().encode()),
                    x=key.x,
                    created_at=now(),
                    version=rows[0].version + 1 if rows else 1,
                )
            await store.remove_older(tx, now() - self._age - OVERLAP)
        await self._reread()

    async def rotate_for_ever(self) -> None:
        while True:
            await self.rotate()
            await asyncio.sleep(CHECK_SECONDS)

    async def _refresh(self) -> None:
        if time.monotonic() - self._read_at > REREAD_SECONDS:
            await self._reread()

    async def _reread(self) -> None:
        async with self._db.read() as db:
            rows = await store.list_newest_first(db)
        if rows:
            try:
                self._current = SigningKey.read(self._seal.decrypt(rows[0].sealed).decode())
            except InvalidToken as error:
                raise SettingsError(
                    ["INGOT_IDENTITY_SEALING_KEY is not the key that the signing keys were sealed with"]
                ) from error
        self._published = [Jwk(kid=row.kid, x=row.x) for row in rows]
        self._read_at = time.monotonic()
