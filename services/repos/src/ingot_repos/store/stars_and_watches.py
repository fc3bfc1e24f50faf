"""SQL for stars and watches: which user starred or watches which repository, and how many do."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Table, delete, func, select, update

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import Slice, TypedRow, fetch_page
from ingot_chassis.db.transaction import insert
from ingot_repos.store.tables import account, repository, star, watch


@dataclass(frozen=True)
class Relation:
    """A table of users and repositories; ``counter`` is the column of ``repository`` that counts its users."""

    table: Table
    counter: str


STARS = Relation(star, "stars_count")
WATCHES = Relation(watch, "watchers_count")


class UserRow(TypedRow):
    """An account in a list of users."""

    id: int
    login: str
    full_name: str
    email: str
    avatar_url: str


async def add(tx: Executor, relation: Relation, repository_id: int, user_id: int) -> None:
    """Add a user to the stars or watches of a repository; nothing happens when they are there."""
    values = {"repository_id": repository_id, "user_id": user_id, "created_at": now()}
    await tx.execute(insert(tx, relation.table).values(values).on_conflict_do_nothing())
    await _count(tx, relation, repository_id)


async def remove(tx: Executor, relation: Relation, repository_id: int, user_id: int) -> None:
    columns = relation.table.c
    await tx.execute(
        delete(relation.table).where(columns.repository_id == repository_id, columns.user_id == user_id)
    )
    await _count(tx, relation, repository_id)


async def remove_user(tx: Executor, user_id: int) -> None:
    """Remove every star and watch of a user."""
    for relation in (STARS, WATCHES):
        of_user = relation.table.c.user_id == user_id
        count = repository.c[relation.counter]
        ids = select(relation.table.c.repository_id).where(of_user)
        await tx.execute(update(repository).where(repository.c.id.in_(ids)).values({count: count - 1}))
        await tx.execute(delete(relation.table).where(of_user))


async def contains(db: Executor, relation: Relation, repository_id: int, user_id: int) -> bool:
    columns = relation.table.c
    user = await db.execute(
        select(columns.user_id).where(columns.repository_id == repository_id, columns.user_id == user_id)
    )
    return user.scalar() is not None


async def list_watcher_ids(db: Executor, repository_id: int, limit: int) -> list[int]:
    """Who watches a repository, the first one first."""
    statement = select(watch.c.user_id).where(watch.c.repository_id == repository_id)
    return list((await db.execute(statement.order_by(watch.c.created_at).limit(limit))).scalars())


async def list_users(
    db: Executor, relation: Relation, repository_id: int, page: Slice
) -> tuple[Sequence[UserRow], int]:
    """Users who starred or watch a repository, the first one first."""
    columns = relation.table.c
    statement = (
        select(account)
        .select_from(relation.table.join(account, account.c.id == columns.user_id))
        .where(columns.repository_id == repository_id)
        .order_by(columns.created_at, account.c.id)
    )
    return await fetch_page(db, statement, page, UserRow)


async def _count(tx: Executor, relation: Relation, repository_id: int) -> None:
    users = (
        select(func.count())
        .select_from(relation.table)
        .where(relation.table.c.repository_id == repository_id)
        .scalar_subquery()
    )
    await tx.execute(
        update(repository).where(repository.c.id == repository_id).values({relation.counter: users})
    )
