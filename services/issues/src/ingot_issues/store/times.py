"""SQL for tracked times."""

from collections.abc import Collection
from typing import Any

from sqlalchemy import Row, func, select

from ingot_chassis.database import Executor
from ingot_chassis.paging import Page
from ingot_chassis.tables import now
from ingot_issues.store.tables import tracked_time


async def add(db: Executor, *, issue_id: int, repository_id: int, account_id: int, seconds: int) -> Row[Any]:
    values = {
        "issue_id": issue_id,
        "repository_id": repository_id,
        "account_id": account_id,
        "seconds": seconds,
        "created_at": now(),
    }
    return (await db.execute(tracked_time.insert().values(values).returning(tracked_time))).one()


async def get_many(db: Executor, ids: Collection[int]) -> dict[int, Row[Any]]:
    """Those that there are, by id."""
    if not ids:
        return {}
    rows = await db.execute(select(tracked_time).where(tracked_time.c.id.in_(ids)))
    return {row.id: row for row in rows}


async def repositories_of(db: Executor, account_id: int) -> list[int]:
    """The repositories in which a person has tracked time."""
    own = select(tracked_time.c.repository_id).where(tracked_time.c.account_id == account_id)
    return list((await db.execute(own.distinct())).scalars())


async def list_of(
    db: Executor,
    page: Page,
    *,
    issue_id: int | None = None,
    repository_id: int | None = None,
    account_id: int | None = None,
    among: Collection[int] | None = None,
) -> tuple[list[Row[Any]], int]:
    """A page of the times of an issue, a repository or a person, in the order they came; and how many.

    ``among`` are the repositories to which it is limited.
    """
    columns = {"issue_id": issue_id, "repository_id": repository_id, "account_id": account_id}
    where = [tracked_time.c[name] == value for name, value in columns.items() if value is not None]
    if among is not None:
        where.append(tracked_time.c.repository_id.in_(among))
    listed = select(tracked_time).where(*where).order_by(tracked_time.c.id)
    rows = await db.execute(listed.limit(page.limit).offset(page.offset))
    total = await db.execute(select(func.count()).select_from(tracked_time).where(*where))
    return list(rows.all()), int(total.scalar_one())
