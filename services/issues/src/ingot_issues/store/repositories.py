"""SQL for what is kept per repository: its counter and the copy of its view."""

from typing import Any

import msgspec
from sqlalchemy import Row, delete, select, update

from ingot_chassis.database import Executor, insert
from ingot_contracts.repos import Permission, Repository
from ingot_issues.store.tables import comment, counter, issue, label, milestone, repository, tracked_time


async def lock(db: Executor, repository_id: int) -> bool:
    """Make every other writer of the repository wait; False when it is deleted.

    Taken first by whatever writes, so that numbers, counts and events of a repository follow its commits.
    """
    statement = (
        insert(db, counter)
        .values(repository_id=repository_id)
        .on_conflict_do_update(index_elements=["repository_id"], set_={"repository_id": repository_id})
        .returning(counter.c.gone)
    )
    return not (await db.execute(statement)).scalar_one()


async def next_number(db: Executor, repository_id: int) -> int:
    """The next number of the repository, for an issue or a pull request."""
    statement = (
        insert(db, counter)
        .values(repository_id=repository_id, last_number=1)
        .on_conflict_do_update(
            index_elements=["repository_id"], set_={"last_number": counter.c.last_number + 1}
        )
        .returning(counter.c.last_number)
    )
    return int((await db.execute(statement)).scalar_one())


async def count_open(db: Executor, repository_id: int, *, issues: int = 0, pulls: int = 0) -> Row[Any]:
    """Add to the numbers of open issues and pull requests; the new ones."""
    statement = (
        update(counter)
        .where(counter.c.repository_id == repository_id)
        .values(open_issues=counter.c.open_issues + issues, open_pulls=counter.c.open_pulls + pulls)
        .returning(counter.c.open_issues, counter.c.open_pulls)
    )
    return (await db.execute(statement)).one()


async def save(db: Executor, view: Repository) -> None:
    """Insert or renew the copy of a repository."""
    values = _values(view)
    statement = insert(db, repository).values(values)
    await db.execute(statement.on_conflict_do_update(index_elements=["id"], set_=values))


async def renew(db: Executor, view: Repository) -> None:
    """Renew the copy of a repository if there is one."""
    await db.execute(update(repository).where(repository.c.id == view.id).values(_values(view)))


async def get(db: Executor, repository_id: int) -> Repository | None:
    found = await db.execute(select(repository.c.view).where(repository.c.id == repository_id))
    view = found.scalar()
    return msgspec.json.decode(view, type=Repository) if view is not None else None


async def fork_of(db: Executor, parent_id: int, owner_id: int) -> int | None:
    """The id of the fork that an account has of a repository."""
    statement = select(repository.c.id).where(
        repository.c.parent_id == parent_id, repository.c.owner_id == owner_id
    )
    return (await db.execute(statement.limit(1))).scalar()


async def remove(db: Executor, repository_id: int) -> None:
    """Remove everything of a repository, and refuse it from now on."""
    await lock(db, repository_id)
    for table in (comment, tracked_time, issue, label, milestone):
        await db.execute(delete(table).where(table.c.repository_id == repository_id))
    await db.execute(delete(repository).where(repository.c.id == repository_id))
    await db.execute(
        update(counter)
        .where(counter.c.repository_id == repository_id)
        .values(gone=True, open_issues=0, open_pulls=0)
    )


def _values(view: Repository) -> dict[str, Any]:
    plain = msgspec.structs.replace(view, permissions=Permission())
    return {
        "id": view.id,
        "parent_id": view.parent.id if view.parent else None,
        "owner_id": view.owner.id,
        "view": msgspec.json.encode(plain),
    }
