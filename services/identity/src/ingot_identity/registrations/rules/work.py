"""A proof of work: a challenge that costs a browser CPU time, while its check costs almost none.

The answer is a number. The SHA-256 of challenge and number must begin with the number of zero bits in the
challenge. The server signs challenges and does not store them. It accepts each challenge once.
"""

import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Callable

from ingot_chassis.errors import Invalid
from ingot_identity.passwords.store import ExpiringValues

LIFETIME_SECONDS = 600
"""Shorter than the time for which ``ExpiringValues`` keeps the challenges that were answered."""
_CHALLENGE = re.compile(r"(\d{1,2})\.(\d{1,12})\.([0-9a-f]{32})\.([0-9a-f]{64})", re.ASCII)
_ANSWER = re.compile(r"\d{1,16}", re.ASCII)


class WorkChallenges:
    """Creates and checks challenges with ``bits`` zero bits. 0 disables the proof of work."""

    def __init__(
        self,
        sealing_key: str,
        values: ExpiringValues,
        *,
        bits: int,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._key = hashlib.sha256(b"proof of work\0" + sealing_key.encode()).digest()
        self._values, self._bits, self._clock = values, bits, clock

    def new(self) -> str:
        """Return a signed challenge; empty if the proof of work is disabled."""
        if not self._bits:
            return ""
        signed = f"{self._bits}.{int(self._clock()) + LIFETIME_SECONDS}.{secrets.token_hex(16)}"
        return f"{signed}.{self._mac(signed)}"

    async def require(self, challenge: str, answer: str) -> None:
        """Check an answer, and mark its challenge as used. Raises Invalid.

        If the proof of work is disabled, every answer is accepted.
        """
        if not self._bits:
            return
        if not answer:
            raise Invalid.field("work", "required", "is missing; this form needs a browser with JavaScript")
        if not self._is_valid(challenge) or not is_solution(challenge, answer):
            raise Invalid.field("work", "invalid", "is not valid any more; send the form again")

        def use(values: list[bytes | None]) -> list[bytes | None]:
            if values[0]:
                raise Invalid.field("work", "used", "was used before; send the form again")
            return [b"1"]

        await self._values.change([f"work:{hashlib.sha256(challenge.encode()).hexdigest()}"], use)

    def _is_valid(self, challenge: str) -> bool:
        match = _CHALLENGE.fullmatch(challenge)
        if match is None:
            return False
        bits, expires, _, mac = match.groups()
        signed = challenge.rpartition(".")[0]
        is_signed = hmac.compare_digest(mac, self._mac(signed))
        return is_signed and int(bits) >= self._bits and int(expires) > self._clock()

    def _mac(self, signed: str) -> str:
        return hmac.digest(self._key, signed.encode(), "sha256").hex()


def is_solution(challenge: str, answer: str) -> bool:
    """Return True if the answer gives the zero bits that the challenge requires."""
    if not _ANSWER.fullmatch(answer):
        return False
    bits = int(challenge.partition(".")[0])
    digest = hashlib.sha256(f"{challenge}.{answer}".encode()).digest()
    return int.from_bytes(digest) >> (256 - bits) == 0
