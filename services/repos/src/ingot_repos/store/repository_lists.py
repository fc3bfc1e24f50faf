"""SQL for lists of repositories: each has only what the viewer may see."""

from collections.abc import Collection, Sequence
from functools import cache, cached_property
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Integer,
    Select,
    and_,
    bindparam,
    false,
    func,
    literal_column,
    select,
    union,
)

from ingot_chassis.db.arrays import any_of
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery
from ingot_chassis.db.rows import NEAR, Slice, TotalRow, TypedRow, Walk, backward, walk_to
from ingot_chassis.db.tables import BigId
from ingot_repos.store.repositories import RepositoryRow, select_joined
from ingot_repos.store.stars_and_watches import STARS, WATCHES, Relation
from ingot_repos.store.tables import account, collaboration, repository, team_grant
from ingot_repos.store.viewers import Viewer, ViewerKind, visible

RepositoryPage = tuple[Sequence[RepositoryRow], int]
"""The repositories of one page, and how many the list has."""


class _CountedRow(RepositoryRow):
    """A repository of a list, and how many the list has."""

    total: int


class _IdRow(TypedRow):
    id: int


class RepositoryList:
    """The repositories that meet a condition, in an order; each viewer gets what they may see.

    Values are parameters, so that statements are built once for each kind of viewer: that costs more than running them.
    """

    def __init__(self, condition: ColumnElement[bool], *order: Any, count_at_most: int | None = None) -> None:
        self._condition, self._order, self._count_at_most = condition, order, count_at_most
        self._statements: dict[ViewerKind, _Statements] = {}

    async def read(
        self, db: Executor, viewer: Viewer, page: Slice, *, total: int | None = None, **values: Any
    ) -> RepositoryPage:
        """The repositories of ``page``, and how many there are: ``total``, where that is known."""
        statements = self._statements_for(viewer.kind)
        values |= viewer.values()
        if total is None and page.offset < NEAR:
            rows = await statements.near.all(db, limit=page.limit, offset=page.offset, **values)
            if rows or not page.offset:
                return rows, rows[0].total if rows else 0
        if total is None:
            counted = await statements.count.first(db, **values)
            total = counted.total if counted is not None else 0
        is_exact = self._count_at_most is None or total < self._count_at_most
        walk = walk_to(page, total) if is_exact else Walk(page.limit, page.offset, backwards=False)
        if not walk.limit:
            return [], total
        query = statements.backwards if walk.backwards else statements.forwards
        return await query.all(db, limit=walk.limit, offset=walk.offset, **values), total

    def _statements_for(self, kind: ViewerKind) -> "_Statements":
        if kind not in self._statements:
            self._statements[kind] = _Statements(kind, self._condition, self._order, self._count_at_most)
        return self._statements[kind]


class _Statements:
    """The statements of a list for one kind of viewer."""

    def __init__(
        self, kind: ViewerKind, condition: ColumnElement[bool], order: Any, count_at_most: int | None
    ) -> None:
        matching = select(repository.c.id).join(account, account.c.id == repository.c.owner_id)
        self._kind, self._matching = kind, matching.where(visible(kind), condition)
        self._order, self._count_at_most = order, count_at_most

    @cached_property
    def near(self) -> PreparedQuery[_CountedRow]:
        """A page near the beginning; each row also has the total."""
        total = self._counting().scalar_subquery().label("total")
        return PreparedQuery(self._page(*self._order).add_columns(total), _CountedRow)

    @cached_property
    def count(self) -> PreparedQuery[TotalRow]:
        return PreparedQuery(self._counting(), TotalRow)

    @cached_property
    def forwards(self) -> PreparedQuery[RepositoryRow]:
        return PreparedQuery(self._page(*self._order), RepositoryRow)

    @cached_property
    def backwards(self) -> PreparedQuery[RepositoryRow]:
        """A page that is counted from the end of the list."""
        return PreparedQuery(self._page(*backward(*self._order)), RepositoryRow)

    def _counting(self) -> Select[Any]:
        most = None if self._count_at_most is None else literal_column(str(self._count_at_most), Integer)
        return select(func.count().label("total")).select_from(self._matching.limit(most).subquery())

    def _page(self, *order: Any) -> Select[Any]:
        """The page is cut before grants are joined to it: they would be looked up for every repository that matches."""
        limit, offset = bindparam("limit", type_=Integer), bindparam("offset", type_=BigId)
        ids = self._matching.order_by(*order).limit(limit).offset(offset).cte("page")
        joined = select_joined(self._kind).where(repository.c.id.in_(select(ids.c.id)))
        return joined.order_by(*self._order)


async def list_visible_ids(db: Executor, viewer: Viewer, ids: Collection[int]) -> list[int]:
    """Those of these ids whose repositories the viewer may see, in order."""
    return [row.id for row in await _visible_ids(viewer.kind).all(db, ids=list(ids), **viewer.values())]


@cache
def _visible_ids(kind: ViewerKind) -> PreparedQuery[_IdRow]:
    statement = select(repository.c.id).join(account, account.c.id == repository.c.owner_id)
    statement = statement.where(any_of(repository.c.id, "ids"), visible(kind))
    return PreparedQuery(statement.order_by(repository.c.id), _IdRow)


_LAST_CHANGED = (repository.c.updated_at.desc(), repository.c.id.desc())
_OWNED = RepositoryList(repository.c.owner_id == bindparam("owner_id", type_=BigId), *_LAST_CHANGED)


async def list_owned(db: Executor, viewer: Viewer, owner_id: int, page: Slice) -> RepositoryPage:
    """Visible repositories of one owner, last changed first."""
    return await _OWNED.read(db, viewer, page, owner_id=owner_id)


_GRANTED = RepositoryList(
    repository.c.id.in_(
        select(team_grant.c.repository_id).where(team_grant.c.team_id == bindparam("team_id", type_=BigId))
    ),
    *_LAST_CHANGED,
)


async def list_granted(db: Executor, viewer: Viewer, team_id: int, page: Slice) -> RepositoryPage:
    """Visible repositories that a team was given, last changed first."""
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
    """The viewer's own ones first, then those they can reach by collaboration, teams or an organization of theirs."""
    return await _ACCESSIBLE.read(db, viewer, page)


_FORKS = RepositoryList(repository.c.fork_of == bindparam("parent_id", type_=BigId), repository.c.id)


async def list_forks(db: Executor, viewer: Viewer, repository_id: int, page: Slice) -> RepositoryPage:
    return await _FORKS.read(db, viewer, page, parent_id=repository_id)


def _related(relation: Relation, *conditions: ColumnElement[bool]) -> RepositoryList:
    columns = relation.table.c
    of_user = select(columns.repository_id).where(columns.user_id == bindparam("user_id", type_=BigId))
    return RepositoryList(and_(repository.c.id.in_(of_user), *conditions), repository.c.id.desc())


_RELATED = {relation: _related(relation) for relation in (STARS, WATCHES)}
_PUBLIC_RELATED = {
    relation: _related(relation, repository.c.private.is_(false())) for relation in (STARS, WATCHES)
}


async def list_related(
    db: Executor, viewer: Viewer, relation: Relation, user_id: int, page: Slice, *, public_only: bool
) -> RepositoryPage:
    """Visible repositories that ``user_id`` starred or watches."""
    related = _PUBLIC_RELATED if public_only else _RELATED
    return await related[relation].read(db, viewer, page, user_id=user_id)
