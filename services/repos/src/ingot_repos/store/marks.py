"""SQL for stars and watches: who marked which repository, and how many did."""

from typing import Any, Literal

from sqlalchemy import Row, Table, delete, func, select, update

from ingot_chassis.database import Executor, insert
from ingot_chassis.paging import Page
from ingot_chassis.tables import now
from ingot_repos.store.tables import account, repository, star, watch

Mark = Literal["star", "watch"]
TABLES: dict[Mark, Table] = {"star": star, "watch": watch}
COUNTERS: dict[Mark, str] = {"star": "stars_count", "watch": "watchers_count"}


async def put(db: Executor, mark: Mark, repository_id: int, user_id: int) -> None:
    """Mark a repository; nothing happens when it is."""
    marks = TABLES[mark]
    values = {"repository_id": repository_id, "user_id": user_id, "created_at": now()}
    await db.execute(insert(db, marks).values(values).on_conflict_do_nothing())
    await _count(db, mark, repository_id)


async def remove(db: Executor, mark: Mark, repository_id: int, user_id: int) -> None:
    marks = TABLES[mark]
    await db.execute(delete(marks).where(marks.c.repository_id == repository_id, marks.c.user_id == user_id))
    await _count(db, mark, repository_id)


async def remove_all(db: Executor, user_id: int) -> None:
    """Take back what a user marked."""
    for mark, marks in TABLES.items():
        mine = marks.c.user_id == user_id
        count = repository.c[COUNTERS[mark]]
        marked = repository.c.id.in_(select(marks.c.repository_id).where(mine))
        await db.execute(update(repository).where(marked).values({count: count - 1}))
        await db.execute(delete(marks).where(mine))


async def is_put(db: Executor, mark: Mark, repository_id: int, user_id: int) -> bool:
    marks = TABLES[mark]
    found = await db.execute(
        select(marks.c.user_id).where(marks.c.repository_id == repository_id, marks.c.user_id == user_id)
    )
    return found.first() is not None


async def list_accounts(
    db: Executor, mark: Mark, repository_id: int, page: Page
) -> tuple[list[Row[Any]], int]:
    """Accounts that marked a repository, in the order in which they did."""
    marks = TABLES[mark]
    source = marks.join(account, account.c.id == marks.c.user_id)
    mine = marks.c.repository_id == repository_id
    rows = await db.execute(
        select(account)
        .select_from(source)
        .where(mine)
        .order_by(marks.c.created_at, account.c.id)
        .limit(page.limit)
        .offset(page.offset)
    )
    total = await db.execute(select(func.count()).select_from(source).where(mine))
    return list(rows.all()), int(total.scalar_one())


async def _count(db: Executor, mark: Mark, repository_id: int) -> None:
    marks = TABLES[mark]
    counted = (
        select(func.count())
        .select_from(marks)
        .where(marks.c.repository_id == repository_id)
        .scalar_subquery()
    )
    await db.execute(
        update(repository).where(repository.c.id == repository_id).values({COUNTERS[mark]: counted})
    )
