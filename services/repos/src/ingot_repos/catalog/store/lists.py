"""SQL for lists of repositories that the viewer may see."""

from collections.abc import Collection, Sequence
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, bindparam, select, union

from ingot_chassis.db.arrays import any_of
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery
from ingot_chassis.db.prepared_pages import PreparedPage
from ingot_chassis.db.rows import Slice, TotalRow, TypedRow
from ingot_chassis.db.tables import BigId
from ingot_repos.catalog.store.repositories import RepositoryRow, select_joined
from ingot_repos.catalog.store.tables import account, collaboration, repository, team_grant
from ingot_repos.catalog.store.viewers import Viewer, ViewerKind, visible

RepositoryPage = tuple[Sequence[RepositoryRow], int]
"""The repositories of one page, and the number of repositories in the list."""


class _CountedRow(RepositoryRow, TotalRow):
    """A row of a list, with the number of repositories in the list."""


class _IdRow(TypedRow):
    id: int


class RepositoryList:
    """An ordered list of repositories that meet a condition. Viewers get only what they may see.

    Values are parameters. So statements are built once for each kind of viewer, because building costs more
    than running.
    """

    def __init__(self, condition: ColumnElement[bool], *order: Any, count_at_most: int | None = None) -> None:
        self._condition, self._order, self._count_at_most = condition, order, count_at_most
        self._pages: dict[ViewerKind, PreparedPage[_CountedRow]] = {}

    async def read(
        self, db: Executor, viewer: Viewer, page: Slice, *, total: int | None = None, **values: Any
    ) -> RepositoryPage:
        """Return a page of repositories and their number. A given ``total`` is not counted again."""
        values |= viewer.values()
        return await self._page_for(viewer.kind).read(db, page, total, **values)

    def _page_for(self, kind: ViewerKind) -> PreparedPage[_CountedRow]:
        """Return a query that limits the rows to the page before it joins grants.

        Otherwise the query would read the grants of all matches.
        """
        if kind not in self._pages:
            ids = select(repository.c.id).join(account, account.c.id == repository.c.owner_id)
            ids = ids.where(visible(kind), self._condition)
            self._pages[kind] = PreparedPage(
                select_joined(kind), _CountedRow, *self._order, ids=ids, count_at_most=self._count_at_most
            )
        return self._pages[kind]


async def list_visible_ids(db: Executor, viewer: Viewer, ids: Collection[int]) -> list[int]:
    """Return the sorted ids of repositories among ``ids`` that the viewer may see."""
    return [row.id for row in await _visible_ids(viewer.kind).all(db, ids=list(ids), **viewer.values())]


@cache
def _visible_ids(kind: ViewerKind) -> PreparedQuery[_IdRow]:
    statement = select(repository.c.id).join(account, account.c.id == repository.c.owner_id)
    statement = statement.where(any_of(repository.c.id, "ids"), visible(kind))
    return PreparedQuery(statement.order_by(repository.c.id), _IdRow)


_LAST_CHANGED = (repository.c.updated_at.desc(), repository.c.id.desc())
_OWNED = RepositoryList(repository.c.owner_id == bindparam("owner_id", type_=BigId), *_LAST_CHANGED)


async def list_owned(db: Executor, viewer: Viewer, owner_id: int, page: Slice) -> RepositoryPage:
    """List visible repositories of one owner, last changed first."""
    return await _OWNED.read(db, viewer, page, owner_id=owner_id)


_GRANTED = RepositoryList(
    repository.c.id.in_(
        select(team_grant.c.repository_id).where(team_grant.c.team_id == bindparam("team_id", type_=BigId))
    ),
    *_LAST_CHANGED,
)


async def list_granted(db: Executor, viewer: Viewer, team_id: int, page: Slice) -> RepositoryPage:
    """List visible repositories that were given to a team, last changed first."""
    return await _GRANTED.read(db, viewer, page, team_id=team_id)


_VIEWER = bindparam("viewer_id", type_=BigId)
_ACCESSIBLE = RepositoryList(
    # A union of what three indexes find; ``accessible`` would be asked about every repository there is.
    repository.c.id.in_(
        union(
            select(repository.c.id).where(any_of(repository.c.owner_id, "viewer_entire")),
            select(collaboration.c.repository_id).where(collaboration.c.user_id == _VIEWER),
            select(team_grant.c.repository_id).where(any_of(team_grant.c.team_id, "viewer_teams")),
        )
    ),
    repository.c.owner_id != _VIEWER,
    *_LAST_CHANGED,
)


async def list_accessible(db: Executor, viewer: Viewer, page: Slice) -> RepositoryPage:
    """List the viewer's own repositories, then repositories shared with the viewer.

    In both groups the last changed repository comes first. Public access alone does not count.
    """
    return await _ACCESSIBLE.read(db, viewer, page)


_FORKS = RepositoryList(repository.c.fork_of == bindparam("parent_id", type_=BigId), repository.c.id)


async def list_forks(db: Executor, viewer: Viewer, repository_id: int, page: Slice) -> RepositoryPage:
    return await _FORKS.read(db, viewer, page, parent_id=repository_id)
