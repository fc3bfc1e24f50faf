"""SQL that counts the reactions to an issue and all its comments."""

from collections.abc import Sequence

from sqlalchemy import case, func, select

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.rows import Slice, TypedRow, fetch_all, fetch_page
from ingot_issues.store.tables import reaction


class ReactionCountRow(TypedRow):
    """How many feel so about a comment, or about the issue itself without one; ``own`` is 1 if the viewer does."""

    comment_id: int | None
    content: str
    count: int
    own: int


async def count_of_issue(
    db: Executor, issue_id: int, *, viewer_id: int, page: Slice | None
) -> tuple[Sequence[ReactionCountRow], int]:
    """A page, or all, in the order in which each was first given; and how many there are."""
    statement = (
        select(
            reaction.c.comment_id,
            reaction.c.content,
            func.count().label("count"),
            func.max(case((reaction.c.account_id == viewer_id, 1), else_=0)).label("own"),
        )
        .where(reaction.c.issue_id == issue_id)
        .group_by(reaction.c.comment_id, reaction.c.content)
        .order_by(func.min(reaction.c.id))
    )
    if page is not None:
        return await fetch_page(db, statement, page, ReactionCountRow)
    rows = await fetch_all(db, statement, ReactionCountRow)
    return rows, len(rows)
