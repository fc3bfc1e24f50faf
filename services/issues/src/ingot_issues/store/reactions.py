"""SQL for reactions of people to issues and comments."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, delete, select

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import Slice, TypedRow, fetch_first, fetch_page
from ingot_issues.store.tables import reaction


class ReactionRow(TypedRow):
    """What a person feels about an issue or a comment."""

    id: int
    account_id: int
    content: str
    created_at: datetime


def _to(issue_id: int, comment_id: int | None) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    """The condition that a reaction is to this comment or, without one, to the issue itself."""
    return reaction.c.issue_id == issue_id, reaction.c.comment_id.is_not_distinct_from(comment_id)


async def get(
    db: Executor, issue_id: int, comment_id: int | None, account_id: int, content: str
) -> ReactionRow | None:
    statement = select(reaction).where(
        *_to(issue_id, comment_id), reaction.c.account_id == account_id, reaction.c.content == content
    )
    return await fetch_first(db, statement, ReactionRow)


async def add(
    db: Executor, issue_id: int, comment_id: int | None, account_id: int, content: str
) -> ReactionRow | None:
    values = {
        "issue_id": issue_id,
        "comment_id": comment_id,
        "account_id": account_id,
        "content": content,
        "created_at": now(),
    }
    return await fetch_first(db, reaction.insert().values(values).returning(reaction), ReactionRow)


async def remove(db: Executor, issue_id: int, comment_id: int | None, account_id: int, content: str) -> None:
    await db.execute(
        delete(reaction).where(
            *_to(issue_id, comment_id), reaction.c.account_id == account_id, reaction.c.content == content
        )
    )


async def list_page(
    db: Executor, issue_id: int, comment_id: int | None, page: Slice
) -> tuple[Sequence[ReactionRow], int]:
    """A page of the reactions, the oldest first, and how many there are."""
    statement = select(reaction).where(*_to(issue_id, comment_id))
    return await fetch_page(db, statement, page, ReactionRow, reaction.c.id)
