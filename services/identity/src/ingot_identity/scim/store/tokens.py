"""SQL for the tokens of SCIM clients."""

from collections.abc import Sequence

from sqlalchemy import delete, func, insert, select, update

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import Slice, fetch_first, fetch_page
from ingot_identity.scim.store.tables import ScimTokenRow, scim_token


async def add(db: Executor, source_id: int, name: str, sha256: bytes) -> int:
    """Insert a token. Return its id."""
    values = {"source_id": source_id, "name": name, "sha256": sha256, "created_at": now()}
    return int((await db.execute(insert(scim_token).values(values).returning(scim_token.c.id))).scalar_one())


async def count(db: Executor, source_id: int) -> int:
    statement = select(func.count()).select_from(scim_token).where(scim_token.c.source_id == source_id)
    return int((await db.execute(statement)).scalar_one())


async def get(db: Executor, sha256: bytes) -> ScimTokenRow | None:
    return await fetch_first(db, select(scim_token).where(scim_token.c.sha256 == sha256), ScimTokenRow)


async def get_of_source(db: Executor, source_id: int, token_id: int) -> ScimTokenRow | None:
    statement = select(scim_token).where(scim_token.c.id == token_id, scim_token.c.source_id == source_id)
    return await fetch_first(db, statement, ScimTokenRow)


async def list_page(db: Executor, source_id: int, page: Slice) -> tuple[Sequence[ScimTokenRow], int]:
    """Return a page of the tokens of a source, latest first."""
    statement = select(scim_token).where(scim_token.c.source_id == source_id)
    return await fetch_page(db, statement, page, ScimTokenRow, scim_token.c.id.desc())


async def mark_used(db: Executor, token_id: int) -> None:
    await db.execute(update(scim_token).where(scim_token.c.id == token_id).values(last_used_at=now()))


async def remove(db: Executor, source_id: int, token_id: int) -> bool:
    """Delete a token. Return False if the source has no such token."""
    statement = delete(scim_token).where(scim_token.c.id == token_id, scim_token.c.source_id == source_id)
    return (await db.execute(statement)).rowcount == 1
