"""Events of comments on lines."""

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import NotFound
from ingot_contracts.issues.events import Changes, CommentAction
from ingot_issues.comments.rules.announcements import about_comment, emit_comment
from ingot_issues.issues.store.details import PullDetails
from ingot_issues.records.rules.context import RepositoryContext
from ingot_issues.reviews.rules.views import line_comment_view
from ingot_issues.reviews.store import ReviewCommentRow


async def announce_comment_on_line(
    tx: Tx,
    context: RepositoryContext,
    issue_id: int,
    comment: ReviewCommentRow,
    action: CommentAction,
    changes: Changes | None = None,
) -> None:
    """Announce a change of a comment on a line of a pull request."""
    pull, people = await about_comment(tx, context, issue_id, comment.author_id)
    if not isinstance(pull, PullDetails):
        raise NotFound
    repository = context.presenter.repository(context.repository)
    shown = line_comment_view(context.presenter, comment, pull, repository, people)
    emit_comment(tx, context, pull, shown, action, changes, on_line=True)
