"""SQL for collaborators and for teams with access to a repository."""

from collections.abc import Collection, Sequence

from sqlalchemy import Table, delete, or_, select

from ingot_chassis.clock import now
from ingot_chassis.db.arrays import any_of
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import Slice, TypedRow, fetch_all, fetch_count, fetch_page
from ingot_chassis.db.transaction import insert
from ingot_repos.catalog.store.accounts import AccountRow
from ingot_repos.catalog.store.states import AccountKind
from ingot_repos.catalog.store.tables import account, collaboration, team_grant


class CollaboratorRow(AccountRow):
    """An account with its ``mode`` as a collaborator of the repository."""

    mode: str


async def save(db: Executor, repository_id: int, user_id: int, mode: str | None) -> None:
    """Add a collaborator or set the mode of an existing one.

    Without ``mode``, a new collaborator gets write and an existing one keeps the current mode.
    """
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
    """List active users in ``others``, and active collaborators with one of ``modes``, by login.

    At most 10,000 users are listed.
    """
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


class _IdRow(TypedRow):
    id: int


async def list_ids_with_access(
    db: Executor,
    repository_id: int,
    ids: Collection[int],
    others: Collection[int],
    modes: Collection[str],
) -> list[int]:
    """Return the ids among ``ids`` of active users in ``others`` or collaborators with one of ``modes``."""
    collaborators = select(collaboration.c.user_id).where(
        collaboration.c.repository_id == repository_id, collaboration.c.mode.in_(modes)
    )
    statement = select(account.c.id).where(
        any_of(account.c.id, "ids"),
        account.c.kind == AccountKind.USER,
        account.c.active.is_(True),
        or_(any_of(account.c.id, "others"), account.c.id.in_(collaborators)),
    )
    rows = await fetch_all(db, statement.order_by(account.c.id), _IdRow, ids=list(ids), others=list(others))
    return [row.id for row in rows]


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
    """List accounts of collaborators in the order in which they were added."""
    statement = (
        select(account, collaboration.c.mode)
        .select_from(collaboration.join(account, account.c.id == collaboration.c.user_id))
        .where(collaboration.c.repository_id == repository_id)
    )
    return await fetch_page(db, statement, page, CollaboratorRow, collaboration.c.created_at, account.c.id)


async def grant(db: Executor, repository_id: int, team_id: int) -> None:
    """Give a repository to a team. Do nothing if the team already has it."""
    await db.execute(
        insert(db, team_grant).values(repository_id=repository_id, team_id=team_id).on_conflict_do_nothing()
    )


async def revoke(db: Executor, repository_id: int, team_id: int) -> bool:
    """Take a repository from a team. Return whether the team had it."""
    revoked = await db.execute(
        delete(team_grant).where(team_grant.c.repository_id == repository_id, team_grant.c.team_id == team_id)
    )
    return revoked.rowcount == 1


async def revoke_all(db: Executor, repository_id: int) -> None:
    """Take a repository from every team."""
    await db.execute(delete(team_grant).where(team_grant.c.repository_id == repository_id))


async def count_users(db: Executor, repository_id: int) -> int:
    """Count the collaborators."""
    return await _count(db, collaboration, repository_id)


async def count_teams(db: Executor, repository_id: int) -> int:
    """Count the teams with a grant."""
    return await _count(db, team_grant, repository_id)


async def _count(db: Executor, table: Table, repository_id: int) -> int:
    return await fetch_count(db, select(table).where(table.c.repository_id == repository_id))


async def user_ids(db: Executor, repository_id: int) -> list[int]:
    """Return the user ids of all collaborators of a repository."""
    rows = await db.execute(
        select(collaboration.c.user_id)
        .where(collaboration.c.repository_id == repository_id)
        .order_by(collaboration.c.user_id)
    )
    return list(rows.scalars())


async def team_ids(db: Executor, repository_id: int) -> list[int]:
    """Return the ids of all teams with a grant."""
    rows = await db.execute(
        select(team_grant.c.team_id)
        .where(team_grant.c.repository_id == repository_id)
        .order_by(team_grant.c.team_id)
    )
    return list(rows.scalars())


async def list_granted(db: Executor, team_id: int, repository_ids: Collection[int]) -> list[int]:
    """Return the subset of ``repository_ids`` that was given to the team."""
    rows = await db.execute(
        select(team_grant.c.repository_id).where(
            team_grant.c.team_id == team_id, team_grant.c.repository_id.in_(repository_ids)
        )
    )
    return list(rows.scalars())


async def remove_team(db: Executor, team_id: int) -> list[int]:
    """Remove every grant of a deleted team. Return the ids of its repositories."""
    rows = await db.execute(
        delete(team_grant).where(team_grant.c.team_id == team_id).returning(team_grant.c.repository_id)
    )
    return list(rows.scalars())
