"""SQL for networks of forks, and for requests for a new parent. A repository has at most one request."""

from datetime import datetime

from sqlalchemy import delete, or_, select

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import TypedRow, fetch_all, fetch_first
from ingot_chassis.db.transaction import insert
from ingot_repos.catalog.store.tables import reparent, repository


class ReparentRow(TypedRow):
    """A request of ``sender_id`` to make ``parent_id`` the parent of a repository."""

    repository_id: int
    parent_id: int
    sender_id: int
    created_at: datetime


class _LinkRow(TypedRow):
    id: int
    fork_of: int | None


async def list_network(db: Executor, repository_id: int) -> set[int]:
    """Return the ids of all repositories that are related to a repository by forks, including its own id.

    Forks of a deleted parent are included.
    """
    visited, frontier = set[int](), {repository_id}
    members = set[int]()
    while frontier:
        statement = select(repository.c.id, repository.c.fork_of).where(
            or_(repository.c.id.in_(frontier), repository.c.fork_of.in_(frontier))
        )
        rows = await fetch_all(db, statement, _LinkRow)
        visited |= frontier
        members |= {row.id for row in rows}
        frontier = (members | {row.fork_of for row in rows if row.fork_of is not None}) - visited
    return members


async def list_of_owner(db: Executor, network: set[int], owner_id: int) -> list[int]:
    """Return the ids of repositories of an account in a network."""
    statement = select(repository.c.id).where(repository.c.owner_id == owner_id, repository.c.id.in_(network))
    return list((await db.execute(statement.order_by(repository.c.id))).scalars())


async def is_below(db: Executor, repository_id: int, ancestor_id: int) -> bool:
    """True if the repository is a direct or indirect fork of ``ancestor_id``."""
    parent: int | None = repository_id
    while parent is not None:
        statement = select(repository.c.fork_of).where(repository.c.id == parent)
        parent = (await db.execute(statement)).scalar()
        if parent == ancestor_id:
            return True
    return False


async def get_reparent(db: Executor, repository_id: int) -> ReparentRow | None:
    return await fetch_first(
        db, select(reparent).where(reparent.c.repository_id == repository_id), ReparentRow
    )


async def add_reparent(db: Executor, repository_id: int, *, parent_id: int, sender_id: int) -> bool:
    """Record a request for a new parent. Return False if another request is pending."""
    values = {
        "repository_id": repository_id,
        "parent_id": parent_id,
        "sender_id": sender_id,
        "created_at": now(),
    }
    added = await db.execute(insert(db, reparent).values(values).on_conflict_do_nothing())
    return added.rowcount == 1


async def remove_reparent(db: Executor, repository_id: int, parent_id: int | None = None) -> bool:
    """Delete the request for a new parent. Return True if it existed.

    With ``parent_id``, only a request for that parent.
    """
    condition = reparent.c.repository_id == repository_id
    if parent_id is not None:
        condition &= reparent.c.parent_id == parent_id
    return (await db.execute(delete(reparent).where(condition))).rowcount == 1
