"""Uploaded pictures of repositories. ``repository.avatar_digest`` names the content."""

from sqlalchemy import Column, ForeignKey, LargeBinary, String, Table, delete, select

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import TypedRow, fetch_first
from ingot_chassis.db.transaction import insert
from ingot_repos.catalog.store.tables import metadata

avatar = Table(
    "avatar",
    metadata,
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), primary_key=True),
    Column("media_type", String(30), nullable=False),
    Column("content", LargeBinary, nullable=False),
)


class AvatarRow(TypedRow):
    media_type: str
    content: bytes


async def save(db: Executor, repository_id: int, *, media_type: str, content: bytes) -> None:
    """Save the picture of a repository. It replaces the former picture."""
    values = {"media_type": media_type, "content": content}
    statement = insert(db, avatar).values(repository_id=repository_id, **values)
    await db.execute(statement.on_conflict_do_update(index_elements=["repository_id"], set_=values))


async def get(db: Executor, repository_id: int) -> AvatarRow | None:
    """Return the picture of a repository, or None."""
    statement = select(avatar.c.media_type, avatar.c.content).where(avatar.c.repository_id == repository_id)
    return await fetch_first(db, statement, AvatarRow)


async def remove(db: Executor, repository_id: int) -> None:
    """Remove the picture of a repository, if it has one."""
    await db.execute(delete(avatar).where(avatar.c.repository_id == repository_id))
