"""SQL for the pull requests that a check is about."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, and_, literal_column, or_, select

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import TypedRow, fetch_all, fetch_first
from ingot_issues.records.store.states import State
from ingot_issues.records.store.tables import issue, pull

MOST = 20
"""Maximum number of pull requests with one head whose authors are notified."""


class PullAtRow(TypedRow):
    issue_id: int
    author_id: int


class HeadRow(TypedRow):
    head_tip: str
    head_sha: str


async def list_open_at(db: Executor, repository_id: int, head_sha: str) -> Sequence[PullAtRow]:
    """Return at most MOST open pull requests of a repository with that head, with their authors.

    The last pushed head counts, even if it is not compared yet. Authors that are placeholders are omitted.
    """
    # Checks can fail before the comparison with the pushed head.
    empty: ColumnElement[str] = literal_column("''")  # written out: an index leaves it out
    has_head = or_(
        and_(pull.c.head_tip == head_sha, pull.c.head_tip != empty),
        and_(pull.c.head_tip == empty, pull.c.head_sha == head_sha),
    )
    statement = (
        select(issue.c.id.label("issue_id"), issue.c.author_id)
        .join(pull, pull.c.issue_id == issue.c.id)
        .where(issue.c.repository_id == repository_id, issue.c.is_pull, issue.c.state == State.OPEN)
        .where(has_head, issue.c.author_id > 0)
    )
    return await fetch_all(db, statement.order_by(issue.c.number).limit(MOST), PullAtRow)


async def get_head(db: Executor, issue_id: int) -> str:
    """Return the last pushed head of a pull request, even if it is not compared yet.

    Empty if the pull request does not exist.
    """
    statement = select(pull.c.head_tip, pull.c.head_sha).where(pull.c.issue_id == issue_id)
    row = await fetch_first(db, statement, HeadRow)
    return (row.head_tip or row.head_sha) if row is not None else ""
