"""Tokens of SCIM clients: 256 random bits, shown once, stored as SHA-256. Each is for one source."""

import re
import secrets

from ingot_chassis.db.database import Database
from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Conflict, Denied, Invalid, NotFound, Unauthenticated
from ingot_identity.authentication.rules.use_times import is_outdated
from ingot_identity.scim.store import tokens as store
from ingot_identity.scim.store.tables import ScimTokenRow
from ingot_identity.sources.store import sources
from ingot_identity.sources.store.tables import SourceRow
from ingot_identity.tokens.rules import digest

MOST_TOKENS = 10
"""Maximum number of tokens of one source."""
_BEARER = re.compile(r"bearer +(scim_[0-9a-f]{64})", re.IGNORECASE)


async def create(tx: Tx, source_id: int, name: str) -> tuple[ScimTokenRow, str]:
    """Create a token. Return its row and its secret. Raises Invalid, Conflict, NotFound."""
    if not name.strip():
        raise Invalid.field("name", "required", "is required")
    await tx.advisory_lock(f"scim source {source_id}")
    if await store.count(tx, source_id) >= MOST_TOKENS:
        raise Conflict(f"the source has {MOST_TOKENS} tokens; delete one that is not used")
    secret = f"scim_{secrets.token_hex(32)}"
    token_id = await store.add(tx, source_id, name.strip(), digest(secret))
    row = await store.get_of_source(tx, source_id, token_id)
    if row is None:
        raise NotFound
    return row, secret


async def source_of(db: Database, authorization: str) -> SourceRow:
    """Return the source of the token in the header. Raises Unauthenticated, Denied."""
    match = _BEARER.fullmatch(authorization.strip())
    async with db.read() as reader:
        row = await store.get(reader, digest(match[1])) if match else None
        source = await sources.get(reader, row.source_id) if row else None
    if row is None or source is None:
        raise Unauthenticated(
            "send a token of the source as: Authorization: Bearer scim_…",
            headers={"WWW-Authenticate": 'Bearer realm="SCIM"'},
        )
    if not source.enabled:
        raise Denied("the source of this token is disabled")
    if is_outdated(row.last_used_at):
        async with db.transaction() as tx:
            await store.mark_used(tx, row.id)
    return source
