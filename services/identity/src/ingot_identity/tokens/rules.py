"""Access tokens: 160 random bits in hex, shown once, stored as SHA-256."""

import hashlib
import re
import secrets
from collections.abc import Collection
from datetime import datetime

from ingot_chassis.clock import now
from ingot_chassis.db.database import Database
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Invalid, NotFound
from ingot_chassis.http.policy import MAX_ID
from ingot_chassis.jobs.loops import polls
from ingot_chassis.security.principal import Principal
from ingot_contracts.identity.events import CredentialsRevoked
from ingot_contracts.limits import NAME_CHARACTERS
from ingot_identity.accounts.rules.locks import lock_for_share
from ingot_identity.repositories import store as repositories
from ingot_identity.tokens import store

GROUPS = ("user", "organization", "repository", "issue", "hook", "admin", "misc")
NARROW_GROUPS = ("notification",)
"""Groups that another group includes: ``issue`` includes notifications."""
FOREIGN_GROUPS = ("activitypub", "package", "project")
"""Groups of features that Ingot does not have. Tokens keep them, without effect."""
PUBLIC_ONLY = "public-only"
"""The scope of tokens that have only the access of an anonymous caller."""


def _scopes(*groups: str) -> list[str]:
    return [f"{act}:{group}" for act in ("read", "write") for group in groups]


SCOPES = frozenset(["all", "sudo", *_scopes(*GROUPS, *NARROW_GROUPS)])
TOKEN_SCOPES = SCOPES | {PUBLIC_ONLY, *_scopes(*FOREIGN_GROUPS)}
_SECRET = re.compile(r"[0-9a-f]{40}")


def has_secret_format(text: str) -> bool:
    """True if ``text`` has the format of a token secret."""
    return _SECRET.fullmatch(text) is not None


def digest(secret: str) -> bytes:
    """Return the SHA-256 of a secret. The secret is random, so a slow hash would add no protection."""
    return hashlib.sha256(secret.encode()).digest()


async def named_repositories(
    db: Database, principal: Principal, names: list[str], patience: float
) -> dict[int, str]:
    """Return the current names of the repositories ``names`` (``owner/name``), by id. Raises Invalid.

    Waits at most ``patience`` seconds for events of repositories that were just created. The error does not
    distinguish a missing repository from a repository that ``principal`` may not see.
    """
    by_pair = {_owner_and_name(name): name for name in names}
    if not by_pair:
        raise Invalid.field("repositories", "required", "names no repository")
    missing = ""
    async for _ in polls(patience):
        async with db.read() as reader:
            rows = await repositories.named(reader, list(by_pair), principal)
        if len(rows) == len(by_pair):
            return {row.repository_id: f"{row.login}/{row.name}" for row in rows.values()}
        missing = next(name for pair, name in by_pair.items() if pair not in rows)
    raise Invalid.field("repositories", "unknown", f"{missing!r} is no repository that you can see")


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
    """Create a token. Return its id and secret. Raises Invalid.

    Without ``scopes`` it has all scopes. Without ``repository_ids`` it is not restricted.
    """
    if not name.strip():
        raise Invalid.field("name", "required", "is required")
    if len(name.strip()) > NAME_CHARACTERS:
        raise Invalid.field("name", "length", f"has more than {NAME_CHARACTERS} characters")
    unknown = [scope for scope in scopes if scope not in TOKEN_SCOPES]
    if unknown:
        raise Invalid.field("scopes", "unknown", f"{unknown[0]!r} is no scope")
    if PUBLIC_ONLY in scopes and repository_ids:
        raise Invalid.field("scopes", "conflict", f"{PUBLIC_ONLY} cannot be combined with repositories")
    if expires_at is not None and expires_at <= now():
        raise Invalid.field("expires_at", "past", "has passed already")
    await lock_for_share(tx, account_id)
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


async def find(tx: Tx, account_id: int, text: str) -> int:
    """Return ``text`` as a token id, or the id of the account's token with this name.

    An id is not looked up. Raises NotFound for an unknown name, and Invalid for a name of several tokens.
    """
    if text.isascii() and text.isdigit():
        return int(text) if len(text) < len(str(MAX_ID)) else MAX_ID
    ids = await store.list_ids_by_name(tx, account_id, text, limit=2)
    if not ids:
        raise NotFound
    if len(ids) > 1:
        raise Invalid.field("token", "ambiguous", f"several tokens have the name {text!r}; use the id")
    return ids[0]


async def delete(tx: Tx, account_id: int, token_id: int) -> None:
    """Delete a token of the account, and revoke it in all services. Raises NotFound."""
    if not await store.remove(tx, account_id, token_id):
        raise NotFound
    tx.emit(CredentialsRevoked(user_id=account_id), key=account_id)
