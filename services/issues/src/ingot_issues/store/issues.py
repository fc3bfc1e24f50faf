"""SQL for issues. What is shown around them is in ``surroundings``, lists are in ``searches``."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Integer, Row, Select, bindparam, delete, select, update

from ingot_chassis.change import Change
from ingot_chassis.database import Executor, insert
from ingot_chassis.lookup import Lookup
from ingot_chassis.tables import BigId, now
from ingot_issues.store.surroundings import NEW, WHOLE, Whole, newly
from ingot_issues.store.tables import assignee, issue, issue_label, pull

IssueRow = Any
"""A row of ``_issues``, or a `Whole`."""


def _issues() -> Select[Any]:
    """Issues, each with its pull request if it is one."""
    pull_columns = [column for column in pull.c if column.name not in ("id", "issue_id")]
    return select(issue, pull.c.id.label("pull_id"), *pull_columns).outerjoin(
        pull, pull.c.issue_id == issue.c.id
    )


_GIVEN = (
    *("repository_id", "number", "is_pull", "author_id", "title", "body", "state", "milestone_id"),
    *("due_date", "created_at", "updated_at"),
)
_ADD = Change(issue.insert().values({name: bindparam(name) for name in _GIVEN}).returning(*NEW))
_NUMBERED = (
    issue.c.repository_id == bindparam("repository_id", type_=BigId),
    issue.c.number == bindparam("number", type_=BigId),
)
_BY_NUMBER, _WHOLE_BY_NUMBER = _issues().where(*_NUMBERED), Lookup(WHOLE.where(*_NUMBERED))
_BY_ID = _issues().where(issue.c.id == bindparam("issue_id", type_=BigId))
_WHOLE_BY_ID = Lookup(WHOLE.where(issue.c.id == bindparam("issue_id", type_=BigId)))
_CHANGE = update(issue).where(issue.c.id == bindparam("issue_id", type_=BigId))
_COUNT_COMMENTS = _CHANGE.values(
    comments=issue.c.comments + bindparam("more", type_=Integer), updated_at=bindparam("updated_at")
)


async def add(db: Executor, **values: Any) -> IssueRow:
    """Insert an issue; its row, with nothing around it but its author."""
    moment = now()
    values |= {"created_at": moment, "updated_at": moment}
    return newly(await _ADD.first(db, **values, author=values["author_id"]), values)


async def get(db: Executor, repository_id: int, number: int) -> IssueRow | None:
    return (await db.execute(_BY_NUMBER, {"repository_id": repository_id, "number": number})).first()


async def get_by_id(db: Executor, issue_id: int) -> IssueRow | None:
    return (await db.execute(_BY_ID, {"issue_id": issue_id})).first()


async def get_whole(db: Executor, repository_id: int, number: int) -> IssueRow | None:
    """With its surroundings."""
    row = await _WHOLE_BY_NUMBER.first(db, repository_id=repository_id, number=number, viewer=0)
    return Whole(*row) if row is not None else None


async def get_whole_by_id(db: Executor, issue_id: int, viewer: int = 0) -> IssueRow | None:
    """With its surroundings, and with the account ``viewer`` among them."""
    row = await _WHOLE_BY_ID.first(db, issue_id=issue_id, viewer=viewer)
    return Whole(*row) if row is not None else None


async def list_whole(db: Executor, ids: Sequence[int]) -> list[IssueRow]:
    """With their surroundings, in no order."""
    if not ids:
        return []
    return [Whole(*row) for row in await db.execute(WHOLE.where(issue.c.id.in_(ids)))]


async def list_open(db: Executor, ids: Sequence[int]) -> list[IssueRow]:
    """Those of them that are open."""
    listed = _issues().where(issue.c.id.in_(ids), issue.c.state == "open").order_by(issue.c.id)
    return list((await db.execute(listed)).all())


async def close(db: Executor, issue_id: int) -> Row[Any] | None:
    """Close it; its milestone, or None when it was closed before."""
    values = {"state": "closed", "closed_at": now(), "updated_at": now()}
    closing = update(issue).where(issue.c.id == issue_id, issue.c.state == "open").values(values)
    return (await db.execute(closing.returning(issue.c.milestone_id))).first()


async def change(db: Executor, issue_id: int, **values: Any) -> None:
    """Update an issue, and when it was last updated."""
    await db.execute(_CHANGE, {"issue_id": issue_id, "updated_at": now(), **values})


async def count_comments(db: Executor, issue_id: int, more: int) -> None:
    await db.execute(_COUNT_COMMENTS, {"issue_id": issue_id, "updated_at": now(), "more": more})


async def set_assignees(db: Executor, issue_id: int, account_ids: Sequence[int]) -> None:
    await db.execute(delete(assignee).where(assignee.c.issue_id == issue_id))
    if account_ids:
        rows = [
            {"issue_id": issue_id, "account_id": account_id, "position": position}
            for position, account_id in enumerate(dict.fromkeys(account_ids))
        ]
        await db.execute(assignee.insert(), rows)


async def assignees_of(db: Executor, issue_id: int) -> list[int]:
    statement = select(assignee.c.account_id).where(assignee.c.issue_id == issue_id)
    return list((await db.execute(statement.order_by(assignee.c.position))).scalars())


async def add_labels(db: Executor, issue_id: int, label_ids: Sequence[int]) -> list[int]:
    """Put labels on an issue; those that were not on it."""
    if not label_ids:
        return []
    rows = [{"issue_id": issue_id, "label_id": label_id} for label_id in label_ids]
    statement = insert(db, issue_label).values(rows).on_conflict_do_nothing()
    return list((await db.execute(statement.returning(issue_label.c.label_id))).scalars())


async def remove_labels(db: Executor, issue_id: int, label_ids: Sequence[int] | None = None) -> list[int]:
    """Take labels, or all, off an issue; those that were on it."""
    statement = delete(issue_label).where(issue_label.c.issue_id == issue_id)
    if label_ids is not None:
        statement = statement.where(issue_label.c.label_id.in_(label_ids))
    return list((await db.execute(statement.returning(issue_label.c.label_id))).scalars())
