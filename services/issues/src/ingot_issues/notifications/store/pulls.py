"""SQL for the pull requests that a check is about."""

from collections.abc import Sequence

from sqlalchemy import select

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import TypedRow, fetch_all
from ingot_issues.records.store.states import State
from ingot_issues.records.store.tables import issue, pull

MOST = 20
"""Maximum number of pull requests with one head whose authors are notified."""


class PullAtRow(TypedRow):
    issue_id: int
    author_id: int


async def list_open_at(db: Executor, repository_id: int, head_sha: str) -> Sequence[PullAtRow]:
    """Return the first open pull requests of a repository with that head, with their authors."""
    statement = (
        select(issue.c.id.label("issue_id"), issue.c.author_id)
        .join(pull, pull.c.issue_id == issue.c.id)
        .where(issue.c.repository_id == repository_id, issue.c.is_pull, issue.c.state == State.OPEN)
        .where(pull.c.head_sha == head_sha)
    )
    return await fetch_all(db, statement.order_by(issue.c.number).limit(MOST), PullAtRow)
