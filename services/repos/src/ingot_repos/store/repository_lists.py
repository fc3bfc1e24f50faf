"""SQL for lists of repositories: each has only what the viewer may see."""

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import ColumnElement, false, select, union

from ingot_chassis.db.arrays import any_of
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import Slice, Walk, backward, fetch_all, fetch_count, walk_to
from ingot_repos.store.repositories import RepositoryRow, Viewer, in_teams, select_joined, visible
from ingot_repos.store.stars_and_watches import Relation
from ingot_repos.store.tables import account, collaboration, repository, team_grant

RepositoryPage = tuple[Sequence[RepositoryRow], int]
"""The repositories of one page, and how many the list has."""


async def fetch_visible(
    db: Executor,
    viewer: Viewer,
    condition: ColumnElement[bool],
    page: Slice,
    *order: Any,
    count_at_most: int | None = None,
    total: int | None = None,
) -> RepositoryPage:
    """A page of the repositories that meet ``condition`` and that the viewer may see.

    The page is cut before grants are joined to it: they would be looked up for every repository that matches. ``total``
    is how many there are, where that is known.
    """
    matching = select(repository.c.id).join(account, account.c.id == repository.c.owner_id)
    matching = matching.where(visible(viewer), condition)
    if total is None:
        total = await fetch_count(db, matching.limit(count_at_most))
    is_exact = count_at_most is None or total < count_at_most
    walk = walk_to(page, total) if is_exact else Walk(page.limit, page.offset, backwards=False)
    ordered = matching.order_by(*(backward(*order) if walk.backwards else order))
    ids = ordered.limit(walk.limit).offset(walk.offset).cte("page")
    statement = select_joined(viewer.id or None, in_teams(viewer))
    statement = statement.where(repository.c.id.in_(select(ids.c.id))).order_by(*order)
    return await fetch_all(db, statement, RepositoryRow), total


async def list_visible_ids(db: Executor, viewer: Viewer, ids: Collection[int]) -> list[int]:
    """Those of these ids whose repositories the viewer may see, in order."""
    statement = select(repository.c.id).join(account, account.c.id == repository.c.owner_id)
    statement = statement.where(any_of(repository.c.id, "ids"), visible(viewer)).order_by(repository.c.id)
    return list((await db.execute(statement, {"ids": list(ids)})).scalars())


async def list_owned(db: Executor, viewer: Viewer, owner_id: int, page: Slice) -> RepositoryPage:
    """Visible repositories of one owner, last changed first."""
    return await fetch_visible(
        db,
        viewer,
        repository.c.owner_id == owner_id,
        page,
        repository.c.updated_at.desc(),
        repository.c.id.desc(),
    )


async def list_granted(db: Executor, viewer: Viewer, team_id: int, page: Slice) -> RepositoryPage:
    """Visible repositories that a team was given, last changed first."""
    ids = select(team_grant.c.repository_id).where(team_grant.c.team_id == team_id)
    return await fetch_visible(
        db,
        viewer,
        repository.c.id.in_(ids),
        page,
        repository.c.updated_at.desc(),
        repository.c.id.desc(),
    )


async def list_accessible(db: Executor, viewer: Viewer, page: Slice) -> RepositoryPage:
    """The viewer's own ones first, then those they can reach by collaboration, teams or an organization of theirs."""
    # A union of what three indexes find; ``accessible`` would be asked about every repository there is.
    ids = union(
        select(repository.c.id).where(repository.c.owner_id.in_([viewer.id, *viewer.entire])),
        select(collaboration.c.repository_id).where(collaboration.c.user_id == viewer.id),
        select(team_grant.c.repository_id).where(team_grant.c.team_id.in_(viewer.teams)),
    )
    return await fetch_visible(
        db,
        viewer,
        repository.c.id.in_(ids),
        page,
        repository.c.owner_id != viewer.id,
        repository.c.updated_at.desc(),
        repository.c.id.desc(),
    )


async def list_forks(db: Executor, viewer: Viewer, repository_id: int, page: Slice) -> RepositoryPage:
    return await fetch_visible(db, viewer, repository.c.fork_of == repository_id, page, repository.c.id)


async def list_related(
    db: Executor, viewer: Viewer, relation: Relation, user_id: int, page: Slice, *, public_only: bool
) -> RepositoryPage:
    """Visible repositories that ``user_id`` starred or watches."""
    columns = relation.table.c
    condition: ColumnElement[bool] = repository.c.id.in_(
        select(columns.repository_id).where(columns.user_id == user_id)
    )
    if public_only:
        condition &= repository.c.private.is_(false())
    return await fetch_visible(db, viewer, condition, page, repository.c.id.desc())
