"""SQL for comments. Kind 0 is what people write; the other kinds say what happened to the issue."""

from datetime import datetime
from typing import Any

from sqlalchemy import Row, delete, func, select, update

from ingot_chassis.database import Executor
from ingot_chassis.paging import Page
from ingot_chassis.tables import now
from ingot_issues.store.tables import comment, issue

CommentRow = Row[Any]
PLAIN, REOPENED, CLOSED, TIME_ADDED = 0, 1, 2, 14


async def add(
    db: Executor, *, repository_id: int, issue_id: int, author_id: int, body: str, kind: int = PLAIN
) -> int:
    values = {
        "repository_id": repository_id,
        "issue_id": issue_id,
        "author_id": author_id,
        "body": body,
        "kind": kind,
        "created_at": now(),
        "updated_at": now(),
    }
    return int((await db.execute(comment.insert().values(values).returning(comment.c.id))).scalar_one())


async def get(db: Executor, repository_id: int, comment_id: int) -> CommentRow | None:
    statement = _comments().where(comment.c.repository_id == repository_id, comment.c.id == comment_id)
    return (await db.execute(statement)).first()


async def list_of(
    db: Executor,
    repository_id: int,
    page: Page,
    *,
    issue_id: int | None = None,
    since: datetime | None = None,
    before: datetime | None = None,
) -> tuple[list[CommentRow], int]:
    """A page of plain comments of an issue or of all of a repository, oldest first; and how many there are."""
    where = [comment.c.repository_id == repository_id, comment.c.kind == PLAIN]
    if issue_id is not None:
        where.append(comment.c.issue_id == issue_id)
    if since:
        where.append(comment.c.updated_at >= since)
    if before:
        where.append(comment.c.updated_at <= before)
    listed = _comments().where(*where).order_by(comment.c.id).limit(page.limit).offset(page.offset)
    rows = await db.execute(listed)
    total = await db.execute(select(func.count()).select_from(comment).where(*where))
    return list(rows.all()), int(total.scalar_one())


async def change(db: Executor, comment_id: int, body: str) -> None:
    await db.execute(update(comment).where(comment.c.id == comment_id).values(body=body, updated_at=now()))


async def remove(db: Executor, comment_id: int) -> None:
    await db.execute(delete(comment).where(comment.c.id == comment_id))


def _comments() -> Any:
    """Comments, each with the number of its issue and whether that is a pull request."""
    return select(comment, issue.c.number, issue.c.is_pull).join(issue, issue.c.id == comment.c.issue_id)
