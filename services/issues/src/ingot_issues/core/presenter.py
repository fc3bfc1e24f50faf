"""How rows are presented: in the answers of the API, and in events."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, cast

import msgspec

from ingot_contracts.attachments import Attachment
from ingot_contracts.identity import GHOST, Team, User
from ingot_contracts.issues import (
    Comment,
    Issue,
    Label,
    Milestone,
    PullRequest,
    PullRequestBranch,
    PullRequestMeta,
    PullReview,
    PullReviewComment,
    RepositoryMeta,
    RequestedTeam,
    ReviewStateName,
    State,
    TrackedTime,
)
from ingot_contracts.pulls import proposal_id
from ingot_contracts.repos import Permission, Repository
from ingot_issues.store.accounts import People, Person
from ingot_issues.store.attachments import AttachedFile, AttachmentRow, attached_files
from ingot_issues.store.comments import AnyComment
from ingot_issues.store.issue_rows import AnyIssue, AnyPull
from ingot_issues.store.issues import IssueDetails, LabelOnIssue, PullDetails
from ingot_issues.store.labels import LabelRow
from ingot_issues.store.milestones import MilestoneRow
from ingot_issues.store.repositories import CALLER_FIELDS
from ingot_issues.store.reviews import ReviewCommentRow, ReviewRow
from ingot_issues.store.times import TimeRow

NO_TEAMS: Mapping[int, Team] = {}
NO_PERMISSIONS: Mapping[int, Permission] = {}
DRAFT_PREFIXES = ("wip:", "[wip]")


class Presenter:
    """``root`` is the public URL with a slash at the end. ``show_email`` False leaves out the addresses of people."""

    def __init__(self, public_url: str, *, show_email: bool = True) -> None:
        self.root = public_url.rstrip("/") + "/"
        self._show_email = show_email

    def user(self, person: Person | None) -> User:
        """A person; the ghost when the account is deleted."""
        if person is None:
            return GHOST
        return User(
            id=person.id,
            login=person.login,
            full_name=person.full_name,
            email=person.email if self._show_email else "",
            avatar_url=person.avatar_url,
        )

    def team(self, team: Team) -> RequestedTeam:
        """A team, as everybody may see it who reads the pull request: the rest is for members of the organization."""
        return RequestedTeam(id=team.id, name=team.name)

    def repository(self, repository: Repository) -> Repository:
        """A repository without what only its reader may know."""
        return msgspec.structs.replace(repository, **CALLER_FIELDS)

    def label(self, label: LabelRow | LabelOnIssue, full_name: str) -> Label:
        """A label of the repository ``full_name``, or of the organization that its first part names."""
        of = f"repos/{full_name}" if label.organization_id is None else f"orgs/{full_name.partition('/')[0]}"
        url = f"{self.root}api/v1/{of}/labels/{label.id}"
        return Label(
            id=label.id,
            name=label.name,
            color=label.color,
            url=url,
            description=label.description,
            exclusive=label.exclusive,
            is_archived=label.is_archived,
        )

    def milestone(self, milestone: MilestoneRow) -> Milestone:
        return Milestone(
            id=milestone.id,
            title=milestone.title,
            description=milestone.description,
            state=cast("State", milestone.state),
            open_issues=milestone.open_issues,
            closed_issues=milestone.closed_issues,
            closed_at=whole_seconds(milestone.closed_at),
            due_on=whole_seconds(milestone.due_on),
            created_at=whole_seconds(milestone.created_at),
            updated_at=whole_seconds(milestone.updated_at),
        )

    def time(self, time: TimeRow, *, user_name: str = "", issue: Issue | None = None) -> TrackedTime:
        return TrackedTime(
            id=time.id,
            created=time.created_at.replace(microsecond=0),
            time=time.seconds,
            user_id=time.account_id,
            issue_id=time.issue_id,
            user_name=user_name,
            issue=issue,
        )

    def comment(self, comment: AnyComment, repository: Repository, people: People) -> Comment:
        """A comment; ``people`` has its author."""
        page = self._page(comment, repository)
        return Comment(
            id=comment.id,
            html_url=f"{page}#issuecomment-{comment.id}",
            pull_request_url=page if comment.is_pull else "",
            issue_url="" if comment.is_pull else page,
            user=self.user(people.get(comment.author_id)),
            body=comment.body,
            created_at=comment.created_at.replace(microsecond=0),
            updated_at=comment.updated_at.replace(microsecond=0),
            assets=self._assets(comment.files_json, repository),
        )

    def comment_on_line(
        self, comment: ReviewCommentRow, pull: AnyPull, repository: Repository, people: People
    ) -> Comment:
        """A comment of a review as events have comments; its id is among those of comments on lines."""
        page = self._page(pull, repository)
        return Comment(
            id=comment.id,
            html_url=f"{page}#pullrequestreviewcomment-{comment.id}",
            pull_request_url=page,
            user=self.user(people.get(comment.author_id)),
            body=comment.body,
            created_at=comment.created_at.replace(microsecond=0),
            updated_at=comment.updated_at.replace(microsecond=0),
        )

    def attachment(self, row: AttachmentRow | AttachedFile, repository: Repository) -> Attachment:
        """A file of an issue or comment."""
        return Attachment(
            id=row.id,
            uuid=row.uuid,
            name=row.name,
            size=row.size,
            download_count=row.download_count,
            created_at=row.created_at.replace(microsecond=0),
            browser_download_url=f"{self.root}{repository.full_name}/attachments/{row.uuid}",
            digest=f"sha256:{row.sha256}",
        )

    def _assets(self, files_json: str, repository: Repository) -> list[Attachment]:
        if files_json == "[]":
            return []
        return [self.attachment(file, repository) for file in attached_files(files_json)]

    def issue(self, issue: IssueDetails, repository: Repository) -> Issue:
        """An issue, or a pull request presented as an issue."""
        page, merge = self._page(issue, repository), None
        if isinstance(issue, PullDetails):
            merge = PullRequestMeta(
                merged=issue.merged,
                merged_at=whole_seconds(issue.merged_at),
                draft=is_draft(issue.title),
                html_url=page,
            )
        return Issue(
            number=issue.number,
            url=f"{self.root}api/v1/repos/{repository.full_name}/issues/{issue.number}",
            html_url=page,
            pull_request=merge,
            id=issue.id,
            created_at=issue.created_at.replace(microsecond=0),
            updated_at=issue.updated_at.replace(microsecond=0),
            repository=_repository_meta(repository),
            assets=self._assets(issue.files_json, repository),
            ref=issue.ref,
            **self._shared_fields(issue, repository),
        )

    def pull(
        self,
        pull: PullDetails,
        repository: Repository,
        *,
        reader: int = 0,
        permissions: Mapping[int, Permission] = NO_PERMISSIONS,
    ) -> PullRequest:
        """A pull request. The private fork behind a public repository is shown to its author and the fork's owner only.

        ``reader`` 0 is everybody, as in events. ``permissions`` of the reader are by repository.
        """
        page = self._page(pull, repository)
        return PullRequest(
            id=pull.pull_id,
            number=pull.number,
            url=f"{self.root}api/v1/repos/{repository.full_name}/pulls/{pull.number}",
            html_url=page,
            diff_url=f"{page}.diff",
            patch_url=f"{page}.patch",
            mergeable=pull.mergeable,
            merged=pull.merged,
            merged_at=whole_seconds(pull.merged_at),
            merge_commit_sha=pull.merge_sha,
            merged_by=self.user(pull.merger) if pull.merged_by else None,
            base=self._branch(
                pull.base_branch, pull.merge_sha or pull.base_sha, repository.id, repository, permissions
            ),
            head=self._branch(
                pull.head_branch,
                pull.head_sha,
                pull.head_repository_id,
                _head_repository(pull, repository, reader),
                permissions,
                number=pull.number,
            ),
            merge_base=pull.merge_base,
            additions=pull.additions,
            deletions=pull.deletions,
            changed_files=pull.changed_files,
            draft=is_draft(pull.title),
            review_comments=pull.review_comments,
            requested_reviewers=[
                self.user(one.person) for one in pull.requested_reviewers if one.team_view is None
            ],
            requested_reviewers_teams=[
                self.team(team) for one in pull.requested_reviewers if (team := one.team) is not None
            ],
            created_at=pull.created_at.replace(microsecond=0),
            updated_at=pull.updated_at.replace(microsecond=0),
            **self._shared_fields(pull, repository),
        )

    def review(
        self,
        review: ReviewRow,
        pull: AnyPull,
        repository: Repository,
        people: People,
        teams: Mapping[int, Team] = NO_TEAMS,
    ) -> PullReview:
        """A review; ``people`` has its author, or ``teams`` the team that is to review."""
        team = teams.get(review.team_id or 0)
        page = self._page(pull, repository)
        return PullReview(
            id=review.id,
            user=self.user(people.get(review.author_id)) if review.team_id is None else None,
            team=self.team(team) if team is not None else None,
            state=cast("ReviewStateName", review.state),
            body=review.body,
            commit_id=review.commit_sha,
            stale=review.commit_sha != pull.head_sha,
            official=review.official,
            dismissed=review.dismissed,
            comments_count=review.comments,
            submitted_at=whole_seconds(review.submitted_at),
            updated_at=whole_seconds(review.updated_at),
            html_url=f"{page}#pullrequestreview-{review.id}",
            pull_request_url=page,
        )

    def review_comment(
        self,
        comment: ReviewCommentRow,
        pull: AnyPull,
        repository: Repository,
        people: People,
        *,
        outdated: bool = False,
    ) -> PullReviewComment:
        """A comment of a review on a line; ``people`` has its author, and who resolved it."""
        page = self._page(pull, repository)
        return PullReviewComment(
            id=comment.id,
            pull_request_review_id=comment.review_id,
            user=self.user(people.get(comment.author_id)),
            resolver=self.user(people.get(comment.resolver_id)) if comment.resolver_id else None,
            outdated=outdated,
            body=comment.body,
            path=comment.path,
            commit_id=comment.commit_sha,
            original_commit_id=comment.commit_sha,
            position=comment.new_position,
            original_position=comment.old_position,
            diff_hunk=comment.diff_hunk,
            created_at=comment.created_at.replace(microsecond=0),
            updated_at=comment.updated_at.replace(microsecond=0),
            html_url=f"{page}#pullrequestreviewcomment-{comment.id}",
            pull_request_url=page,
        )

    def _shared_fields(self, issue: IssueDetails, repository: Repository) -> dict[str, Any]:
        """The fields that issues and pull requests have in common."""
        assignees = [self.user(assignee.person) for assignee in issue.assignees]
        return {
            "user": self.user(issue.author),
            "title": issue.title,
            "body": issue.body,
            "labels": [self.label(label, repository.full_name) for label in issue.labels],
            "milestone": self._milestone_of(issue),
            "assignee": assignees[0] if assignees else None,
            "assignees": assignees,
            "state": issue.state,
            "comments": issue.comments,
            "closed_at": whole_seconds(issue.closed_at),
            "due_date": whole_seconds(issue.due_date),
            "is_locked": issue.locked,
            "pin_order": issue.pin_order,
            "content_version": issue.content_version,
        }

    def _milestone_of(self, issue: IssueDetails) -> Milestone | None:
        if issue.milestone_id is None or issue.milestone_title is None:
            return None
        return Milestone(
            id=issue.milestone_id,
            title=issue.milestone_title,
            description=issue.milestone_description or "",
            state=cast("State", issue.milestone_state),
            open_issues=issue.milestone_open_issues or 0,
            closed_issues=issue.milestone_closed_issues or 0,
            closed_at=whole_seconds(issue.milestone_closed_at),
            due_on=whole_seconds(issue.milestone_due_on),
            created_at=whole_seconds(issue.milestone_created_at),
            updated_at=whole_seconds(issue.milestone_updated_at),
        )

    def _branch(
        self,
        name: str,
        sha: str,
        repository_id: int,
        repository: Repository | None,
        permissions: Mapping[int, Permission],
        *,
        number: int = 0,
    ) -> PullRequestBranch:
        """A branch; of what was pushed to ``refs/for/`` the ref that keeps it, labelled with its topic."""
        label, ref = name, name
        if proposal_id(name):
            label, ref = name.rpartition(":")[0], f"refs/pull/{number}/head"
        shown = self.repository(repository) if repository else None
        if shown and repository_id in permissions:
            shown = msgspec.structs.replace(shown, permissions=permissions[repository_id])
        if shown and not self._show_email:
            owner = msgspec.structs.replace(shown.owner, email="")
            shown = msgspec.structs.replace(shown, owner=owner)
        return PullRequestBranch(label=label, ref=ref, sha=sha, repo_id=repository_id, repo=shown)

    def _page(self, row: AnyIssue | AnyComment, repository: Repository) -> str:
        kind = "pulls" if row.is_pull else "issues"
        return f"{self.root}{repository.full_name}/{kind}/{row.number}"


def is_draft(title: str) -> bool:
    """Whether the title of a pull request says that it is work in progress."""
    return title.lower().startswith(DRAFT_PREFIXES)


def whole_seconds(moment: datetime | None) -> datetime | None:
    """Clients cannot read parts of a second."""
    return None if moment is None else moment.replace(microsecond=0)


def _repository_meta(repository: Repository) -> RepositoryMeta:
    return RepositoryMeta(
        id=repository.id,
        name=repository.name,
        owner=repository.owner.login,
        full_name=repository.full_name,
    )


def _head_repository(pull: PullDetails, base: Repository, reader: int) -> Repository | None:
    if pull.head_repository_id == base.id:
        return base
    head = pull.head_repository
    if head is None or not head.private or base.private:
        return head
    return head if reader and reader in (pull.author_id, head.owner.id) else None
