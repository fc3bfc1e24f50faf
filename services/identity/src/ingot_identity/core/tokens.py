"""Access tokens: 160 random bits in hex, shown once, kept as SHA-256."""

import hashlib
import re
import secrets
from datetime import datetime

from ingot_chassis.database import Tx
from ingot_chassis.errors import Invalid, NotFound
from ingot_chassis.tables import now
from ingot_contracts.identity import CredentialsRevoked
from ingot_identity.core.holding import kept
from ingot_identity.store import tokens as store

GROUPS = ("user", "organization", "repository", "issue", "hook", "admin", "misc")
SCOPES = frozenset(["all", "sudo", *(f"{act}:{group}" for act in ("read", "write") for group in GROUPS)])
_SECRET = re.compile(r"[0-9a-f]{40}")


def looks_like_secret(text: str) -> bool:
    """Whether ``text`` has the form of a token's secret."""
    return _SECRET.fullmatch(text) is not None


def digest(secret: str) -> bytes:
    """What is kept of a secret. It is random enough that a slow hash would protect nothing more."""
    return hashlib.sha256(secret.encode()).digest()


async def create(
    tx: Tx, account_id: int, name: str, scopes: list[str], expires_at: datetime | None = None
) -> tuple[int, str]:
    """Make a token; its id and secret. No scopes means all. Raises Invalid."""
    if not name.strip():
        raise Invalid.field("name", "required", "is required")
    unknown = [scope for scope in scopes if scope not in SCOPES]
    if unknown:
        raise Invalid.field("scopes", "unknown", f"{unknown[0]!r} is no scope")
    if expires_at is not None and expires_at <= now():
        raise Invalid.field("expires_at", "past", "has passed already")
    await kept(tx, account_id)
    secret = secrets.token_hex(20)
    token_id = await store.add(
        tx,
        account_id,
        name=name.strip(),
        sha256=digest(secret),
        last_eight=secret[-8:],
        scopes=",".join(scopes or ["all"]),
        expires_at=expires_at,
    )
    return token_id, secret


async def delete(tx: Tx, account_id: int, token_id: int) -> None:
    """Delete one of one's own, effective everywhere at once. Raises NotFound."""
    if not await store.remove(tx, account_id, token_id):
        raise NotFound
    tx.emit(CredentialsRevoked(user_id=account_id), key=account_id)


def use_is_worth_noting(last_used_at: datetime | None) -> bool:
    """Last use is kept to the minute, so that reading does not write each time."""
    return last_used_at is None or now() - last_used_at > store.USED_GRAIN
