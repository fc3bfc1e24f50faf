"""Comments of reviews on lines: replies, edits, deletions, and lines that are gone."""

from collections.abc import Sequence

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import NotFound
from ingot_contracts.issues import ChangedText, Changes
from ingot_issues.core.diff_hunks import Position, find_hunks
from ingot_issues.core.events import announce_comment_on_line
from ingot_issues.core.notifications import notify
from ingot_issues.core.repository_context import RepositoryContext
from ingot_issues.store import issue_rows
from ingot_issues.store import reviews as store
from ingot_issues.store.issues import PullDetails
from ingot_issues.store.reviews import PlacedCommentRow, ReviewCommentRow
from ingot_issues.store.states import ReviewState


async def reply(
    tx: Tx, context: RepositoryContext, pull: PullDetails, to: PlacedCommentRow, body: str
) -> ReviewCommentRow:
    """Answer a comment, in its review. People hear of it, unless the review is pending."""
    await context.lock(tx)
    if await store.get(tx, pull.id, to.review_id) is None:
        raise NotFound
    row = await store.reply(tx, to, context.actor_id, body)
    if to.review_state != ReviewState.PENDING:
        await issue_rows.change(tx, pull.id)
        await notify(tx, context, pull.id, review_id=row.review_id, reply_id=row.id)
    return row


async def edit(tx: Tx, context: RepositoryContext, row: PlacedCommentRow, body: str) -> ReviewCommentRow:
    """Replace the text of a comment. While its review is pending, nobody hears of that.

    Raises NotFound when the comment is deleted meanwhile.
    """
    await context.lock(tx)
    comment = await store.change_comment(tx, row.id, body)
    if comment is None:
        raise NotFound
    if row.review_state != ReviewState.PENDING and body != row.body:
        if "@" in body:
            await notify(tx, context, row.issue_id, review_id=row.review_id, reply_id=row.id, is_edited=True)
        changes = Changes(body=ChangedText(row.body))
        await announce_comment_on_line(tx, context, row.issue_id, comment, "edited", changes)
    return comment


async def delete(tx: Tx, context: RepositoryContext, row: PlacedCommentRow) -> None:
    """Delete a comment; its review stays. Nothing happens when it is deleted already."""
    await context.lock(tx)
    if await store.remove_comment(tx, row.id) and row.review_state != ReviewState.PENDING:
        await issue_rows.change(tx, row.issue_id)
        await announce_comment_on_line(tx, context, row.issue_id, row, "deleted")


def position_of(row: ReviewCommentRow) -> Position:
    return Position(row.path, row.old_position or row.new_position, bool(row.old_position))


def find_outdated(diff: str, rows: Sequence[ReviewCommentRow]) -> set[int]:
    """The ids of those comments whose line the diff does not show any more as it was."""
    hunks = find_hunks(diff, {position_of(row) for row in rows})
    return {
        row.id
        for row in rows
        if row.diff_hunk and _last_line(hunks.get(position_of(row), "")) != _last_line(row.diff_hunk)
    }


def _last_line(hunk: str) -> str:
    return hunk.rpartition("\n")[2]
