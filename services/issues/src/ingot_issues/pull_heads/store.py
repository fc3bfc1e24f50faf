"""SQL for the visibility of pull request heads in repos."""

from collections.abc import Sequence

from sqlalchemy import Boolean, bindparam, select, update

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedWrite
from ingot_chassis.db.rows import TypedRow, fetch_all
from ingot_chassis.db.tables import BigId
from ingot_issues.records.store.states import State
from ingot_issues.records.store.tables import issue, pull


class HeadRow(TypedRow):
    """A pull request with the fields that decide if its head is visible. ``id`` is the id of the issue."""

    id: int
    repository_id: int
    number: int
    author_id: int
    state: State
    merged: bool
    head_hidden: bool


async def list_page(db: Executor, before: int, limit: int) -> Sequence[HeadRow]:
    """Return pull requests whose issues have ids below ``before``, the latest first."""
    statement = (
        select(
            *(issue.c[name] for name in ("id", "repository_id", "number", "author_id", "state")),
            pull.c.merged,
            pull.c.head_hidden,
        )
        .join(pull, pull.c.issue_id == issue.c.id)
        .where(issue.c.id < before, pull.c.issue_id < before)
        .order_by(pull.c.issue_id.desc())
        .limit(limit)
    )
    return await fetch_all(db, statement, HeadRow)


_RECORD = PreparedWrite(
    update(pull)
    .where(pull.c.id == bindparam("pull", type_=BigId))
    .values(head_hidden=bindparam("hidden", type_=Boolean))
)


async def record(db: Executor, pull_id: int, *, hidden: bool) -> None:
    """Record whether repos hides the head."""
    await _RECORD.run(db, pull=pull_id, hidden=hidden)
