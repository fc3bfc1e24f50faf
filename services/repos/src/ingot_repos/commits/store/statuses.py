"""The table of commit statuses, and its SQL."""

from collections.abc import Collection, Sequence
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    BindParameter,
    Column,
    ColumnElement,
    ForeignKey,
    Integer,
    Select,
    String,
    Table,
    Text,
    UniqueConstraint,
    bindparam,
    func,
    insert,
    select,
)

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared_pages import PreparedPage
from ingot_chassis.db.rows import Slice, TotalRow, TypedRow, fetch_all, fetch_first
from ingot_chassis.db.tables import LASTING_IDS, BigId, UtcDateTime
from ingot_contracts.repos.commits import StatusState
from ingot_repos.catalog.store import repositories
from ingot_repos.catalog.store.tables import account, metadata

commit_status = Table(
    "commit_status",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("repository_id", ForeignKey("repository.id", ondelete="CASCADE"), nullable=False),
    Column("sha", String(40), nullable=False),
    Column("number", Integer, nullable=False),
    Column("state", String(10), nullable=False),
    Column("target_url", Text, nullable=False, default=""),
    Column("description", Text, nullable=False, default=""),
    Column("context", String(255), nullable=False),
    Column("creator_id", BigInteger, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    UniqueConstraint("repository_id", "sha", "number"),
    **LASTING_IDS,
)


class StatusRow(TypedRow):
    """A status and its creator, whose columns are None if the account was deleted."""

    id: int
    repository_id: int
    sha: str
    number: int
    state: StatusState
    target_url: str
    description: str
    context: str
    creator_id: int
    created_at: datetime
    login: str | None
    full_name: str | None
    email: str | None
    avatar_url: str | None
    profile: str | None


class _ListedStatusRow(StatusRow, TotalRow):
    """A status in a page, with the total number."""


_SELECT = select(
    commit_status,
    account.c.login,
    account.c.full_name,
    account.c.email,
    account.c.avatar_url,
    account.c.profile,
).select_from(commit_status.outerjoin(account, account.c.id == commit_status.c.creator_id))


async def add(tx: Executor, repository_id: int, sha: str, **values: Any) -> StatusRow | None:
    """Add a status to a commit and return its row. Its number counts from 1 in each commit."""
    # The lock gives two statuses of one commit different numbers.
    await repositories.lock_for_update(tx, repository_id)
    last = await tx.execute(
        select(func.coalesce(func.max(commit_status.c.number), 0)).where(_of_commit(repository_id, sha))
    )
    added = await tx.execute(
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
    return await fetch_first(tx, _SELECT.where(commit_status.c.id == added.scalar_one()), StatusRow)


async def list_page(
    db: Executor, repository_id: int, sha: str, page: Slice, *, state: StatusState | None, oldest_first: bool
) -> tuple[Sequence[StatusRow], int]:
    """List statuses of a commit, latest first unless ``oldest_first``.

    With ``state``, list only statuses with this state.
    """
    statuses = _of_commit_in_order(oldest_first=oldest_first, in_state=state is not None)
    return await statuses.read(db, page, repository_id=repository_id, sha=sha, state=state)


@cache
def _of_commit_in_order(*, oldest_first: bool, in_state: bool) -> PreparedPage[_ListedStatusRow]:
    of_commit = _of_commit(bindparam("repository_id", type_=BigInteger), bindparam("sha", type_=String))
    number = commit_status.c.number
    ids = select(number).where(of_commit)
    if in_state:
        ids = ids.where(commit_status.c.state == bindparam("state", type_=String))
    order = number if oldest_first else number.desc()
    return PreparedPage(_SELECT.where(of_commit), _ListedStatusRow, order, ids=ids)


async def newest_of_each_context(db: Executor, repository_id: int, sha: str) -> Sequence[StatusRow]:
    newest = (
        select(func.max(commit_status.c.id))
        .where(_of_commit(repository_id, sha))
        .group_by(commit_status.c.context)
    )
    return await fetch_all(db, _newest_first(_SELECT.where(commit_status.c.id.in_(newest))), StatusRow)


class CommitStateRow(TypedRow):
    """The newest state of one or more contexts of a commit."""

    repository_id: int
    sha: str
    state: StatusState


async def newest_states(
    db: Executor, repository_ids: Collection[int], shas: Collection[str]
) -> Sequence[CommitStateRow]:
    """Return the newest states of the contexts of commits with these ids in these repositories.

    Each state of a commit is returned once, however many contexts have it.
    """
    of_each = (commit_status.c.repository_id, commit_status.c.sha, commit_status.c.context)
    newest = (
        select(func.max(commit_status.c.id))
        .where(commit_status.c.repository_id.in_(repository_ids), commit_status.c.sha.in_(shas))
        .group_by(*of_each)
    )
    columns = (commit_status.c.repository_id, commit_status.c.sha, commit_status.c.state)
    return await fetch_all(
        db, select(*columns).distinct().where(commit_status.c.id.in_(newest)), CommitStateRow
    )


def _newest_first(statement: Select[Any]) -> Select[Any]:
    return statement.order_by(commit_status.c.number.desc())


def _of_commit(repository_id: int | BindParameter[int], sha: str | BindParameter[str]) -> ColumnElement[bool]:
    return (commit_status.c.repository_id == repository_id) & (commit_status.c.sha == sha)
