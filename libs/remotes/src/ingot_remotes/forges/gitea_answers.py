"""Answers of Gitea's API, and their conversion for an import."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any
from urllib.parse import urlsplit

import msgspec
from msgspec import UNSET, UnsetType

from ingot_contracts.repos.imports import (
    ImportedComment,
    ImportedFile,
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
    ImportedTime,
)
from ingot_contracts.repos.trackers import InternalTracker
from ingot_remotes.interface.answers import Count, Id, Number, Sha, Size
from ingot_remotes.interface.source import (
    SourceAsset,
    SourceBranchRule,
    SourceFailed,
    SourceRelease,
    SourceSettings,
    SourceTagRule,
)

_NO_TIME = datetime(1970, 1, 1, tzinfo=UTC)
"""The creation of milestones of Gogs, which has no times of them."""
STATES: Mapping[str, ImportedReviewState] = {
    "APPROVED": "APPROVED",
    "COMMENT": "COMMENT",
    "REQUEST_CHANGES": "REQUEST_CHANGES",
}
"""Reviews to import. Others are requests for reviews, and pending ones of the owner of the token."""
NOTHING = msgspec.Raw(b"null")


class UserAnswer(msgspec.Struct):
    id: Id = 0
    login: str = ""
    email: str | None = ""


class LabelAnswer(msgspec.Struct):
    id: Id
    name: str
    color: str = ""
    description: str | None = ""
    exclusive: bool = False
    is_archived: bool = False


class MilestoneAnswer(msgspec.Struct):
    id: Id
    title: str
    description: str | None = ""
    state: str = "open"
    due_on: datetime | None = None
    closed_at: datetime | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None


class AssetAnswer(msgspec.Struct):
    name: str
    browser_download_url: str
    created_at: datetime
    size: Size = 0
    uuid: str = ""


class IssueAnswer(msgspec.Struct):
    id: Id
    number: Number
    title: str
    created_at: datetime
    updated_at: datetime
    user: UserAnswer | None = None
    original_author: str | None = ""
    original_author_id: Id | None = 0
    body: str | None = ""
    ref: str | None = ""
    labels: list[LabelAnswer] | None = None
    milestone: MilestoneAnswer | None = None
    assignees: list[UserAnswer] | None = None
    state: str = "open"
    is_locked: bool = False
    pin_order: Annotated[int, msgspec.Meta(ge=0, le=1000)] | None = 0
    due_date: datetime | None = None
    closed_at: datetime | None = None
    assets: list[AssetAnswer] | None = None
    pull_request: msgspec.Raw = NOTHING


class _BranchAnswer(msgspec.Struct):
    ref: str
    sha: Sha = ""
    repo_id: Id = 0


class PullAnswer(IssueAnswer, kw_only=True):
    base: _BranchAnswer
    head: _BranchAnswer
    merge_base: Sha | None = None
    merged: bool = False
    merged_at: datetime | None = None
    merged_by: UserAnswer | None = None
    merge_commit_sha: Sha | None = None
    allow_maintainer_edit: bool = False
    additions: Count | None = None
    deletions: Count | None = None
    changed_files: Count | None = None


class CommentAnswer(msgspec.Struct):
    id: Id
    created_at: datetime
    updated_at: datetime
    user: UserAnswer | None = None
    original_author: str | None = ""
    original_author_id: Id | None = 0
    body: str | None = ""
    issue_url: str | None = ""
    pull_request_url: str | None = ""
    assets: list[AssetAnswer] | None = None


class ReactionAnswer(msgspec.Struct):
    content: str
    created_at: datetime
    user: UserAnswer | None = None


class RepositoryReactionAnswer(ReactionAnswer, kw_only=True):
    """A reaction to a comment, or to the issue ``number`` itself. Only Ingot lists them."""

    number: Number
    comment_id: Id | None = None


class ReviewAnswer(msgspec.Struct):
    id: Id
    state: str
    submitted_at: datetime
    updated_at: datetime | None = None
    user: UserAnswer | None = None
    original_author: str | None = ""
    original_author_id: Id | None = 0
    body: str | None = ""
    commit_id: Sha | None = ""
    dismissed: bool = False
    comments_count: Count = 0


class LineCommentAnswer(msgspec.Struct):
    id: Id
    path: str
    created_at: datetime
    updated_at: datetime
    user: UserAnswer | None = None
    resolver: UserAnswer | None = None
    original_author: str | None = ""
    original_author_id: Id | None = 0
    body: str | None = ""
    position: Count | None = 0
    original_position: Count | None = 0
    commit_id: Sha | None = ""
    original_commit_id: Sha | None = ""
    diff_hunk: str | None = ""


class NumberedIssue(msgspec.Struct):
    number: Number
    id: Id = 0
    repository: "_RepositoryName | None" = None


class _RepositoryName(msgspec.Struct):
    full_name: str = ""


class TimeAnswer(msgspec.Struct):
    id: Id
    created: datetime
    time: Count
    issue: NumberedIssue
    user_id: Id = 0
    user_name: str = ""


class TopicsAnswer(msgspec.Struct):
    topics: list[str] | None = None


class RepositoryAnswer(msgspec.Struct):
    """The settings of a repository that an import copies. Older sources do not have all of them."""

    description: str | None = ""
    website: str | None = ""
    default_merge_style: str = ""
    template: bool | UnsetType = UNSET
    has_releases: bool | UnsetType = UNSET
    has_wiki: bool | UnsetType = UNSET
    allow_merge_commits: bool | UnsetType = UNSET
    allow_rebase: bool | UnsetType = UNSET
    allow_rebase_explicit: bool | UnsetType = UNSET
    allow_squash_merge: bool | UnsetType = UNSET
    allow_fast_forward_only_merge: bool | UnsetType = UNSET
    allow_merge_update: bool | UnsetType = UNSET
    allow_rebase_update: bool | UnsetType = UNSET
    default_delete_branch_after_merge: bool | UnsetType = UNSET
    allow_manual_merge: bool | UnsetType = UNSET
    autodetect_manual_merge: bool | UnsetType = UNSET
    default_allow_maintainer_edit: bool | UnsetType = UNSET
    ignore_whitespace_conflicts: bool | UnsetType = UNSET
    internal_tracker: InternalTracker | UnsetType | None = UNSET


_EXTRA = (
    "allow_manual_merge",
    "autodetect_manual_merge",
    "default_allow_maintainer_edit",
    "ignore_whitespace_conflicts",
    "internal_tracker",
)
"""Settings that are stored as JSON here."""


_Names = Annotated[list[str], msgspec.Meta(max_length=100)]


class BranchRuleAnswer(msgspec.Struct):
    """A rule that protects branches. Older sources do not have all fields."""

    rule_name: str = ""
    branch_name: str = ""
    priority: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)] = 0
    enable_push: bool = False
    enable_push_whitelist: bool = False
    push_whitelist_usernames: _Names | None = None
    push_whitelist_teams: _Names | None = None
    push_whitelist_deploy_keys: bool = False
    enable_force_push: bool = False
    enable_force_push_allowlist: bool = False
    force_push_allowlist_usernames: _Names | None = None
    force_push_allowlist_teams: _Names | None = None
    force_push_allowlist_deploy_keys: bool = False
    enable_merge_whitelist: bool = False
    merge_whitelist_usernames: _Names | None = None
    merge_whitelist_teams: _Names | None = None
    enable_status_check: bool = False
    status_check_contexts: _Names | None = None
    required_approvals: Annotated[int, msgspec.Meta(ge=0, le=100)] = 0
    enable_approvals_whitelist: bool = False
    approvals_whitelist_username: _Names | None = None
    approvals_whitelist_teams: _Names | None = None
    block_on_rejected_reviews: bool = False
    block_on_official_review_requests: bool = False
    block_on_outdated_branch: bool = False
    dismiss_stale_approvals: bool = False
    ignore_stale_approvals: bool = False
    block_admin_merge_override: bool = False
    enable_bypass_allowlist: bool = False
    bypass_allowlist_usernames: _Names | None = None
    bypass_allowlist_teams: _Names | None = None
    require_signed_commits: bool = False
    protected_file_patterns: str = ""
    unprotected_file_patterns: str = ""


class TagRuleAnswer(msgspec.Struct):
    """A rule that protects tags."""

    name_pattern: str = ""
    whitelist_usernames: _Names | None = None
    whitelist_teams: _Names | None = None


PEOPLE_OF_RULES = (
    "push_whitelist_usernames",
    "force_push_allowlist_usernames",
    "merge_whitelist_usernames",
    "approvals_whitelist_username",
    "bypass_allowlist_usernames",
)
"""Fields of a rule that have logins."""
TEAMS_OF_RULES = (
    "push_whitelist_teams",
    "force_push_allowlist_teams",
    "merge_whitelist_teams",
    "approvals_whitelist_teams",
    "bypass_allowlist_teams",
)
"""Fields of a rule that have names of teams."""


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
    original_author: str | None = ""
    original_author_id: Id | None = 0
    assets: list[AssetAnswer] | None = None


def person_of(
    user: UserAnswer | None, original: str | None = "", original_id: int | None = 0
) -> ImportedPerson:
    """Return a person. For a text that the source itself has imported, it is the original author."""
    if original:
        return ImportedPerson(name=original, source_id=original_id or 0)
    return ImportedPerson(name=user.login, source_id=user.id) if user else ImportedPerson()


def settings_of(repository: RepositoryAnswer, topics: list[str]) -> SourceSettings:
    values = {
        name: value
        for name in RepositoryAnswer.__struct_fields__
        if (value := getattr(repository, name)) is not UNSET
    }
    return SourceSettings(
        topics=topics,
        description=repository.description or "",
        website=repository.website or "",
        merge_style=repository.default_merge_style,
        switches={n: value for n, value in values.items() if isinstance(value, bool) and n not in _EXTRA},
        extra={n: msgspec.to_builtins(values[n]) for n in _EXTRA if values.get(n) is not None},
    )


def branch_rule_of(rule: BranchRuleAnswer) -> SourceBranchRule:
    fields = msgspec.structs.asdict(rule)
    people = {name: fields.pop(name) or [] for name in PEOPLE_OF_RULES}
    teams = {team for name in TEAMS_OF_RULES for team in fields.pop(name) or ()}
    names, priority = (fields.pop("rule_name"), fields.pop("branch_name")), fields.pop("priority")
    fields["status_check_contexts"] = fields["status_check_contexts"] or []
    return SourceBranchRule(
        pattern=names[0] or names[1], priority=priority, fields=fields, people=people, teams=sorted(teams)
    )


def tag_rule_of(rule: TagRuleAnswer) -> SourceTagRule:
    return SourceTagRule(
        pattern=rule.name_pattern, people=rule.whitelist_usernames or [], teams=rule.whitelist_teams or []
    )


def label_of(label: LabelAnswer) -> ImportedLabel:
    return ImportedLabel(
        source_id=label.id,
        name=label.name,
        color=label.color,
        description=label.description or "",
        exclusive=label.exclusive,
        is_archived=label.is_archived,
    )


def milestone_of(milestone: MilestoneAnswer) -> ImportedMilestone:
    created_at = milestone.created_at or milestone.updated_at or milestone.closed_at or _NO_TIME
    return ImportedMilestone(
        source_id=milestone.id,
        title=milestone.title,
        description=milestone.description or "",
        state="closed" if milestone.state == "closed" else "open",
        due_on=milestone.due_on,
        closed_at=milestone.closed_at,
        created_at=created_at,
        updated_at=milestone.updated_at or created_at,
    )


class PullDetails(msgspec.Struct, frozen=True):
    """The parts of a pull request. ``line_comments`` are in the order of reviews."""

    assets: list[AssetAnswer] = []
    comments: list[CommentAnswer] = []
    reviews: list[ReviewAnswer] = []
    line_comments: list[list[LineCommentAnswer]] = []

    def users(self) -> list[UserAnswer | None]:
        lines = [one for group in self.line_comments for one in group]
        users = [one.user for one in self.comments]
        users += [one.user for one in self.reviews]
        users += [user for one in lines for user in (one.user, one.resolver)]
        return users


def issue_of(issue: IssueAnswer, reactions: Sequence[ReactionAnswer]) -> ImportedIssue:
    return ImportedIssue(**_fields(issue, reactions))


def pull_of(pull: PullAnswer, details: PullDetails, reactions: Sequence[ReactionAnswer]) -> ImportedPull:
    base_sha = pull.merge_base or pull.base.sha
    head_sha = pull.head.sha or base_sha
    pull = msgspec.structs.replace(pull, assets=details.assets)
    return ImportedPull(
        **_fields(pull, reactions),
        reviews=[
            _review(review, group, head_sha)
            for review, group in zip(details.reviews, details.line_comments, strict=True)
            if review.state in STATES
        ],
        requests=[
            ImportedRequest(
                reviewer=person_of(review.user),
                commit_sha=review.commit_id or head_sha,
                created_at=review.submitted_at,
            )
            for review in details.reviews
            if review.state == "REQUEST_REVIEW" and review.user is not None
        ],
        base_branch=pull.base.ref,
        base_sha=pull.base.sha or base_sha,
        head_branch=pull.head.ref,
        head_sha=head_sha,
        merge_base=base_sha,
        is_from_base=pull.head.repo_id == pull.base.repo_id,
        merged=pull.merged,
        merged_at=(pull.merged_at or pull.closed_at or pull.updated_at) if pull.merged else None,
        merged_by=person_of(pull.merged_by) if pull.merged else None,
        merge_sha=(pull.merge_commit_sha or None) if pull.merged else None,
        allow_maintainer_edit=pull.allow_maintainer_edit,
        additions=pull.additions,
        deletions=pull.deletions,
        changed_files=pull.changed_files,
    )


def _review(review: ReviewAnswer, comments: Sequence[LineCommentAnswer], head_sha: str) -> ImportedReview:
    commit_sha = review.commit_id or head_sha
    return ImportedReview(
        source_id=review.id,
        author=person_of(review.user, review.original_author, review.original_author_id),
        state=STATES[review.state],
        body=review.body or "",
        commit_sha=commit_sha,
        dismissed=review.dismissed,
        submitted_at=review.submitted_at,
        updated_at=review.updated_at or review.submitted_at,
        comments=[_line_comment(one, commit_sha) for one in comments],
    )


def _line_comment(comment: LineCommentAnswer, commit_sha: str) -> ImportedLineComment:
    return ImportedLineComment(
        source_id=comment.id,
        author=person_of(comment.user, comment.original_author, comment.original_author_id),
        body=comment.body or "",
        path=comment.path,
        old_position=comment.original_position or 0,
        new_position=comment.position or 0,
        commit_sha=comment.commit_id or comment.original_commit_id or commit_sha,
        diff_hunk=comment.diff_hunk or "",
        resolver=person_of(comment.resolver) if comment.resolver is not None else None,
        created_at=comment.created_at,
        updated_at=comment.updated_at,
    )


def release_of(release: ReleaseAnswer) -> SourceRelease:
    return SourceRelease(
        author=person_of(release.author, release.original_author, release.original_author_id),
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
                url=one.browser_download_url,
                size=one.size,
                created_at=one.created_at,
                version=one.uuid,
            )
            for one in release.assets or []
        ],
    )


def _reaction(reaction: ReactionAnswer) -> ImportedReaction:
    return ImportedReaction(
        author=person_of(reaction.user), content=reaction.content, created_at=reaction.created_at
    )


def time_of(time: TimeAnswer) -> ImportedTime:
    return ImportedTime(
        source_id=time.id,
        number=time.issue.number,
        author=ImportedPerson(name=time.user_name, source_id=time.user_id),
        seconds=time.time,
        created_at=time.created,
    )


def _fields(issue: IssueAnswer, reactions: Sequence[ReactionAnswer]) -> dict[str, Any]:
    """Return the fields that issues and pull requests share."""
    return {
        "source_id": issue.id,
        "number": issue.number,
        "author": person_of(issue.user, issue.original_author, issue.original_author_id),
        "title": issue.title,
        "body": issue.body or "",
        "state": "closed" if issue.state == "closed" else "open",
        "ref": issue.ref or "",
        "labels": [label.id for label in issue.labels or []],
        "milestone": issue.milestone.id if issue.milestone else 0,
        "assignees": [person_of(user) for user in issue.assignees or []],
        "is_locked": issue.is_locked,
        "pin_order": issue.pin_order or 0,
        "due_date": issue.due_date,
        "created_at": issue.created_at,
        "updated_at": issue.updated_at,
        "closed_at": issue.closed_at,
        "reactions": [_reaction(one) for one in reactions],
        "files": [_file(one) for one in issue.assets or []],
    }


def _file(asset: AssetAnswer) -> ImportedFile:
    """Return an attachment. Texts link to it by its uuid."""
    return ImportedFile(
        uuid=asset.uuid.lower() or asset.browser_download_url,
        address=asset.browser_download_url,
        name=asset.name,
        created_at=asset.created_at,
    )


def comment_of(
    comment: CommentAnswer, reactions: Sequence[ReactionAnswer], number: int = 0
) -> ImportedComment:
    return ImportedComment(
        source_id=comment.id,
        number=number or number_of(comment),
        author=person_of(comment.user, comment.original_author, comment.original_author_id),
        body=comment.body or "",
        created_at=comment.created_at,
        updated_at=comment.updated_at,
        reactions=[_reaction(one) for one in reactions],
        files=[_file(one) for one in comment.assets or []],
    )


def number_of(comment: CommentAnswer) -> int:
    """Return the number of the issue that has a comment. Raises SourceFailed."""
    number = urlsplit(comment.issue_url or comment.pull_request_url or "").path.rpartition("/")[2]
    if not (number.isascii() and number.isdigit() and len(number) < 19):
        raise SourceFailed("forge-answer")
    return int(number)
