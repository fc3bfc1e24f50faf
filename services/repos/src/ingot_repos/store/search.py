"""SQL of the search over all repositories. On PostgreSQL ``lower_name`` has a trigram index (pg_trgm)."""

from typing import Literal

import msgspec
from sqlalchemy import ColumnElement, and_, false, or_, select, true

from ingot_chassis.database import Executor
from ingot_chassis.paging import Page
from ingot_repos.store.repositories import RepositoryRow, Viewer, held, page_of
from ingot_repos.store.tables import repository

Mode = Literal["", "fork", "source", "mirror", "collaborative"]
Sort = Literal["alpha", "created", "updated", "size", "git_size", "stars", "forks", "id"]
SORTED_BY = {
    "alpha": repository.c.lower_name,
    "created": repository.c.created_at,
    "updated": repository.c.updated_at,
    "size": repository.c.size,
    "git_size": repository.c.size,
    "stars": repository.c.stars_count,
    "forks": repository.c.forks_count,
    "id": repository.c.id,
}
TRIGRAM = 3


class Search(msgspec.Struct, frozen=True, kw_only=True):
    """What a search asks for.

    ``holder`` is the account of ``uid`` as a viewer: only what it owns or reaches. ``concealed`` are organizations
    through which its reach is not told.
    """

    text: str = ""
    holder: Viewer | None = None
    concealed: list[int] = []
    exclusive: bool = False
    mode: Mode = ""
    sort: Sort = "alpha"
    descending: bool = False


async def search(db: Executor, viewer: Viewer, wanted: Search, page: Page) -> tuple[list[RepositoryRow], int]:
    """The repositories that match and that the viewer may see, and how many there are."""
    column = SORTED_BY[wanted.sort]
    order = (column.desc(), repository.c.id.desc()) if wanted.descending else (column, repository.c.id)
    return await page_of(db, viewer, _condition(wanted), page, *order)


def _condition(wanted: Search) -> ColumnElement[bool]:
    conditions: list[ColumnElement[bool]] = [true()]
    if wanted.text:
        conditions.append(_named(wanted.text))
    if wanted.holder is not None:
        conditions.append(_held_by(wanted.holder, wanted))
    match wanted.mode:
        case "fork":
            conditions.append(repository.c.fork_of.is_not(None))
        case "mirror":
            conditions.append(repository.c.mirror.is_(true()))
        case "source":
            conditions += [repository.c.fork_of.is_(None), repository.c.mirror.is_(false())]
        case "collaborative":
            conditions.append(repository.c.mirror.is_(false()))
    return and_(*conditions)


def _named(text: str) -> ColumnElement[bool]:
    fitting = repository.c.lower_name.contains(text.lower(), autoescape=True)
    if len(text) < TRIGRAM:
        return fitting
    # A subquery that is not flattened: else the planner, which does not know the text of a prepared statement,
    # may walk the names in order and look at each of them.
    ids = (
        select(repository.c.id).where(fitting).cte("named").prefix_with("MATERIALIZED", dialect="postgresql")
    )
    return repository.c.id.in_(select(ids.c.id))


def _held_by(holder: Viewer, wanted: Search) -> ColumnElement[bool]:
    own = repository.c.owner_id == holder.id
    shared = and_(held(holder), ~own)
    if wanted.concealed:
        shared = and_(shared, repository.c.owner_id.not_in(wanted.concealed))
    if wanted.mode == "collaborative":
        return shared
    return own if wanted.exclusive else or_(own, shared)
