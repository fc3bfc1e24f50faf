"""Access tokens: 160 random bits in hex, shown once, kept as SHA-256."""

import asyncio
import hashlib
import re
import secrets
import time
from collections.abc import Collection
from datetime import datetime

from ingot_chassis.database import Database, Tx
from ingot_chassis.errors import Invalid, NotFound
from ingot_chassis.principal import Principal
from ingot_chassis.tables import now
from ingot_contracts.identity import CredentialsRevoked
from ingot_identity.core.holding import kept
from ingot_identity.store import repositories
from ingot_identity.store import tokens as store

GROUPS = ("user", "organization", "repository", "issue", "hook", "admin", "misc")
SCOPES = frozenset(["all", "sudo", *(f"{act}:{group}" for act in ("read", "write") for group in GROUPS)])
LONGEST_NAME = 255
_SECRET = re.compile(r"[0-9a-f]{40}")


def looks_like_secret(text: str) -> bool:
    """Whether ``text`` has the form of a token's secret."""
    return _SECRET.fullmatch(text) is not None


def digest(secret: str) -> bytes:
    """What is kept of a secret. It is random enough that a slow hash would protect nothing more."""
    return hashlib.sha256(secret.encode()).digest()


async def named_repositories(
    db: Database, who: Principal, names: list[str], patience: float
) -> dict[int, str]:
    """The repositories that ``who`` names as ``owner/name``: id and present name of each. Raises Invalid.

    What is not known here is waited for a moment: it may just have been made. Whether it is not there or not
    for ``who`` to see is told in the same words.
    """
    wanted = {_owner_and_name(name): name for name in names}
    if not wanted:
        raise Invalid.field("repositories", "required", "names no repository")
    end = time.monotonic() + patience
    while True:
        async with db.read() as reader:
            found = await repositories.named(reader, list(wanted), who)
        if len(found) == len(wanted):
            return {row.repository_id: f"{row.login}/{row.name}" for row in found.values()}
        if time.monotonic() >= end:
            missing = next(name for pair, name in wanted.items() if pair not in found)
            raise Invalid.field("repositories", "unknown", f"{missing!r} is no repository that you can see")
        await asyncio.sleep(patience / 20)


def _owner_and_name(full_name: str) -> tuple[str, str]:
    owner, _, name = full_name.lower().partition("/")
    if not owner or not name or "/" in name:
        raise Invalid.field("repositories", "form", f"{full_name!r} is not of the form owner/name")
    return owner, name


async def create(
    tx: Tx,
    account_id: int,
    name: str,
    scopes: list[str],
    expires_at: datetime | None = None,
    repository_ids: Collection[int] = (),
) -> tuple[int, str]:
    """Make a token; its id and secret. No scopes means all, no repositories no restriction. Raises Invalid."""
    if not name.strip():
        raise Invalid.field("name", "required", "is required")
    if len(name.strip()) > LONGEST_NAME:
        raise Invalid.field("name", "length", f"has more than {LONGEST_NAME} characters")
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
        repository_ids,
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
