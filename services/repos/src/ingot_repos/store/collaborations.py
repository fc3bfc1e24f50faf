"""SQL for collaborators and team grants."""

from typing import Any

from sqlalchemy import Row, delete, func, select

from ingot_chassis.database import Executor, insert
from ingot_chassis.paging import Page
from ingot_chassis.tables import now
from ingot_repos.store.tables import account, collaboration, team_grant


async def put(db: Executor, repository_id: int, user_id: int, mode: str | None) -> None:
    """Add a collaborator (write unless told), or change the mode of one when it is given."""
    values = {
        "repository_id": repository_id,
        "user_id": user_id,
        "mode": mode or "write",
        "created_at": now(),
    }
    statement = insert(db, collaboration).values(values)
    if mode is None:
        await db.execute(statement.on_conflict_do_nothing())
    else:
        await db.execute(
            statement.on_conflict_do_update(index_elements=["repository_id", "user_id"], set_={"mode": mode})
        )


async def is_collaborator(db: Executor, repository_id: int, user_id: int) -> bool:
    found = await db.execute(
        select(collaboration.c.mode).where(
            collaboration.c.repository_id == repository_id, collaboration.c.user_id == user_id
        )
    )
    return found.first() is not None


async def remove(db: Executor, repository_id: int, user_id: int) -> bool:
    removed = await db.execute(
        delete(collaboration).where(
            collaboration.c.repository_id == repository_id, collaboration.c.user_id == user_id
        )
    )
    return removed.rowcount == 1


async def list_accounts(db: Executor, repository_id: int, page: Page) -> tuple[list[Row[Any]], int]:
    """Accounts of the collaborators, in the order of their addition."""
    mine = collaboration.c.repository_id == repository_id
    source = collaboration.join(account, account.c.id == collaboration.c.user_id)
    rows = await db.execute(
        select(account)
        .select_from(source)
        .where(mine)
        .order_by(collaboration.c.created_at, account.c.id)
        .limit(page.limit)
        .offset(page.offset)
    )
    total = await db.execute(select(func.count()).select_from(source).where(mine))
    return list(rows.all()), int(total.scalar_one())


async def grant(db: Executor, repository_id: int, team_id: int) -> None:
    """Give a repository to a team; nothing happens when it has it."""
    await db.execute(
        insert(db, team_grant).values(repository_id=repository_id, team_id=team_id).on_conflict_do_nothing()
    )


async def revoke(db: Executor, repository_id: int, team_id: int) -> bool:
    """Take a repository from a team; whether it had it."""
    revoked = await db.execute(
        delete(team_grant).where(team_grant.c.repository_id == repository_id, team_grant.c.team_id == team_id)
    )
    return revoked.rowcount == 1


async def revoke_all(db: Executor, repository_id: int) -> None:
    """Take a repository from every team."""
    await db.execute(delete(team_grant).where(team_grant.c.repository_id == repository_id))


async def user_ids(db: Executor, repository_id: int) -> list[int]:
    """All collaborators."""
    rows = await db.execute(
        select(collaboration.c.user_id)
        .where(collaboration.c.repository_id == repository_id)
        .order_by(collaboration.c.user_id)
    )
    return [row.user_id for row in rows]


async def team_ids(db: Executor, repository_id: int) -> list[int]:
    """All teams that were given the repository."""
    rows = await db.execute(
        select(team_grant.c.team_id)
        .where(team_grant.c.repository_id == repository_id)
        .order_by(team_grant.c.team_id)
    )
    return [row.team_id for row in rows]


async def forget_team(db: Executor, team_id: int) -> list[int]:
    """Drop every grant of a deleted team; the repositories it had."""
    rows = await db.execute(
        delete(team_grant).where(team_grant.c.team_id == team_id).returning(team_grant.c.repository_id)
    )
    return [row.repository_id for row in rows]
