"""Comments in the form of responses and events."""

from ingot_contracts.issues.issues import Comment
from ingot_contracts.repos.repositories import Repository
from ingot_issues.accounts.store import People
from ingot_issues.attachments.rules import attachment_views
from ingot_issues.comments.store import AnyComment
from ingot_issues.records.rules.presenter import Presenter


def comment_view(
    presenter: Presenter, comment: AnyComment, repository: Repository, people: People
) -> Comment:
    """Return a comment in the form of the API. ``people`` has its author."""
    page = presenter.page(comment, repository)
    return Comment(
        id=comment.id,
        html_url=f"{page}#issuecomment-{comment.id}",
        pull_request_url=page if comment.is_pull else "",
        issue_url="" if comment.is_pull else page,
        user=presenter.user(people.get(comment.author_id)),
        body=comment.body,
        created_at=comment.created_at.replace(microsecond=0),
        updated_at=comment.updated_at.replace(microsecond=0),
        original_author=comment.original_author,
        original_author_id=comment.original_author_id,
        assets=attachment_views(presenter, comment.files_json, repository),
    )
