"""SQL for collaborators of repositories, and for the teams that were given one."""

from collections.abc import Collection, Sequence

from sqlalchemy import Table, delete, or_, select

from ingot_chassis.clock import now
from ingot_chassis.db.arrays import any_of
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import Slice, fetch_all, fetch_count, fetch_page
from ingot_chassis.db.transaction import insert
from ingot_repos.store.accounts import AccountRow
from ingot_repos.store.states import AccountKind
from ingot_repos.store.tables import account, collaboration, team_grant


class CollaboratorRow(AccountRow):
    """``mode`` is what was given to them here."""

    mode: str


async def save(db: Executor, repository_id: int, user_id: int, mode: str | None) -> None:
    """Add a collaborator (write without ``mode``), or change the mode of one who is there to ``mode``."""
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
    mode = await db.execute(
        select(collaboration.c.mode).where(
            collaboration.c.repository_id == repository_id, collaboration.c.user_id == user_id
        )
    )
    return mode.scalar() is not None


async def list_with_access(
    db: Executor, repository_id: int, others: Collection[int], modes: Collection[str]
) -> Sequence[AccountRow]:
    """Users among ``others``, and collaborators with one of ``modes``; by login, 10,000 at most."""
    collaborators = select(collaboration.c.user_id).where(
        collaboration.c.repository_id == repository_id, collaboration.c.mode.in_(modes)
    )
    statement = select(account).where(
        account.c.kind == AccountKind.USER,
        account.c.active.is_(True),
        or_(any_of(account.c.id, "others"), account.c.id.in_(collaborators)),
    )
    statement = statement.order_by(account.c.lower_login).limit(10_000)
    return await fetch_all(db, statement, AccountRow, others=list(others))


async def remove(db: Executor, repository_id: int, user_id: int) -> bool:
    removed = await db.execute(
        delete(collaboration).where(
            collaboration.c.repository_id == repository_id, collaboration.c.user_id == user_id
        )
    )
    return removed.rowcount == 1


async def list_accounts(
    db: Executor, repository_id: int, page: Slice
) -> tuple[Sequence[CollaboratorRow], int]:
    """Accounts of the collaborators, in the order of their addition."""
    statement = (
        select(account, collaboration.c.mode)
        .select_from(collaboration.join(account, account.c.id == collaboration.c.user_id))
        .where(collaboration.c.repository_id == repository_id)
    )
    return await fetch_page(db, statement, page, CollaboratorRow, collaboration.c.created_at, account.c.id)


async def grant(db: Executor, repository_id: int, team_id: int) -> None:
    """Give a repository to a team; nothing happens when the team has it."""
    await db.execute(
        insert(db, team_grant).values(repository_id=repository_id, team_id=team_id).on_conflict_do_nothing()
    )


async def revoke(db: Executor, repository_id: int, team_id: int) -> bool:
    """Take a repository from a team; whether the team had it."""
    revoked = await db.execute(
        delete(team_grant).where(team_grant.c.repository_id == repository_id, team_grant.c.team_id == team_id)
    )
    return revoked.rowcount == 1


async def revoke_all(db: Executor, repository_id: int) -> None:
    """Take a repository from every team."""
    await db.execute(delete(team_grant).where(team_grant.c.repository_id == repository_id))


async def count_users(db: Executor, repository_id: int) -> int:
    """How many collaborators there are."""
    return await _count(db, collaboration, repository_id)


async def count_teams(db: Executor, repository_id: int) -> int:
    """How many teams were given the repository."""
    return await _count(db, team_grant, repository_id)


async def _count(db: Executor, table: Table, repository_id: int) -> int:
    return await fetch_count(db, select(table).where(table.c.repository_id == repository_id))


async def user_ids(db: Executor, repository_id: int) -> list[int]:
    """All collaborators."""
    rows = await db.execute(
        select(collaboration.c.user_id)
        .where(collaboration.c.repository_id == repository_id)
        .order_by(collaboration.c.user_id)
    )
    return list(rows.scalars())


async def team_ids(db: Executor, repository_id: int) -> list[int]:
    """All teams that were given the repository."""
    rows = await db.execute(
        select(team_grant.c.team_id)
        .where(team_grant.c.repository_id == repository_id)
        .order_by(team_grant.c.team_id)
    )
    return list(rows.scalars())


async def list_granted(db: Executor, team_id: int, repository_ids: Collection[int]) -> list[int]:
    """Those of these repositories that were given to the team."""
    rows = await db.execute(
        select(team_grant.c.repository_id).where(
            team_grant.c.team_id == team_id, team_grant.c.repository_id.in_(repository_ids)
        )
    )
    return list(rows.scalars())


async def remove_team(db: Executor, team_id: int) -> list[int]:
    """Remove every grant of a deleted team; the ids of the repositories that it had."""
    rows = await db.execute(
        delete(team_grant).where(team_grant.c.team_id == team_id).returning(team_grant.c.repository_id)
    )
    return list(rows.scalars())
