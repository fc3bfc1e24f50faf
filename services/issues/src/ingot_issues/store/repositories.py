"""SQL for what is kept per repository: its counter and the copy of its view."""

from collections.abc import Collection
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Integer, bindparam, delete, select, update
from sqlalchemy.dialects import postgresql

from ingot_chassis.change import Change
from ingot_chassis.database import Executor, insert
from ingot_chassis.lookup import Lookup
from ingot_chassis.tables import BigId
from ingot_contracts.repos import Permission, Repository
from ingot_issues.store import comments
from ingot_issues.store.tables import counter, issue, label, milestone, repository, tracked_time


def plain(repository: Repository) -> Repository:
    """As events, branches and copies carry it: without what only the caller may do or know."""
    return msgspec.structs.replace(
        repository,
        permissions=Permission(),
        parent=None,
        original_url="",
        mirror_interval="",
        mirror_updated=None,
    )


async def lock(db: Executor, repository_id: int) -> bool:
    """Make every other writer of the repository wait; False when it is deleted.

    Taken first by whatever writes, so that numbers, counts and events of a repository follow its commits.
    """
    found = await _LOCK.first(db, repository=repository_id)
    if found is None:
        await db.execute(insert(db, counter).values(repository_id=repository_id).on_conflict_do_nothing())
        found = await _LOCK.first(db, repository=repository_id)
    return found is not None and not found.gone


_OWN = counter.c.repository_id == bindparam("repository", type_=BigId)
_LOCK = Lookup(select(counter.c.gone).where(_OWN).with_for_update())


async def next_number(db: Executor, repository_id: int, *, is_pull: bool) -> int | None:
    """The next number of the repository, for an issue or pull request that is open; None when it is deleted.

    Makes every other writer of the repository wait, as ``lock`` does.
    """
    numbered = await _NEXT_NUMBER[is_pull].first(db, repository=repository_id)
    return numbered.last_number if numbered is not None else None


def _next_number(opened: str) -> Change:
    return Change(
        postgresql.insert(counter)
        .values(repository_id=bindparam("repository", type_=BigId), last_number=1, untold=True, **{opened: 1})
        .on_conflict_do_update(
            index_elements=["repository_id"],
            set_={
                "last_number": counter.c.last_number + 1,
                "untold": True,
                opened: counter.c[opened] + 1,
            },
            where=counter.c.gone.is_(False),
        )
        .returning(counter.c.last_number)
    )


_NEXT_NUMBER = {
    is_pull: _next_number("open_pulls" if is_pull else "open_issues") for is_pull in (False, True)
}


async def count_open(db: Executor, repository_id: int, more: int, *, is_pull: bool) -> None:
    """Add to the number of open issues or pull requests."""
    await _COUNT_OPEN[is_pull].run(db, repository=repository_id, more=more)


def _count_open(opened: str) -> Change:
    more = bindparam("more", type_=Integer)
    return Change(update(counter).where(_OWN).values({opened: counter.c[opened] + more, "untold": True}))


_COUNT_OPEN = {is_pull: _count_open("open_pulls" if is_pull else "open_issues") for is_pull in (False, True)}


class Counted(NamedTuple):
    """How many are open."""

    repository_id: int
    open_issues: int
    open_pulls: int


async def list_untold(db: Executor, limit: int) -> list[int]:
    """Repositories whose counts changed and were not told yet."""
    return list((await db.execute(_UNTOLD.limit(limit))).scalars())


async def take_untold(db: Executor, repository_id: int) -> Counted | None:
    """The counts of a repository, to be told by this transaction; None when another one tells them."""
    row = (await db.execute(_TAKE_UNTOLD, {"repository": repository_id})).first()
    return Counted._make(row) if row is not None else None


_UNTOLD = select(counter.c.repository_id).where(counter.c.untold)
_TAKE_UNTOLD = (
    update(counter)
    .where(_OWN, counter.c.untold)
    .values(untold=False)
    .returning(counter.c.repository_id, counter.c.open_issues, counter.c.open_pulls)
)


async def save(db: Executor, view: Repository) -> None:
    """Insert or renew the copy of a repository."""
    values = _values(view)
    statement = insert(db, repository).values(values)
    await db.execute(statement.on_conflict_do_update(index_elements=["id"], set_=values))


async def add_missing(db: Executor, view: Repository) -> None:
    """Insert a copy of a repository, unless there is one: that is only looked at, and waited for by nobody."""
    if (await db.execute(select(repository.c.id).where(repository.c.id == view.id))).first() is None:
        await db.execute(insert(db, repository).values(_values(view)).on_conflict_do_nothing())


async def renew(db: Executor, view: Repository) -> None:
    """Renew the copy of a repository if there is one."""
    await db.execute(update(repository).where(repository.c.id == view.id).values(_values(view)))


async def get(db: Executor, repository_id: int) -> Repository | None:
    found = await db.execute(select(repository.c.view).where(repository.c.id == repository_id))
    view = found.scalar()
    return msgspec.json.decode(view, type=Repository) if view is not None else None


async def get_many(db: Executor, ids: Collection[int]) -> dict[int, Repository]:
    """The copies that there are of these repositories, by id."""
    if not ids:
        return {}
    found = await db.execute(select(repository.c.view).where(repository.c.id.in_(ids)))
    views = [msgspec.json.decode(view, type=Repository) for view in found.scalars()]
    return {view.id: view for view in views}


async def fork_of(db: Executor, parent_id: int, owner_id: int) -> int | None:
    """The id of the fork that an account has of a repository."""
    statement = select(repository.c.id).where(
        repository.c.parent_id == parent_id, repository.c.owner_id == owner_id
    )
    return (await db.execute(statement.limit(1))).scalar()


async def remove(db: Executor, repository_id: int) -> None:
    """Remove everything of a repository, and refuse it from now on."""
    await lock(db, repository_id)
    await comments.remove_all(db, repository_id)
    for table in (tracked_time, issue, label, milestone):
        await db.execute(delete(table).where(table.c.repository_id == repository_id))
    await db.execute(delete(repository).where(repository.c.id == repository_id))
    await db.execute(
        update(counter)
        .where(counter.c.repository_id == repository_id)
        .values(gone=True, open_issues=0, open_pulls=0, untold=False)
    )


def _values(view: Repository) -> dict[str, Any]:
    """The columns to write. Not every view tells the parent, so what is known of it stays."""
    values = {"id": view.id, "owner_id": view.owner.id, "view": msgspec.json.encode(plain(view))}
    return values | {"parent_id": view.parent.id} if view.parent else values
