"""Writing, changing and deleting comments."""

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import Invalid, NotFound
from ingot_contracts.issues.events import ChangedText, Changes
from ingot_contracts.issues.issues import Comment
from ingot_issues.comments import store
from ingot_issues.comments.rules.announcements import announce_comment
from ingot_issues.comments.store import AnyComment, CommentRow
from ingot_issues.records.rules.context import RepositoryContext
from ingot_issues.records.rules.notices import notify
from ingot_issues.records.store import issues as issue_rows
from ingot_issues.records.store.issues import AnyIssue
from ingot_issues.references import rules as references
from ingot_issues.references.rules import Reference, Source


def clean_body(body: str) -> str:
    """Return the text of a comment. Raises Invalid if it is empty."""
    if not body.strip():
        raise Invalid.field("body", "required", "is required")
    return body


async def write_comment(
    tx: Tx, context: RepositoryContext, issue: AnyIssue, body: str, body_references: list[Reference]
) -> Comment:
    """Write a comment. ``body`` is from ``clean_body``; ``body_references`` are its references.

    Raises NotFound if the issue was deleted since.
    """
    await context.lock(tx)
    if not await issue_rows.count_comments(tx, issue.id, 1):
        raise NotFound
    comment = await store.write(tx, issue, context.actor_id, body)
    await _add_references(tx, context, comment, body_references, context.actor_id)
    await notify(tx, context, issue.id, comment_id=comment.id)
    return await announce_comment(tx, context, comment, "created")


async def write_reply(
    tx: Tx,
    context: RepositoryContext,
    issue: AnyIssue,
    body: str,
    body_references: list[Reference],
    *,
    key: str,
) -> int:
    """Write the comment of a reply by mail, unless ``key`` already has a comment. Return its id."""
    await context.lock(tx)
    if stored_id := await store.get_reply(tx, key):
        return stored_id
    comment = await write_comment(tx, context, issue, body, body_references)
    await store.add_reply(tx, key, issue.id, comment.id)
    return comment.id


async def edit_comment(
    tx: Tx, context: RepositoryContext, row: CommentRow, body: str, body_references: list[Reference]
) -> Comment:
    """Replace the text of a comment. Raises NotFound if the comment was deleted since."""
    await context.lock(tx)
    comment = await store.change(tx, row, body)
    if comment is None:
        raise NotFound
    await _add_references(tx, context, comment, body_references, row.author_id)
    if body != row.body and "@" in body:
        await notify(tx, context, row.issue_id, comment_id=row.id, is_edited=True)
    changes = Changes(body=ChangedText(row.body))
    return await announce_comment(tx, context, comment, "edited" if body != row.body else None, changes)


async def delete_comment(tx: Tx, context: RepositoryContext, row: CommentRow) -> None:
    """Delete a comment with its references. Do nothing if it is already deleted."""
    await context.lock(tx)
    if await store.remove(tx, row.id):
        await issue_rows.count_comments(tx, row.issue_id, -1)
        await announce_comment(tx, context, row, "deleted")


async def _add_references(
    tx: Tx, context: RepositoryContext, comment: AnyComment, body_references: list[Reference], author_id: int
) -> None:
    source = Source(repository_id=context.repository.id, issue_id=comment.issue_id, comment_id=comment.id)
    await references.add_all(tx, context, source, body_references, [author_id])
