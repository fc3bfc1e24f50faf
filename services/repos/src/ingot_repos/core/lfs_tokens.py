"""Tokens of LFS for clients of the SSH server: they show over HTTP which key a client has proved to have over SSH.

A token opens nothing by itself: whoever has it gets what the key gets at that moment, in one repository.
"""

from datetime import datetime, timedelta
from typing import Literal

import msgspec

from ingot_chassis.clock import now
from ingot_chassis.errors import Unauthenticated
from ingot_chassis.security.sealing import Seal, Unreadable

TOKEN_HEADER = "lfs-token"  # noqa: S105 - the name of a header
LIFETIME = timedelta(minutes=30)


class LfsToken(msgspec.Struct, frozen=True):
    """``level``: of a download or an upload."""

    fingerprint: str
    repository_id: int
    level: Literal["read", "write"]
    expires_at: datetime


def issue(
    seal: Seal, fingerprint: str, repository_id: int, level: Literal["read", "write"]
) -> tuple[str, LfsToken]:
    """A new token, as text and as what it says."""
    expires_at = (now() + LIFETIME).replace(microsecond=0)
    token = LfsToken(fingerprint, repository_id, level, expires_at)
    sealed = seal.close(msgspec.json.encode(token).decode())
    return (sealed or b"").decode(), token


def read(seal: Seal, text: str) -> LfsToken:
    """Raises Unauthenticated for a token that is not ours, or has expired."""
    try:
        token = msgspec.json.decode(seal.open(text.encode()), type=LfsToken)
    except (Unreadable, msgspec.DecodeError):
        raise Unauthenticated("the token is not valid") from None
    if token.expires_at < now():
        raise Unauthenticated("the token has expired")
    return token
