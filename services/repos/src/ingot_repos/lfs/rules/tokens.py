"""LFS tokens. In requests for objects they replace the key or credential that the client used before.

A token has no rights of its own. It gives the current access of the key or credential, in one repository.
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
    """The contents of a token. ``level`` is "read" for downloads, and "write" for uploads and locks.

    The token names a key by its ``fingerprint``, or the ``credential`` of an account.
    """

    fingerprint: str
    repository_id: int
    level: Literal["read", "write"]
    expires_at: datetime
    account_id: int = 0
    credential: str = ""


def issue(
    seal: Seal,
    repository_id: int,
    level: Literal["read", "write"],
    *,
    fingerprint: str = "",
    account_id: int = 0,
    credential: str = "",
) -> tuple[str, LfsToken]:
    """Return a new token: its sealed text and its contents."""
    expires_at = (now() + LIFETIME).replace(microsecond=0)
    token = LfsToken(fingerprint, repository_id, level, expires_at, account_id, credential)
    sealed = seal.close(msgspec.json.encode(token).decode())
    return (sealed or b"").decode(), token


def headers_of(text: str) -> dict[str, str]:
    """Return the headers for requests with a token. The gateway merges both headers into one.

    Without ``Authorization``, git-lfs would ask for a password.
    """
    return {"Authorization": f"Lfs {text}", TOKEN_HEADER.title(): text}


def read(seal: Seal, text: str) -> LfsToken:
    """Decode a token. Raises Unauthenticated if it is invalid or expired."""
    try:
        token = msgspec.json.decode(seal.open(text.encode()), type=LfsToken)
    except (Unreadable, msgspec.DecodeError):
        raise Unauthenticated("the token is not valid") from None
    if token.expires_at < now():
        raise Unauthenticated("the token has expired")
    return token
