"""SQL for the authors and editors of an issue's title and body."""

from sqlalchemy import Column, ForeignKey, Table, bindparam, select

from ingot_chassis.db.driver import Executor
from ingot_chassis.db.prepared import PreparedQuery
from ingot_chassis.db.rows import TypedRow
from ingot_chassis.db.tables import BigId
from ingot_chassis.db.transaction import insert
from ingot_issues.records.store.issues import AnyIssue
from ingot_issues.schema import metadata

# People other than the author who edited title or body. References to other repositories need the rights of
# all of them.
text_editor = Table(
    "text_editor",
    metadata,
    Column("issue_id", BigId, ForeignKey("issue.id", ondelete="CASCADE"), primary_key=True),
    Column("account_id", BigId, primary_key=True),
)


class EditorRow(TypedRow):
    """A person who changed the text of an issue."""

    account_id: int


_OF_ISSUE = PreparedQuery(
    select(text_editor.c.account_id).where(text_editor.c.issue_id == bindparam("issue_id", type_=BigId)),
    EditorRow,
)


async def add(db: Executor, issue: AnyIssue, account_id: int) -> None:
    """Record that a person edited the title or the body. The author is not recorded."""
    if account_id != issue.author_id:
        values = {"issue_id": issue.id, "account_id": account_id}
        await db.execute(insert(db, text_editor).values(values).on_conflict_do_nothing())


async def list_writers(db: Executor, issue: AnyIssue) -> list[int]:
    """Return the author and all editors of an issue's text, including former texts."""
    return [issue.author_id, *(row.account_id for row in await _OF_ISSUE.all(db, issue_id=issue.id))]
