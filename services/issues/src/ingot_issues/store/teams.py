"""SQL for the copies of teams that are asked for reviews."""

from collections.abc import Collection

import msgspec
from sqlalchemy import delete, select

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import TypedRow, fetch_all
from ingot_chassis.db.transaction import insert
from ingot_contracts.identity import Team
from ingot_issues.store.tables import issue, review, team


class TeamViewRow(TypedRow):
    """The copy of a team, as JSON."""

    view: str


def team_of(view: str) -> Team:
    return msgspec.json.decode(view, type=Team)


async def save(db: Executor, copy: Team) -> None:
    """Insert or renew the copy of a team."""
    values = {"organization_id": copy.organization_id, "view": msgspec.json.encode(copy).decode()}
    statement = insert(db, team).values(id=copy.id, **values)
    await db.execute(statement.on_conflict_do_update(index_elements=["id"], set_=values))


async def get_many(db: Executor, ids: Collection[int]) -> dict[int, Team]:
    """The teams of these ids, by id."""
    if not ids:
        return {}
    rows = await fetch_all(db, select(team.c.view).where(team.c.id.in_(ids)), TeamViewRow)
    return {copy.id: copy for copy in (team_of(row.view) for row in rows)}


async def remove(db: Executor, team_id: int) -> None:
    """Delete the copy of a team, and its requests of reviews."""
    await db.execute(delete(review).where(review.c.team_id == team_id))
    await db.execute(delete(team).where(team.c.id == team_id))


async def remove_all(db: Executor, organization_id: int) -> None:
    """Delete the copies of the teams of an organization, and their requests of reviews."""
    of_organization = select(team.c.id).where(team.c.organization_id == organization_id)
    await db.execute(delete(review).where(review.c.team_id.in_(of_organization)))
    await db.execute(delete(team).where(team.c.organization_id == organization_id))


async def withdraw_foreign(db: Executor, repository_id: int, organization_id: int) -> None:
    """Delete the requests to teams that are not of this organization from the pull requests of a repository."""
    foreign = select(team.c.id).where(team.c.organization_id != organization_id)
    issue_ids = select(issue.c.id).where(issue.c.repository_id == repository_id)
    await db.execute(
        delete(review).where(
            review.c.issue_id.in_(issue_ids),
            review.c.team_id.in_(foreign),
        )
    )
