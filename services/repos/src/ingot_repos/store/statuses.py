"""SQL for commit statuses."""

from typing import Any

from sqlalchemy import Row, func, insert, select, update

from ingot_chassis.database import Executor
from ingot_chassis.paging import Page
from ingot_chassis.tables import now
from ingot_repos.store.tables import account, commit_status, repository

_COLUMNS = (
    commit_status,
    account.c.login,
    account.c.full_name,
    account.c.email,
    account.c.avatar_url,
)


async def add(db: Executor, repository_id: int, sha: str, **values: Any) -> Row[Any] | None:
    """Add a status to a commit; numbers count from 1 per commit."""
    # The row of the repository is held, so that two statuses of one commit get two numbers.
    held = update(repository).where(repository.c.id == repository_id)
    await db.execute(held.values(updated_at=repository.c.updated_at))
    last = await db.execute(
        select(func.coalesce(func.max(commit_status.c.number), 0)).where(_of(repository_id, sha))
    )
    added = await db.execute(
        insert(commit_status)
        .values(
            repository_id=repository_id,
            sha=sha,
            number=int(last.scalar_one()) + 1,
            created_at=now(),
            **values,
        )
        .returning(commit_status.c.id)
    )
    found = await db.execute(_select().where(commit_status.c.id == added.scalar_one()))
    return found.first()


async def list_of(db: Executor, repository_id: int, sha: str, page: Page) -> tuple[list[Row[Any]], int]:
    """Statuses of a commit, newest first."""
    rows = await db.execute(
        _select()
        .where(_of(repository_id, sha))
        .order_by(commit_status.c.number.desc())
        .limit(page.limit)
        .offset(page.offset)
    )
    total = await db.execute(select(func.count()).select_from(commit_status).where(_of(repository_id, sha)))
    return list(rows.all()), int(total.scalar_one())


async def newest_of_each_context(db: Executor, repository_id: int, sha: str) -> list[Row[Any]]:
    newest = (
        select(func.max(commit_status.c.id)).where(_of(repository_id, sha)).group_by(commit_status.c.context)
    )
    rows = await db.execute(
        _select().where(commit_status.c.id.in_(newest)).order_by(commit_status.c.number.desc())
    )
    return list(rows.all())


def _select() -> Any:
    return select(*_COLUMNS).select_from(
        commit_status.outerjoin(account, account.c.id == commit_status.c.creator_id)
    )


def _of(repository_id: int, sha: str) -> Any:
    return (commit_status.c.repository_id == repository_id) & (commit_status.c.sha == sha)
