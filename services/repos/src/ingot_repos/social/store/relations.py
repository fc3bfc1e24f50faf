"""SQL for stars and watches: the rows, and the number of users per repository."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Integer, Table, bindparam, delete, select, update
from sqlalchemy.dialects import postgresql

from ingot_chassis.clock import now
from ingot_chassis.db.arrays import any_of
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedWrite
from ingot_chassis.db.prepared_pages import PreparedPage
from ingot_chassis.db.rows import Slice, TotalRow
from ingot_chassis.db.tables import BigId
from ingot_repos.catalog.store.accounts import UserRow
from ingot_repos.catalog.store.tables import account, repository
from ingot_repos.social.store.tables import star, watch


@dataclass(frozen=True)
class Relation:
    """A table that connects users and repositories.

    ``counter`` is the column of ``repository`` with the number of users.
    """

    table: Table
    counter: str


STARS = Relation(star, "stars_count")
WATCHES = Relation(watch, "watchers_count")


class _ListedUserRow(UserRow, TotalRow):
    """A user in a list."""


def _addition(table: Table) -> PreparedWrite:
    columns = ("repository_id", "user_id", "created_at")
    statement = postgresql.insert(table).values({name: bindparam(name) for name in columns})
    return PreparedWrite(statement.on_conflict_do_nothing())


def _counting(relation: Relation) -> PreparedWrite:
    number, difference = repository.c[relation.counter], bindparam("difference", type_=Integer)
    is_repository = repository.c.id == bindparam("repository_id", type_=BigId)
    return PreparedWrite(update(repository).where(is_repository).values({number: number + difference}))


_COUNT = {relation: _counting(relation) for relation in (STARS, WATCHES)}
_ADD = {relation: _addition(relation.table) for relation in (STARS, WATCHES)}


async def add(tx: Executor, relation: Relation, repository_id: int, user_id: int) -> None:
    """Add a star or watch of a user. Do nothing if it exists."""
    added = await _ADD[relation].run(tx, repository_id=repository_id, user_id=user_id, created_at=now())
    if added:
        await _count(tx, relation, repository_id, 1)


async def remove(tx: Executor, relation: Relation, repository_id: int, user_id: int) -> None:
    columns = relation.table.c
    removed = await tx.execute(
        delete(relation.table).where(columns.repository_id == repository_id, columns.user_id == user_id)
    )
    if removed.rowcount:
        await _count(tx, relation, repository_id, -1)


async def remove_user(tx: Executor, user_id: int) -> None:
    """Remove every star and watch of a user."""
    for relation in (STARS, WATCHES):
        columns, number = relation.table.c, repository.c[relation.counter]
        removed = delete(relation.table).where(columns.user_id == user_id).returning(columns.repository_id)
        ids = list((await tx.execute(removed)).scalars())
        counted = update(repository).where(any_of(repository.c.id, "ids")).values({number: number - 1})
        await tx.execute(counted, {"ids": ids})


async def contains(db: Executor, relation: Relation, repository_id: int, user_id: int) -> bool:
    columns = relation.table.c
    user = await db.execute(
        select(columns.user_id).where(columns.repository_id == repository_id, columns.user_id == user_id)
    )
    return user.scalar() is not None


async def list_watcher_ids(db: Executor, repository_id: int, limit: int) -> list[int]:
    """List ids of users who watch a repository, the oldest watch first."""
    statement = select(watch.c.user_id).where(watch.c.repository_id == repository_id)
    return list((await db.execute(statement.order_by(watch.c.created_at).limit(limit))).scalars())


def _users(relation: Relation) -> PreparedPage[_ListedUserRow]:
    columns, id_ = relation.table.c, bindparam("repository_id", type_=BigId)
    return PreparedPage(
        select(*(account.c[name] for name in UserRow.__annotations__)).select_from(
            relation.table.join(account, account.c.id == columns.user_id)
        ),
        _ListedUserRow,
        columns.created_at,
        columns.user_id,
        ids=select(columns.repository_id, columns.user_id).where(columns.repository_id == id_),
        count=select(repository.c[relation.counter].label("total")).where(repository.c.id == id_),
    )


_USERS = {relation: _users(relation) for relation in (STARS, WATCHES)}


async def list_users(
    db: Executor, relation: Relation, repository_id: int, page: Slice
) -> tuple[Sequence[UserRow], int]:
    """List users who starred or watch a repository, the oldest star or watch first, and the number of all."""
    return await _USERS[relation].read(db, page, repository_id=repository_id)


async def _count(tx: Executor, relation: Relation, repository_id: int, difference: int) -> None:
    """Change the counter of users by a difference. Safe for concurrent transactions."""
    await _COUNT[relation].run(tx, repository_id=repository_id, difference=difference)
