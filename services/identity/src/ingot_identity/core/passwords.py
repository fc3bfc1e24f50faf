"""Passwords: argon2id, off the event loop, and the same effort for people who do not exist."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from ingot_chassis.errors import Invalid, Unavailable

LONGEST = 255
AT_ONCE = 2
LONGEST_LINE = 100


class Passwords:
    """Hashes and checks. ``AT_ONCE`` at a time, because each takes ``memory_kib`` for its moment.

    Who comes while ``LONGEST_LINE`` others wait for theirs is sent away: both raise Unavailable.
    """

    def __init__(self, *, memory_kib: int = 65_536, rounds: int = 3) -> None:
        self._hasher = PasswordHasher(memory_cost=memory_kib, time_cost=rounds)
        self._room, self._inside = asyncio.Semaphore(AT_ONCE), 0
        # Made at once: made when first needed, it would show that somebody does not exist.
        self._nobody = self._hasher.hash(secrets.token_hex())

    async def hash(self, password: str) -> str:
        """The argon2id hash. Raises Invalid for a password that is empty or too long."""
        if not password:
            raise Invalid.field("password", "required", "is required")
        if len(password) > LONGEST:
            raise Invalid.field("password", "length", f"has more than {LONGEST} characters")
        async with self._place():
            return await asyncio.to_thread(self._hasher.hash, password)

    async def matches(self, password: str, password_hash: str | None) -> bool:
        """Whether ``password`` is right; ``None`` or empty stands for nobody's and costs the same time."""
        async with self._place():
            right = await asyncio.to_thread(
                self._verify, password_hash or self._nobody, password[: LONGEST + 1]
            )
        return right and bool(password_hash)

    @asynccontextmanager
    async def _place(self) -> AsyncIterator[None]:
        if self._inside >= AT_ONCE + LONGEST_LINE:
            raise Unavailable("too many sign-ins at once; try again")
        self._inside += 1
        try:
            async with self._room:
                yield
        finally:
            self._inside -= 1

    def _verify(self, password_hash: str, password: str) -> bool:
        try:
            return self._hasher.verify(password_hash, password)
        except (VerificationError, InvalidHashError):
            return False


def generate() -> str:
    """A password for somebody who was not asked for one."""
    return secrets.token_urlsafe(15)
