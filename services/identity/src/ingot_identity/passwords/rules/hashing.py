"""Hashing of passwords with argon2id in threads. Checks of unknown names take equally long."""

import asyncio
import secrets
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from argon2.low_level import ARGON2_VERSION

from ingot_chassis.errors import Invalid, Unavailable

LONGEST = 255
AT_ONCE = 2
LONGEST_QUEUE = 100


class Passwords:
    """Hashes and checks passwords, ``AT_ONCE`` at a time, because each needs ``memory_kib`` of memory.

    Methods raise Unavailable while ``LONGEST_QUEUE`` others wait.
    """

    def __init__(self, *, memory_kib: int = 65_536, rounds: int = 3, length: int = 8) -> None:
        """Set the costs. ``length`` is the minimum length of new passwords in characters."""
        self._length = length
        self._hasher = PasswordHasher(memory_cost=memory_kib, time_cost=rounds)
        self._slots, self._count = asyncio.Semaphore(AT_ONCE), 0
        self._unmatched = unmatched_hash(self._hasher)

    async def hash(self, password: str, *, field: str = "password") -> str:
        """Return the argon2id hash of a new password.

        Raises Invalid for a password that is empty, too short or too long.
        """
        if not password:
            raise Invalid.field(field, "required", "is required")
        if len(password) < self._length:
            raise Invalid.field(field, "length", f"has fewer than {self._length} characters")
        if len(password) > LONGEST:
            raise Invalid.field(field, "length", f"has more than {LONGEST} characters")
        async with self._acquire_slot():
            return await asyncio.to_thread(self._hasher.hash, password)

    async def matches(self, password: str, password_hash: str | None) -> bool:
        """True if ``password`` has the hash ``password_hash``.

        Without a hash the result is False, after an equally long check.
        """
        async with self._acquire_slot():
            matches = await asyncio.to_thread(
                self._verify, password_hash or self._unmatched, password[: LONGEST + 1]
            )
        return matches and bool(password_hash)

    @asynccontextmanager
    async def _acquire_slot(self) -> AsyncIterator[None]:
        if self._count >= AT_ONCE + LONGEST_QUEUE:
            raise Unavailable("too many sign-ins at once; try again")
        self._count += 1
        try:
            async with self._slots:
                yield
        finally:
            self._count -= 1

    def _verify(self, password_hash: str, password: str) -> bool:
        try:
            return self._hasher.verify(password_hash, password)
        except (VerificationError, InvalidHashError):
            return False


def unmatched_hash(hasher: PasswordHasher) -> str:
    """Return a hash that no password matches. Its check takes as long as the check of a hash by ``hasher``.

    Its digest is random, which is cheap: hashing a real password would slow every start.
    """
    salt, digest = (
        b64encode(secrets.token_bytes(length)).rstrip(b"=").decode()
        for length in (hasher.salt_len, hasher.hash_len)
    )
    effort = f"m={hasher.memory_cost},t={hasher.time_cost},p={hasher.parallelism}"
    return f"$argon2id$v={ARGON2_VERSION}${effort}${salt}${digest}"


def generate() -> str:
    """Return a random password."""
    return secrets.token_urlsafe(15)
