"""Answers of GitHub's REST API, version 2022-11-28, and their conversion for an import.

https://docs.github.com/rest?apiVersion=2022-11-28
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import UNSET, UnsetType

from ingot_contracts.repos.imports import (
    ImportedComment,
    ImportedIssue,
    ImportedLabel,
    ImportedLineComment,
    ImportedMilestone,
    ImportedPerson,
    ImportedPull,
    ImportedReaction,
    ImportedRequest,
    ImportedReview,
    ImportedReviewState,
)
from ingot_remotes.interface.answers import Count, Id, Number, Sha, Size
from ingot_remotes.interface.source import SourceAsset, SourceFailed, SourceRelease, SourceSettings

NOTHING = msgspec.Raw(b"null")
STATES: Mapping[str, ImportedReviewState] = {
    "APPROVED": "APPROVED",
    "CHANGES_REQUESTED": "REQUEST_CHANGES",
    "COMMENTED": "COMMENT",
    "DISMISSED": "COMMENT",
}
"""States of reviews. GitHub does not tell what a dismissed review was. Pending ones are left out."""


class UserAnswer(msgspec.Struct, frozen=True):
    id: Id
    login: str
    email: str | None = None


class LabelAnswer(msgspec.Struct):
    id: Id
    name: str
    color: str | None = ""
    description: str | None = ""


class MilestoneAnswer(msgspec.Struct):
    id: Id
    title: str
    created_at: datetime
    updated_at: datetime
    description: str | None = ""
    state: str = "open"
    due_on: datetime | None = None
    closed_at: datetime | None = None


class ReactionCounts(msgspec.Struct):
    total_count: Count = 0


class BlockerCounts(msgspec.Struct):
    total_blocked_by: Count = 0


class _IssueFields(msgspec.Struct):
    """Fields that issues and pull requests share."""

    id: Id
    number: Number
    title: str
    created_at: datetime
    updated_at: datetime
    user: UserAnswer | None = None
    body: str | None = ""
    labels: list[LabelAnswer | str] = []
    milestone: MilestoneAnswer | None = None
    assignees: list[UserAnswer] | None = None
    state: str = "open"
    locked: bool = False
    closed_at: datetime | None = None


class IssueAnswer(_IssueFields, kw_only=True):
    """An issue, or a pull request if it has ``pull_request``."""

    pull_request: msgspec.Raw = NOTHING
    reactions: ReactionCounts = msgspec.field(default_factory=ReactionCounts)
    issue_dependencies_summary: BlockerCounts = msgspec.field(default_factory=BlockerCounts)


class _RepositoryAnswer(msgspec.Struct):
    id: Id


class _BranchAnswer(msgspec.Struct):
    """A side of a pull request. The repository of a deleted fork is null."""

    ref: str
    sha: Sha
    repo: _RepositoryAnswer | None = None


class NumberedPull(msgspec.Struct):
    """A pull request in a list, which lacks half of its fields."""

    id: Id
    number: Number


class PullAnswer(_IssueFields, kw_only=True):
    base: _BranchAnswer
    head: _BranchAnswer
    merged_at: datetime | None = None
    merged_by: UserAnswer | None = None
    merge_commit_sha: Sha | None = None
    maintainer_can_modify: bool = False
    requested_reviewers: list[UserAnswer] | None = None
    additions: Count | None = None
    deletions: Count | None = None
    changed_files: Count | None = None
    comments: Count = 0
    review_comments: Count = 0


class CommentAnswer(msgspec.Struct):
    id: Id
    created_at: datetime
    updated_at: datetime
    user: UserAnswer | None = None
    body: str | None = ""
    issue_url: str = ""
    reactions: ReactionCounts = msgspec.field(default_factory=ReactionCounts)


class ReactionAnswer(msgspec.Struct):
    content: str
    created_at: datetime
    user: UserAnswer | None = None


class ReviewAnswer(msgspec.Struct):
    id: Id
    state: str
    user: UserAnswer | None = None
    body: str | None = ""
    commit_id: Sha | None = None
    submitted_at: datetime | None = None


class LineCommentAnswer(msgspec.Struct):
    """A comment on a line, or on a whole file, which has neither ``line`` nor ``original_line``.

    ``line`` is null if later commits changed the line.
    """

    id: Id
    path: str
    created_at: datetime
    updated_at: datetime
    pull_request_review_id: Id | None = None
    user: UserAnswer | None = None
    body: str | None = ""
    line: Count | None = None
    original_line: Count | None = None
    commit_id: Sha | None = None
    original_commit_id: Sha | None = None
    side: Literal["LEFT", "RIGHT"] | None = "RIGHT"
    diff_hunk: str | None = ""


class NumberedIssue(msgspec.Struct):
    number: Number
    repository_url: str = ""


class RepositoryAnswer(msgspec.Struct):
    """A repository. Only users with write access see its merge settings."""

    topics: list[str] = []
    description: str | None = ""
    homepage: str | None = ""
    allow_merge_commit: bool | UnsetType = UNSET
    allow_rebase_merge: bool | UnsetType = UNSET
    allow_squash_merge: bool | UnsetType = UNSET
    delete_branch_on_merge: bool | UnsetType = UNSET


_SWITCHES = {
    "allow_merge_commit": "allow_merge_commits",
    "allow_rebase_merge": "allow_rebase",
    "allow_squash_merge": "allow_squash_merge",
    "delete_branch_on_merge": "default_delete_branch_after_merge",
}
"""Names of Gitea for switches."""


def settings_of(repository: RepositoryAnswer) -> SourceSettings:
    values = {here: getattr(repository, name) for name, here in _SWITCHES.items()}
    return SourceSettings(
        topics=repository.topics,
        description=repository.description or "",
        website=repository.homepage or "",
        switches={name: value for name, value in values.items() if value is not UNSET},
    )


class _AssetAnswer(msgspec.Struct):
    name: str
    url: str
    created_at: datetime
    state: str = "uploaded"
    size: Size = 0
    updated_at: str = ""
    digest: str | None = None


class ReleaseAnswer(msgspec.Struct):
    id: Id
    tag_name: str
    created_at: datetime
    published_at: datetime | None = None
    target_commitish: str | None = ""
    name: str | None = ""
    body: str | None = ""
    draft: bool = False
    prerelease: bool = False
    author: UserAnswer | None = None
    assets: list[_AssetAnswer] = []


class PullDetails(msgspec.Struct, frozen=True):
    """A pull request with its comments and reviews.

    ``reactions_to_comments`` are in the order of comments.
    """

    pull: PullAnswer
    reactions: list[ReactionAnswer]
    comments: list[CommentAnswer]
    reactions_to_comments: list[list[ReactionAnswer]]
    reviews: list[ReviewAnswer]
    line_comments: list[LineCommentAnswer]

    def users(self) -> list[UserAnswer | None]:
        reactions = [*self.reactions, *(one for group in self.reactions_to_comments for one in group)]
        pull = self.pull
        users = [pull.user, pull.merged_by, *(pull.assignees or ()), *(pull.requested_reviewers or ())]
        users += [one.user for one in reactions]
        users += [one.user for one in self.comments]
        users += [one.user for one in self.reviews]
        users += [one.user for one in self.line_comments]
        return users


def person_of(user: UserAnswer | None) -> ImportedPerson:
    return ImportedPerson(name=user.login, source_id=user.id) if user is not None else ImportedPerson()


def label_of(label: LabelAnswer) -> ImportedLabel:
    return ImportedLabel(
        source_id=label.id,
        name=label.name,
        color=label.color or "",
        description=label.description or "",
    )


def milestone_of(milestone: MilestoneAnswer) -> ImportedMilestone:
    return ImportedMilestone(
        source_id=milestone.id,
        title=milestone.title,
        description=milestone.description or "",
        state="closed" if milestone.state == "closed" else "open",
        due_on=milestone.due_on,
        closed_at=milestone.closed_at,
        created_at=milestone.created_at,
        updated_at=milestone.updated_at,
    )


def issue_of(issue: IssueAnswer, reactions: Sequence[ReactionAnswer]) -> ImportedIssue:
    return ImportedIssue(**_fields(issue, reactions))


def pull_of(details: PullDetails) -> ImportedPull:
    """Return a pull request. GitHub does not return the merge base."""
    pull = details.pull
    base, head, is_merged = pull.base, pull.head, pull.merged_at is not None
    return ImportedPull(
        **_fields(pull, details.reactions),
        reviews=_reviews(details),
        requests=[
            ImportedRequest(reviewer=person_of(user), commit_sha=head.sha, created_at=pull.created_at)
            for user in pull.requested_reviewers or []
        ],
        base_branch=base.ref,
        base_sha=base.sha,
        head_branch=head.ref,
        head_sha=head.sha,
        merge_base="",
        is_from_base=head.repo is not None and base.repo is not None and head.repo.id == base.repo.id,
        merged=is_merged,
        merged_at=pull.merged_at,
        merged_by=person_of(pull.merged_by) if is_merged else None,
        merge_sha=(pull.merge_commit_sha or None) if is_merged else None,
        allow_maintainer_edit=pull.maintainer_can_modify,
        additions=pull.additions,
        deletions=pull.deletions,
        changed_files=pull.changed_files,
    )


def _reviews(details: PullDetails) -> list[ImportedReview]:
    """Return the reviews with their comments. A comment without a review becomes a separate review.

    Pending reviews and their comments are omitted.
    """
    head_sha = details.pull.head.sha
    submitted = [one for one in details.reviews if one.state in STATES and one.submitted_at is not None]
    ids = {one.id for one in submitted}
    pending = {one.id for one in details.reviews} - ids
    reviews = [
        ImportedReview(
            source_id=review.id,
            author=person_of(review.user),
            state=STATES[review.state],
            body=review.body or "",
            commit_sha=review.commit_id or head_sha,
            dismissed=review.state == "DISMISSED",
            submitted_at=review.submitted_at,
            updated_at=review.submitted_at,
            comments=[
                _line_comment(one, review.commit_id or head_sha)
                for one in details.line_comments
                if one.pull_request_review_id == review.id
            ],
        )
        for review in submitted
        if review.submitted_at is not None
    ]
    alone = [
        one
        for one in details.line_comments
        if one.pull_request_review_id not in ids and one.pull_request_review_id not in pending
    ]
    return reviews + [
        ImportedReview(
            source_id=-one.id,
            author=person_of(one.user),
            state="COMMENT",
            commit_sha=one.commit_id or head_sha,
            submitted_at=one.created_at,
            updated_at=one.updated_at,
            comments=[_line_comment(one, head_sha)],
        )
        for one in alone
    ]


def _line_comment(comment: LineCommentAnswer, commit_sha: str) -> ImportedLineComment:
    """Return a comment at its line in the newest commit; at its original line if later commits changed it."""
    is_current = comment.line is not None
    line = (comment.line if is_current else comment.original_line) or 1
    commit = comment.commit_id if is_current else comment.original_commit_id or comment.commit_id
    is_old = comment.side == "LEFT"
    return ImportedLineComment(
        source_id=comment.id,
        author=person_of(comment.user),
        body=comment.body or "",
        path=comment.path,
        old_position=line if is_old else 0,
        new_position=0 if is_old else line,
        commit_sha=commit or commit_sha,
        diff_hunk=comment.diff_hunk or "",
        created_at=comment.created_at,
        updated_at=comment.updated_at,
    )


def comment_of(
    comment: CommentAnswer, reactions: Sequence[ReactionAnswer], number: int = 0
) -> ImportedComment:
    return ImportedComment(
        source_id=comment.id,
        number=number or _number_of(comment),
        author=person_of(comment.user),
        body=comment.body or "",
        created_at=comment.created_at,
        updated_at=comment.updated_at,
        reactions=[_reaction(one) for one in reactions],
    )


def release_of(release: ReleaseAnswer) -> SourceRelease:
    """Return a release. Files whose upload is not finished are omitted."""
    return SourceRelease(
        author=person_of(release.author),
        tag_name=release.tag_name,
        target=release.target_commitish or "",
        name=release.name or "",
        body=release.body or "",
        draft=release.draft,
        prerelease=release.prerelease,
        created_at=release.created_at,
        published_at=release.published_at,
        assets=[
            SourceAsset(
                name=one.name,
                url=one.url,
                size=one.size,
                created_at=one.created_at,
                version=one.digest or one.updated_at,
            )
            for one in release.assets
            if one.state == "uploaded"
        ],
    )


def _reaction(reaction: ReactionAnswer) -> ImportedReaction:
    return ImportedReaction(
        author=person_of(reaction.user), content=reaction.content, created_at=reaction.created_at
    )


def _fields(issue: _IssueFields, reactions: Sequence[ReactionAnswer]) -> dict[str, Any]:
    return {
        "source_id": issue.id,
        "number": issue.number,
        "author": person_of(issue.user),
        "title": issue.title,
        "body": issue.body or "",
        "state": "closed" if issue.state == "closed" else "open",
        "labels": [label.id for label in issue.labels if isinstance(label, LabelAnswer)],
        "milestone": issue.milestone.id if issue.milestone else 0,
        "assignees": [person_of(user) for user in issue.assignees or []],
        "is_locked": issue.locked,
        "created_at": issue.created_at,
        "updated_at": issue.updated_at,
        "closed_at": issue.closed_at,
        "reactions": [_reaction(one) for one in reactions],
    }


def _number_of(comment: CommentAnswer) -> int:
    """Return the number of the issue that has a comment. Raises SourceFailed."""
    number = urlsplit(comment.issue_url).path.rpartition("/")[2]
    if not (number.isascii() and number.isdigit() and len(number) < 10):
        raise SourceFailed("forge-answer")
    return int(number)
