"""SQL that counts the reactions to an issue and all its comments."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Integer, bindparam, case, func, literal_column, select

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery
from ingot_chassis.db.rows import Slice, TypedRow, fetch_page
from ingot_chassis.db.tables import BigId
from ingot_issues.store.tables import reaction


class ReactionCountRow(TypedRow):
    """How many feel so about a comment, or about the issue itself without one; ``own`` is 1 if the viewer does."""

    comment_id: int | None
    content: str
    count: int
    own: int


_YES: ColumnElement[int] = literal_column("1", Integer)
_NO: ColumnElement[int] = literal_column("0", Integer)
_IS_OWN = reaction.c.account_id == bindparam("viewer_id", type_=BigId)
_COUNTS = (
    select(
        reaction.c.comment_id,
        reaction.c.content,
        func.count().label("count"),
        func.max(case((_IS_OWN, _YES), else_=_NO)).label("own"),
    )
    .where(reaction.c.issue_id == bindparam("issue_id", type_=BigId))
    .group_by(reaction.c.comment_id, reaction.c.content)
)
_OLDEST_FIRST = func.min(reaction.c.id)
_ALL_COUNTS = PreparedQuery(_COUNTS.order_by(_OLDEST_FIRST), ReactionCountRow)


async def count_of_issue(
    db: Executor, issue_id: int, *, viewer_id: int, page: Slice | None
) -> tuple[Sequence[ReactionCountRow], int]:
    """A page, or all, in the order in which each was first given; and how many there are."""
    if page is not None:
        statement = _COUNTS.params(issue_id=issue_id, viewer_id=viewer_id)
        return await fetch_page(db, statement, page, ReactionCountRow, _OLDEST_FIRST)
    rows = await _ALL_COUNTS.all(db, issue_id=issue_id, viewer_id=viewer_id)
    return rows, len(rows)
