"""Activities of events: the kind, the unit, and the details that the API shows."""

from datetime import datetime

import msgspec

from ingot_contracts.issues.events import CommentChanged, IssueChanged, PullRequestChanged, ReviewChanged
from ingot_contracts.repos.commits import Commit
from ingot_contracts.repos.events import PushReceived, ReleaseChanged, RepositoryCreated, RepositoryEdited
from ingot_git.refs.refs import BRANCHES, TAGS, ZERO_OID
from ingot_repos.activities.store import NewActivity

COMMITS = 5
"""Maximum number of commits of a push that an activity shows."""
EXCERPT = 200
"""Maximum number of characters of a message, or of the text of a review."""
COMMENT = 16_000
"""Maximum number of characters of the text of a comment."""


class CommitDetails(msgspec.Struct, frozen=True, omit_defaults=True):
    """A commit of a push in the details of an activity."""

    id: str
    message: str
    author_name: str
    author_email: str
    committer_name: str
    committer_email: str
    timestamp: datetime | None = None


class Details(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The details of an activity to record.

    ``title`` is the title of an issue, pull request or release, or the former name of a repository. ``text``
    is the text of a comment or review. The other fields are about a push.
    """

    title: str = ""
    text: str = ""
    updated_at: datetime | None = None
    ref: str = ""
    before: str = ""
    after: str = ""
    total: int = 0
    commits: list[CommitDetails] = []


def _write(**fields: object) -> str:
    return msgspec.json.encode(Details(**fields)).decode()  # type: ignore[arg-type]


def of_creation(event: RepositoryCreated) -> NewActivity:
    """Return the activity for a new repository."""
    return NewActivity(repository_id=event.repository.id, actor_id=event.sender.id, kind="create_repo")


def of_edit(event: RepositoryEdited) -> NewActivity | None:
    """Return the activity for a new name or owner of a repository; None for other changes.

    It does not name the former owner, because readers of the repository may not be allowed to see that
    account.
    """
    owner, _, name = event.previous_full_name.partition("/")
    if not owner:
        return None
    is_rename = owner.lower() == event.repository.owner.login.lower()
    return NewActivity(
        repository_id=event.repository.id,
        actor_id=event.sender.id,
        kind="rename_repo" if is_rename else "transfer_repo",
        details=_write(title=name if is_rename else ""),
    )


def of_push(event: PushReceived) -> NewActivity | None:
    """Return the activity for a created, moved or deleted branch, or a created or deleted tag.

    None for other refs, and for a moved tag. In a mirror, a moved tag has an activity, too.
    """
    is_branch = event.ref.startswith(BRANCHES)
    if not is_branch and not event.ref.startswith(TAGS):
        return None
    kind = _kind_of_push(event, is_branch=is_branch)
    if not kind:
        return None
    commits = event.commits[:COMMITS] if is_branch else []
    return NewActivity(
        repository_id=event.repository.id,
        actor_id=event.pusher.id,
        kind=kind,
        unit="code",
        details=_write(
            ref=event.ref,
            before=event.before,
            after=event.after,
            total=event.total_commits if is_branch else 0,
            commits=[_commit(one) for one in commits],
        ),
    )


def _kind_of_push(event: PushReceived, *, is_branch: bool) -> str:
    """Return the kind of an activity for a push; empty for a moved tag, except in a mirror."""
    if event.repository.mirror:
        if event.after == ZERO_OID:
            return "mirror_sync_delete"
        return "mirror_sync_create" if event.before == ZERO_OID else "mirror_sync_push"
    if event.after == ZERO_OID:
        return "delete_branch" if is_branch else "delete_tag"
    if is_branch:
        return "commit_repo"
    return "push_tag" if event.before == ZERO_OID else ""


def _commit(commit: Commit) -> CommitDetails:
    return CommitDetails(
        commit.id,
        commit.message[:EXCERPT],
        commit.author.name,
        commit.author.email,
        commit.committer.name,
        commit.committer.email,
        commit.timestamp,
    )


def of_release(event: ReleaseChanged) -> NewActivity:
    """Return the activity of a published release."""
    release = event.release
    return NewActivity(
        repository_id=event.repository.id,
        actor_id=event.sender.id,
        kind="publish_release",
        unit="releases",
        subject_id=release.id,
        details=_write(title=release.name, ref=release.tag_name),
    )


_OF_ISSUES = {"opened": "create_issue", "closed": "close_issue", "reopened": "reopen_issue"}
_OF_PULLS = {
    "opened": "create_pull_request",
    "closed": "close_pull_request",
    "reopened": "reopen_pull_request",
}
_OF_REVIEWS = {
    "APPROVED": "approve_pull_request",
    "REQUEST_CHANGES": "reject_pull_request",
    "COMMENT": "comment_pull",
}


def of_issue(event: IssueChanged) -> NewActivity | None:
    """Return the activity of an opened, closed or reopened issue; None for other changes."""
    kind = _OF_ISSUES.get(event.action)
    if kind is None:
        return None
    return NewActivity(
        repository_id=event.repository.id,
        actor_id=event.sender.id,
        kind=kind,
        unit="issues",
        subject_id=event.issue.number,
        details=_write(title=event.issue.title if kind == "create_issue" else ""),
    )


def of_pull(event: PullRequestChanged) -> NewActivity | None:
    """Return the activity of an opened, merged, closed or reopened pull request; None for other changes."""
    kind, pull = _OF_PULLS.get(event.action), event.pull_request
    if kind is None:
        return None
    if event.action == "closed" and pull.merged:
        kind = "merge_pull_request"
    return NewActivity(
        repository_id=event.repository.id,
        actor_id=event.sender.id,
        kind=kind,
        unit="pulls",
        subject_id=pull.number,
        details=_write(title=pull.title if kind in ("create_pull_request", "merge_pull_request") else ""),
    )


def of_comment(event: CommentChanged) -> NewActivity | None:
    """Return the activity of a comment; None for a comment on a line, which belongs to its review."""
    if event.on_line:
        return None
    comment = event.comment
    return NewActivity(
        repository_id=event.repository.id,
        actor_id=event.sender.id,
        kind="comment_pull" if event.is_pull else "comment_issue",
        unit="pulls" if event.is_pull else "issues",
        subject_id=event.issue.number,
        comment_id=comment.id,
        details=_write(text=comment.body[:COMMENT], updated_at=comment.updated_at),
    )


def of_review(event: ReviewChanged) -> NewActivity | None:
    """Return the activity of a submitted or dismissed review; None for other changes."""
    kind = "pull_review_dismissed" if event.action == "dismissed" else ""
    if event.action == "submitted":
        kind = _OF_REVIEWS.get(event.review.state, "")
    if not kind:
        return None
    return NewActivity(
        repository_id=event.repository.id,
        actor_id=event.sender.id,
        kind=kind,
        unit="pulls",
        subject_id=event.pull_request.number,
        details=_write(text=event.review.body[:EXCERPT] if event.action == "submitted" else ""),
    )
