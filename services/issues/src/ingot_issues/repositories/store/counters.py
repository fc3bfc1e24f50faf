"""SQL for the counter of a repository: its lock, the numbers of issues, and counts of open issues.

``take_number`` takes the number of a new issue from the same row.
"""

from sqlalchemy import Integer, bindparam, select, update
from sqlalchemy.dialects import postgresql

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery, PreparedWrite
from ingot_chassis.db.rows import TypedRow, fetch_first
from ingot_chassis.db.tables import BigId
from ingot_chassis.db.transaction import Tx, insert
from ingot_issues.repositories.store.tables import counter


class DeletionRow(TypedRow):
    """The counter of a repository. ``gone`` is True if the repository is deleted."""

    gone: bool


class OpenCountsRow(TypedRow):
    """The numbers of open issues and pull requests of a repository."""

    repository_id: int
    open_issues: int
    open_pulls: int


_OF_REPOSITORY = counter.c.repository_id == bindparam("repository", type_=BigId)
_LOCK = PreparedQuery(select(counter.c.gone).where(_OF_REPOSITORY).with_for_update(), DeletionRow)


async def lock(tx: Tx, repository_id: int) -> bool:
    """Block other writers of the repository until the transaction ends. Return False if it is deleted.

    Every transaction that writes to a repository begins with this lock. So its numbers, counts and events
    have the order of commits.
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


async def raise_number(db: Executor, repository_id: int, number: int) -> None:
    """Make the next issue number of a repository larger than ``number``."""
    is_lower = counter.c.repository_id == repository_id, counter.c.last_number < number
    await db.execute(update(counter).where(*is_lower).values(last_number=number))


async def count_deleted(db: Executor, repository_id: int) -> None:
    """Count a deleted issue. Its number is not reused."""
    statement = update(counter).where(counter.c.repository_id == repository_id)
    await db.execute(statement.values(deleted_issues=counter.c.deleted_issues + 1))


_CHANGED = select(counter.c.repository_id).where(counter.c.untold)


async def list_changed(db: Executor, limit: int) -> list[int]:
    """Return the ids of repositories whose counts have changed since their last announcement."""
    return list((await db.execute(_CHANGED.limit(limit))).scalars())


_TAKE_CHANGED = (
    update(counter)
    .where(_OF_REPOSITORY, counter.c.untold)
    .values(untold=False)
    .returning(counter.c.repository_id, counter.c.open_issues, counter.c.open_pulls)
)


async def take_changed(db: Executor, repository_id: int) -> OpenCountsRow | None:
    """Mark the changed counts of a repository as announced, and return them.

    Return None if the counts have not changed, or if another transaction announces them.
    """
    return await fetch_first(db, _TAKE_CHANGED, OpenCountsRow, repository=repository_id)


async def close(tx: Tx, repository_id: int) -> None:
    """Reject later writes to the repository."""
    tx.locked.discard(repository_id)
    await tx.execute(
        update(counter)
        .where(counter.c.repository_id == repository_id)
        .values(gone=True, open_issues=0, open_pulls=0, untold=False)
    )


class NumberRow(TypedRow):
    """The number of the latest issue of a repository."""

    last_number: int


def _take_number(open_column: str) -> PreparedWrite:
    return PreparedWrite(
        postgresql.insert(counter)
        .values(
            repository_id=bindparam("repository", type_=BigId),
            last_number=1,
            untold=True,
            **{open_column: 1},
        )
        .on_conflict_do_update(
            index_elements=["repository_id"],
            set_={
                "last_number": counter.c.last_number + 1,
                "untold": True,
                open_column: counter.c[open_column] + 1,
            },
            where=counter.c.gone.is_(False),
        )
        .returning(counter.c.last_number)
    )


_TAKE_NUMBER = {False: _take_number("open_issues"), True: _take_number("open_pulls")}


async def take_number(db: Executor, repository_id: int, *, is_pull: bool) -> int | None:
    """Return the number of a new open issue or pull request, and count it. None for a deleted repository.

    Blocks other writers of the repository, like ``counters.lock``.
    """
    row = await _TAKE_NUMBER[is_pull].first(db, NumberRow, repository=repository_id)
    return row.last_number if row is not None else None
