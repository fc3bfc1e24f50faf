"""Events of comments."""

import msgspec

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import NotFound
from ingot_contracts.issues.events import Changes, CommentAction, CommentChanged, PullRequestPart
from ingot_contracts.issues.issues import Comment
from ingot_contracts.issues.pulls import BaseBranch, PullRequest
from ingot_issues.accounts import store as accounts
from ingot_issues.accounts.store import People
from ingot_issues.comments.rules.views import comment_view
from ingot_issues.comments.store import AnyComment
from ingot_issues.issues.rules.views import issue_view, pull_view
from ingot_issues.issues.store import details as issues
from ingot_issues.issues.store.details import IssueDetails, PullDetails
from ingot_issues.records.rules.context import RepositoryContext
from ingot_issues.repositories.rules.announcements import emit


async def announce_comment(
    tx: Tx,
    context: RepositoryContext,
    comment: AnyComment,
    action: CommentAction | None,
    changes: Changes | None = None,
) -> Comment:
    """Announce a change of a comment, unless ``action`` is None. Return the comment as the API shows it."""
    issue, people = await about_comment(tx, context, comment.issue_id, comment.author_id)
    shown = comment_view(context.presenter, comment, context.presenter.repository(context.repository), people)
    if action is not None:
        emit_comment(tx, context, issue, shown, action, changes)
    return shown


async def about_comment(
    tx: Tx, context: RepositoryContext, issue_id: int, author_id: int
) -> tuple[IssueDetails, People]:
    """Return the issue and the author of a comment. Raises NotFound."""
    issue = await issues.get_details_by_id(tx, issue_id, context.actor_id)
    if issue is None:
        raise NotFound
    if author_id == context.actor_id:
        return issue, {context.actor_id: issue.viewer} if issue.viewer else {}
    return issue, await accounts.get_people(tx, [author_id])


def emit_comment(
    tx: Tx,
    context: RepositoryContext,
    issue: IssueDetails,
    comment: Comment,
    action: CommentAction,
    changes: Changes | None,
    *,
    on_line: bool = False,
) -> None:
    presenter, repository = context.presenter, context.presenter.repository(context.repository)
    event = CommentChanged(
        action=action,
        issue=issue_view(presenter, issue, repository),
        pull_request=(
            _part_of(pull_view(presenter, issue, repository)) if isinstance(issue, PullDetails) else None
        ),
        comment=comment,
        repository=repository,
        sender=presenter.user(issue.viewer),
        changes=changes,
        is_pull=issue.is_pull,
        on_line=on_line,
    )
    emit(tx, event, repository.id)


def _part_of(pull: PullRequest) -> PullRequestPart:
    """Return the fields of a pull request that its issue lacks."""
    fields = {name: getattr(pull, name) for name in PullRequestPart.__struct_fields__}
    base, head = pull.base, pull.head
    if head.repo_id == base.repo_id:
        fields["head"] = msgspec.structs.replace(head, repo=None)
    fields["base"] = BaseBranch(label=base.label, ref=base.ref, sha=base.sha, repo_id=base.repo_id)
    return PullRequestPart(**fields)
