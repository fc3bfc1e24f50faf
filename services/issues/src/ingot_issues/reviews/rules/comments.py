"""Comments of reviews on lines: replies, edits, deletions, and outdated lines."""

from collections.abc import Sequence

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import NotFound
from ingot_contracts.issues.events import ChangedText, Changes
from ingot_issues.issues.store.details import PullDetails
from ingot_issues.records.rules.context import RepositoryContext
from ingot_issues.records.rules.notices import notify
from ingot_issues.records.store import issues as issue_rows
from ingot_issues.reviewers.store.states import ReviewState
from ingot_issues.reviews import store
from ingot_issues.reviews.rules.announcements import announce_comment_on_line
from ingot_issues.reviews.rules.diff_hunks import Position, find_hunks
from ingot_issues.reviews.store import PlacedCommentRow, ReviewCommentRow


async def reply(
    tx: Tx, context: RepositoryContext, pull: PullDetails, to: PlacedCommentRow, body: str
) -> ReviewCommentRow:
    """Reply to a comment, in its review. Notify people, unless the review is pending.

    Raises NotFound if the review was deleted since.
    """
    await context.lock(tx)
    if await store.get(tx, pull.id, to.review_id) is None:
        raise NotFound
    row = await store.reply(tx, to, context.actor_id, body)
    if to.review_state != ReviewState.PENDING:
        await issue_rows.change(tx, pull.id)
        await notify(tx, context, pull.id, review_id=row.review_id, reply_id=row.id)
    return row


async def edit(tx: Tx, context: RepositoryContext, row: PlacedCommentRow, body: str) -> ReviewCommentRow:
    """Replace the text of a comment. Unless its review is pending, announce it and notify mentioned people.

    Raises NotFound if the comment was deleted since.
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
    """Delete a comment, but not its review. Ignore a comment that is already deleted."""
    await context.lock(tx)
    if await store.remove_comment(tx, row.id) and row.review_state != ReviewState.PENDING:
        await issue_rows.change(tx, row.issue_id)
        await announce_comment_on_line(tx, context, row.issue_id, row, "deleted")


def position_of(row: ReviewCommentRow) -> Position:
    return Position(row.path, row.old_position or row.new_position, bool(row.old_position))


def find_outdated(diff: str, rows: Sequence[ReviewCommentRow]) -> set[int]:
    """Return the ids of comments whose line is changed or missing in the diff."""
    hunks = find_hunks(diff, {position_of(row) for row in rows})
    return {
        row.id
        for row in rows
        if row.diff_hunk and _last_line(hunks.get(position_of(row), "")) != _last_line(row.diff_hunk)
    }


def _last_line(hunk: str) -> str:
    return hunk.rpartition("\n")[2]
