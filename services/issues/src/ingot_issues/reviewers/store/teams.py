"""SQL for the copies of requested teams."""

from collections.abc import Collection
from functools import lru_cache

import msgspec
from sqlalchemy import ColumnElement, delete, select, update

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import TypedRow, fetch_all
from ingot_chassis.db.transaction import insert
from ingot_contracts.identity.teams import Team
from ingot_issues.records.store.tables import issue
from ingot_issues.reviewers.store.tables import review, team


class TeamViewRow(TypedRow):
    """The copy of a team, as JSON."""

    view: str


@lru_cache(512)
def team_of(view: str) -> Team:
    """Return the decoded copy of a team. Cached, because many pull requests wait for equal teams."""
    return msgspec.json.decode(view, type=Team)


async def save(db: Executor, copy: Team) -> None:
    """Insert or update the copy of a team."""
    values = {"organization_id": copy.organization_id, "view": msgspec.json.encode(copy).decode()}
    statement = insert(db, team).values(id=copy.id, **values)
    await db.execute(statement.on_conflict_do_update(index_elements=["id"], set_=values))


async def renew(db: Executor, copy: Team) -> None:
    """Update the copy of a team, if a copy exists."""
    view = msgspec.json.encode(copy).decode()
    await db.execute(update(team).where(team.c.id == copy.id).values(view=view))


async def get_many(db: Executor, ids: Collection[int]) -> dict[int, Team]:
    """Return the copies of teams by id."""
    if not ids:
        return {}
    rows = await fetch_all(db, select(team.c.view).where(team.c.id.in_(ids)), TeamViewRow)
    return {copy.id: copy for copy in (team_of(row.view) for row in rows)}


async def lock_existing(db: Executor, ids: Collection[int]) -> set[int]:
    """Lock the copies of these teams until the transaction ends. Return the ids of the copies that exist."""
    statement = select(team.c.id).where(team.c.id.in_(ids)).order_by(team.c.id).with_for_update(read=True)
    return set((await db.execute(statement)).scalars()) if ids else set()


async def remove(db: Executor, team_id: int) -> list[int]:
    """Delete the copy of a team and its requests. Return the ids of affected pull requests."""
    return await _remove(db, team.c.id == team_id)


async def remove_all(db: Executor, organization_id: int) -> list[int]:
    """Delete the copies of an organization's teams, and their requests.

    Return the ids of affected pull requests.
    """
    return await _remove(db, team.c.organization_id == organization_id)


async def _remove(db: Executor, which: ColumnElement[bool]) -> list[int]:
    # Teams first: that waits for transactions that have locked them to add requests.
    ids = list((await db.execute(delete(team).where(which).returning(team.c.id))).scalars())
    return await _withdraw(db, review.c.team_id.in_(ids)) if ids else []


async def withdraw_foreign(db: Executor, repository_id: int, organization_id: int) -> list[int]:
    """Delete requests to teams of other organizations in a repository.

    Return the ids of affected pull requests.
    """
    foreign = select(team.c.id).where(team.c.organization_id != organization_id)
    issue_ids = select(issue.c.id).where(issue.c.repository_id == repository_id)
    return await _withdraw(db, review.c.issue_id.in_(issue_ids), review.c.team_id.in_(foreign))


async def _withdraw(db: Executor, *which: ColumnElement[bool]) -> list[int]:
    statement = delete(review).where(*which).returning(review.c.issue_id)
    return sorted(set((await db.execute(statement)).scalars()))
