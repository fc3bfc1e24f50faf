"""Columns of repositories in SELECT statements, with fallbacks for rows older than a column."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Select, String, and_, bindparam, case, func, literal_column, or_, select, update

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedWrite
from ingot_chassis.db.rows import TypedRow, fetch_all
from ingot_chassis.db.tables import BigId
from ingot_repos.catalog.store.states import RepositoryState
from ingot_repos.catalog.store.tables import ref, repository

BATCH = 100


class UnreadRow(TypedRow):
    id: int
    default_branch: str


def _branches(of: Any) -> Select[Any]:
    """Return a SELECT of the number of branches. ``of`` is the id of the repository, or a column with it."""
    return select(func.count()).where(
        ref.c.repository_id == of, ref.c.name.like(literal_column("'refs/heads/%'"))
    )


_BRANCHES_OF_ROW = _branches(repository.c.id).correlate(repository).scalar_subquery()
# The last change is the nearest time that is known.
_ARCHIVED_AT = func.coalesce(repository.c.archived_at, case((repository.c.archived, repository.c.updated_at)))
_READ = {
    "archived_at": _ARCHIVED_AT,
    "branch_count": func.coalesce(repository.c.branch_count, _BRANCHES_OF_ROW),
    "licenses": func.coalesce(repository.c.licenses, literal_column("'[]'", String)),
}
COLUMNS = [
    _READ[column.name].label(column.name) if column.name in _READ else column for column in repository.c
]
"""Columns of a repository. Branches are counted only if the row has no count."""

_REPOSITORY = bindparam("of", type_=BigId)
_COUNT = PreparedWrite(
    update(repository)
    .where(repository.c.id == _REPOSITORY)
    .values(branch_count=_branches(_REPOSITORY).scalar_subquery())
)


async def count_branches(db: Executor, repository_id: int) -> None:
    """Set ``branch_count`` of a repository to the number of its branches in the ledger."""
    await _COUNT.run(db, of=repository_id)


async def fill(db: Executor, after: int) -> int | None:
    """Fill missing values in at most ``BATCH`` rows with ids above ``after``.

    Return the last id, or None if no row was filled. Licences are read from git instead (see
    `list_without_licenses`). Locked rows are skipped until the next call: waiting for one row while holding
    locks on others could block every writer.
    """
    row = repository.c
    is_older = or_(row.branch_count.is_(None), and_(row.archived, row.archived_at.is_(None)))
    chosen = (
        select(row.id)
        .where(is_older, row.id > after)
        .order_by(row.id)
        .limit(BATCH)
        .with_for_update(skip_locked=True)
        .cte("chosen")
    )
    filled = (
        update(repository)
        .where(row.id.in_(select(chosen.c.id)))
        .values(branch_count=_BRANCHES_OF_ROW, archived_at=_ARCHIVED_AT)
        .returning(row.id)
    )
    return max((await db.execute(filled)).scalars(), default=None)


async def list_without_licenses(db: Executor, shard: str, after: int) -> Sequence[UnreadRow]:
    """Return repositories of a shard with unread licences: at most ``BATCH``, with ids above ``after``."""
    row = repository.c
    is_unread = row.licenses.is_(None), row.shard == shard, row.state == RepositoryState.READY
    statement = select(row.id, row.default_branch).where(*is_unread, row.id > after)
    return await fetch_all(db, statement.order_by(row.id).limit(BATCH), UnreadRow)


async def add_licenses(db: Executor, unread: UnreadRow, licenses: str) -> None:
    """Store the licences, unless a push has stored some or the default branch has changed since the read."""
    row = repository.c
    is_same = row.id == unread.id, row.licenses.is_(None), row.default_branch == unread.default_branch
    await db.execute(update(repository).where(*is_same).values(licenses=licenses))
