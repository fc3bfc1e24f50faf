"""SQL for reactions of people to issues and comments."""

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import (
    Column,
    ColumnElement,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    bindparam,
    case,
    delete,
    func,
    literal_column,
    or_,
    select,
)

from ingot_chassis.clock import now
from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery
from ingot_chassis.db.rows import Slice, TypedRow, fetch_first, fetch_page
from ingot_chassis.db.tables import LASTING_IDS, BigId, UtcDateTime
from ingot_issues.records.store.tables import issue
from ingot_issues.schema import metadata

reaction = Table(
    "reaction",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("issue_id", BigId, ForeignKey("issue.id", ondelete="CASCADE"), nullable=False),
    Column("comment_id", BigId, ForeignKey("comment.id", ondelete="CASCADE"), index=True),
    Column("account_id", BigId, nullable=False),
    Column("content", String(20), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Index("ix_reaction_listed", "issue_id", "comment_id", "id"),
    **LASTING_IDS,
)


class ReactionRow(TypedRow):
    """A reaction of a person to an issue or a comment."""

    id: int
    account_id: int
    content: str
    created_at: datetime


def _to(issue_id: int, comment_id: int | None) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    """Return the condition for reactions to a comment or, without a comment, to the issue itself."""
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
    """Return a page of the reactions to an issue or comment, the oldest first, and their number."""
    statement = select(reaction).where(*_to(issue_id, comment_id))
    return await fetch_page(db, statement, page, ReactionRow, reaction.c.id)


class NumberedReactionRow(ReactionRow):
    """A reaction to a comment, or to the issue ``number`` itself."""

    comment_id: int | None
    number: int


async def list_of(
    db: Executor,
    repository_id: int,
    page: Slice,
    *,
    numbers: Collection[int],
    comment_ids: Collection[int],
    kinds: Collection[bool],
) -> tuple[Sequence[NumberedReactionRow], int]:
    """Return a page of the reactions to these issues and comments, the oldest first, and their number.

    ``kinds`` selects issues (False) and pull requests (True).
    """
    of_issues = issue.c.number.in_(numbers) & reaction.c.comment_id.is_(None)
    statement = (
        select(reaction, issue.c.number)
        .join(issue, issue.c.id == reaction.c.issue_id)
        .where(
            issue.c.repository_id == repository_id,
            issue.c.is_pull.in_(kinds),
            or_(of_issues, reaction.c.comment_id.in_(comment_ids)),
        )
    )
    return await fetch_page(db, statement, page, NumberedReactionRow, reaction.c.id)


class ReactionCountRow(TypedRow):
    """The count of one reaction to a comment, or to the issue itself.

    ``own`` is 1 if the viewer has that reaction.
    """

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
    """Return a page, or all, of the reaction counts of an issue, and the number of all.

    They are sorted by the time of the first reaction of each kind.
    """
    if page is not None:
        statement = _COUNTS.params(issue_id=issue_id, viewer_id=viewer_id)
        return await fetch_page(db, statement, page, ReactionCountRow, _OLDEST_FIRST)
    rows = await _ALL_COUNTS.all(db, issue_id=issue_id, viewer_id=viewer_id)
    return rows, len(rows)
