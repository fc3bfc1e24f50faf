"""The table with the numbers of repositories, and its SQL.

Triggers write it (migration 0030), so lists do not have to count repositories.
"""

from functools import cache

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    String,
    Table,
    and_,
    bindparam,
    cast,
    false,
    func,
    literal_column,
    not_,
    select,
    true,
    union,
)

from ingot_chassis.db import noted_counts
from ingot_chassis.db.arrays import any_of
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery
from ingot_chassis.db.rows import TotalRow
from ingot_chassis.db.tables import LASTING_IDS, BigId
from ingot_chassis.db.transaction import Tx
from ingot_repos.catalog.store.tables import account, collaboration, metadata, repository, team_grant
from ingot_repos.catalog.store.viewers import LIMITED, PUBLIC, Viewer, ViewerKind, visible

repository_count = Table(
    "repository_count",
    metadata,
    # Several rows of one kind, whose sum counts. With one row, all creations would wait for its lock.
    Column("id", BigId, primary_key=True, autoincrement=True),
    # Of the owner.
    Column("visibility", String(10), nullable=False),
    Column("private", Boolean, nullable=False),
    Column("number", BigInteger, nullable=False),
    **LASTING_IDS,
)


_LOCK = "recount repositories"
_NONE: ColumnElement[int] = literal_column("0", BigInteger)


async def count_visible(db: Executor, viewer: Viewer) -> int:
    """Return the number of repositories that the viewer may see.

    Repositories that every viewer of this kind may see are counted in the table. Other repositories that the
    viewer may see are counted row by row.
    """
    row = await _visible_count(viewer.kind).first(db, **viewer.values())
    return max(0, row.total) if row is not None else 0


@cache
def _visible_count(viewer: ViewerKind) -> PreparedQuery[TotalRow]:
    kind = repository_count.c
    of_kind = true() if _sees_all(viewer) else _is_open(viewer, kind.private, kind.visibility)
    total = select(func.coalesce(func.sum(kind.number), _NONE)).where(of_kind).scalar_subquery()
    return PreparedQuery(select((cast(total, BigInteger) + _more(viewer)).label("total")), TotalRow)


def _sees_all(viewer: ViewerKind) -> bool:
    return viewer.admin and not viewer.restricted


def _is_open(
    viewer: ViewerKind, private: ColumnElement[bool], visibility: ColumnElement[str]
) -> ColumnElement[bool]:
    """Return the condition for repositories that every viewer of this kind may see, without any grant."""
    if viewer.granted_only:
        return false()
    public_only = not viewer.signed_in or viewer.restricted
    return and_(private.is_(False), visibility.in_([PUBLIC] if public_only else [PUBLIC, LIMITED]))


def _more(viewer: ViewerKind) -> ColumnElement[int]:
    """Return an expression: the number of repositories that the viewer may see only by a grant.

    A grant is a membership, a collaboration, a team or the list of a restricted token. Three indexes find
    them.
    """
    if _sees_all(viewer) or not viewer.signed_in:
        return _NONE
    reached: ColumnElement[bool] = any_of(repository.c.id, "viewer_repositories")
    if not viewer.restricted or viewer.public_only:
        of_viewer = collaboration.c.user_id == bindparam("viewer_id", type_=BigId)
        ids = union(
            select(repository.c.id).where(any_of(repository.c.owner_id, "viewer_inside")),
            select(collaboration.c.repository_id).where(of_viewer),
            select(team_grant.c.repository_id).where(any_of(team_grant.c.team_id, "viewer_teams")),
        )
        reached = repository.c.id.in_(ids)
    is_open = _is_open(viewer, repository.c.private, account.c.visibility)
    counted = select(func.count()).select_from(
        repository.join(account, account.c.id == repository.c.owner_id)
    )
    return counted.where(reached, visible(viewer), not_(is_open)).scalar_subquery()


async def add_up(tx: Tx) -> int:
    """Merge the rows that the triggers wrote. See `noted_counts.add_up` for the result."""
    return await noted_counts.add_up(tx, repository_count, lock=_LOCK)


async def recount(tx: Tx) -> None:
    """Count all repositories again, and write one row for each kind.

    The counts of the triggers may be wrong by one: a change of an owner's visibility and the creation of a
    repository do not wait for each other.
    """
    kind = (account.c.visibility, repository.c.private)
    counted = select(*kind, func.count()).join_from(
        repository, account, account.c.id == repository.c.owner_id
    )
    counted = counted.where(repository.c.state != "creating").group_by(*kind)
    await noted_counts.recount(tx, repository_count, counted, lock=_LOCK)
