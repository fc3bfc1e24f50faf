"""SQL for branches that writers of another repository may push to: heads of open pull requests."""

from collections.abc import Sequence

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    String,
    Table,
    bindparam,
    delete,
    exists,
    literal,
    select,
)

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery
from ingot_chassis.db.rows import TypedRow
from ingot_chassis.db.tables import BigId
from ingot_chassis.db.transaction import insert
from ingot_repos.catalog.store.tables import metadata, repository

maintainer_edit = Table(
    "maintainer_edit",
    metadata,
    Column("pull_id", BigId, primary_key=True, autoincrement=False),
    Column("head_repository_id", ForeignKey("repository.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("head_branch", String(255), nullable=False),
    Column("base_repository_id", BigInteger, nullable=False),
)


class MaintainerEditRow(TypedRow):
    """A branch, and the repository whose writers may push to it."""

    head_branch: str
    base_repository_id: int


async def save(
    db: Executor, pull_id: int, *, head_repository_id: int, head_branch: str, base_repository_id: int
) -> None:
    """Save a branch, unless its repository is deleted."""
    values = {
        "pull_id": pull_id,
        "head_repository_id": head_repository_id,
        "head_branch": head_branch,
        "base_repository_id": base_repository_id,
    }
    is_there = exists().where(repository.c.id == head_repository_id)
    row = select(*(literal(value, type_=maintainer_edit.c[name].type) for name, value in values.items()))
    statement = insert(db, maintainer_edit).from_select(list(values), row.where(is_there))
    await db.execute(statement.on_conflict_do_nothing())


async def remove(db: Executor, pull_id: int) -> None:
    """Remove the branch of a pull request, if it exists."""
    await db.execute(delete(maintainer_edit).where(maintainer_edit.c.pull_id == pull_id))


_OF_HEAD = PreparedQuery(
    select(maintainer_edit.c.head_branch, maintainer_edit.c.base_repository_id).where(
        maintainer_edit.c.head_repository_id == bindparam("head_repository_id", type_=BigId)
    ),
    MaintainerEditRow,
)


async def of_head(db: Executor, head_repository_id: int) -> Sequence[MaintainerEditRow]:
    """Return the branches of a repository that maintainers may push to, one for each open pull request."""
    return await _OF_HEAD.all(db, head_repository_id=head_repository_id)
