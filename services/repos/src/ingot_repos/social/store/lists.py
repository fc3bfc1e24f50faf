"""Lists of the repositories that a user starred or watches."""

from sqlalchemy import ColumnElement, and_, bindparam, false, select

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import Slice
from ingot_chassis.db.tables import BigId
from ingot_repos.catalog.store.lists import RepositoryList, RepositoryPage
from ingot_repos.catalog.store.tables import repository
from ingot_repos.catalog.store.viewers import Viewer
from ingot_repos.social.store.relations import STARS, WATCHES, Relation


def _related(relation: Relation, *conditions: ColumnElement[bool]) -> RepositoryList:
    columns = relation.table.c
    of_user = select(columns.repository_id).where(columns.user_id == bindparam("user_id", type_=BigId))
    return RepositoryList(and_(repository.c.id.in_(of_user), *conditions), repository.c.id.desc())


async def list_related(
    db: Executor, viewer: Viewer, relation: Relation, user_id: int, page: Slice, *, public_only: bool
) -> RepositoryPage:
    """List visible repositories that ``user_id`` starred or watches, the newest repository first.

    ``public_only`` omits private repositories.
    """
    related = _PUBLIC_RELATED if public_only else _RELATED
    return await related[relation].read(db, viewer, page, user_id=user_id)


_RELATED = {relation: _related(relation) for relation in (STARS, WATCHES)}


_PUBLIC_RELATED = {
    relation: _related(relation, repository.c.private.is_(false())) for relation in (STARS, WATCHES)
}
