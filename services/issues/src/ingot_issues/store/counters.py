"""SQL for the counter of a repository: the lock of everything that writes to it, and how many issues are open.

The numbers of issues come from the same row; ``issues.add`` takes them.
"""

from sqlalchemy import Integer, bindparam, select, update

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery, PreparedWrite
from ingot_chassis.db.rows import TypedRow, fetch_first
from ingot_chassis.db.tables import BigId
from ingot_chassis.db.transaction import Tx, insert
from ingot_issues.store.tables import counter


class DeletionRow(TypedRow):
    """Whether the repository of a counter is deleted."""

    gone: bool


class OpenCountsRow(TypedRow):
    """How many issues and pull requests of a repository are open."""

    repository_id: int
    open_issues: int
    open_pulls: int


_OF_REPOSITORY = counter.c.repository_id == bindparam("repository", type_=BigId)
_LOCK = PreparedQuery(select(counter.c.gone).where(_OF_REPOSITORY).with_for_update(), DeletionRow)


async def lock(tx: Tx, repository_id: int) -> bool:
    """Make every other writer of the repository wait; False when the repository is deleted.

    Every transaction that writes to a repository begins with this lock. So numbers, counts and events of a repository
    have the order of its commits.
    """
    if repository_id in tx.locked:
        return True
    row = await _LOCK.first(tx, repository=repository_id)
    if row is None:
        await tx.execute(insert(tx, counter).values(repository_id=repository_id).on_conflict_do_nothing())
        row = await _LOCK.first(tx, repository=repository_id)
    if row is None or row.gone:
        return False
    tx.locked.add(repository_id)
    return True


def _count_open(opened: str) -> PreparedWrite:
    difference = bindparam("difference", type_=Integer)
    return PreparedWrite(
        update(counter).where(_OF_REPOSITORY).values({opened: counter.c[opened] + difference, "untold": True})
    )


_COUNT_OPEN = {is_pull: _count_open("open_pulls" if is_pull else "open_issues") for is_pull in (False, True)}


async def count_open(db: Executor, repository_id: int, difference: int, *, is_pull: bool) -> None:
    """Add to the number of open issues, or of open pull requests."""
    await _COUNT_OPEN[is_pull].run(db, repository=repository_id, difference=difference)


async def count_deleted(db: Executor, repository_id: int) -> None:
    """Count that an issue is deleted. Its number is not used again."""
    statement = update(counter).where(counter.c.repository_id == repository_id)
    await db.execute(statement.values(deleted_issues=counter.c.deleted_issues + 1))


_CHANGED = select(counter.c.repository_id).where(counter.c.untold)


async def list_changed(db: Executor, limit: int) -> list[int]:
    """Repositories whose counts have changed since they were announced last."""
    return list((await db.execute(_CHANGED.limit(limit))).scalars())


_TAKE_CHANGED = (
    update(counter)
    .where(_OF_REPOSITORY, counter.c.untold)
    .values(untold=False)
    .returning(counter.c.repository_id, counter.c.open_issues, counter.c.open_pulls)
)


async def take_changed(db: Executor, repository_id: int) -> OpenCountsRow | None:
    """The counts of a repository, for this transaction to announce; None when another transaction announces them."""
    return await fetch_first(db, _TAKE_CHANGED, OpenCountsRow, repository=repository_id)


async def close(tx: Tx, repository_id: int) -> None:
    """Refuse the repository from now on."""
    tx.locked.discard(repository_id)
    await tx.execute(
        update(counter)
        .where(counter.c.repository_id == repository_id)
        .values(gone=True, open_issues=0, open_pulls=0, untold=False)
    )
