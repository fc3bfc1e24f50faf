"""SQL for the branches of open pull requests."""

from typing import NamedTuple

from sqlalchemy import (
    select,
)

from ingot_chassis.db.driver import Executor
from ingot_issues.records.store.states import State
from ingot_issues.records.store.tables import issue, pull


class Branches(NamedTuple):
    """The branches of a pull request: name of the base, and repository and name of the head."""

    base_branch: str
    head_repository_id: int
    head_branch: str


async def get_open_duplicate(db: Executor, repository_id: int, branches: Branches) -> int | None:
    """Return the number of the open pull request between these branches, or None."""
    statement = (
        select(issue.c.number)
        .join(pull, pull.c.issue_id == issue.c.id)
        .where(
            issue.c.repository_id == repository_id,
            issue.c.state == State.OPEN,
            pull.c.base_branch == branches.base_branch,
            pull.c.head_repository_id == branches.head_repository_id,
            pull.c.head_branch == branches.head_branch,
        )
    )
    return (await db.execute(statement.limit(1))).scalar()
