"""Issues and pull requests in the form of responses and events."""

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from ingot_chassis.db.rows import field_copier
from ingot_contracts.issues.issues import Issue, PullRequestMeta, RepositoryMeta
from ingot_contracts.issues.labels import Milestone
from ingot_contracts.issues.pulls import PullRequest, PullRequestBranch
from ingot_contracts.issues.states import State
from ingot_contracts.repos.access import Permission
from ingot_contracts.repos.comparisons import proposal_id
from ingot_contracts.repos.repositories import Repository
from ingot_issues.attachments.rules import attachment_views
from ingot_issues.issues.store.details import IssueDetails, PullDetails
from ingot_issues.labels.rules.views import label_view
from ingot_issues.records.rules.presenter import Presenter, whole_seconds
from ingot_issues.reviewers.rules import requested_team

NO_PERMISSIONS: Mapping[int, Permission] = {}
DRAFT_PREFIXES = ("wip:", "[wip]")
_CONVERTED = ("closed_at", "created_at", "due_date", "state", "updated_at")
_ISSUE_FIELDS = field_copier(IssueDetails, Issue, without=_CONVERTED)
_PULL_FIELDS = field_copier(PullDetails, PullRequest, without=(*_CONVERTED, "id", "merged_at", "merged_by"))


def issue_view(presenter: Presenter, issue: IssueDetails, repository: Repository) -> Issue:
    """Return an issue, or a pull request in the form of an issue."""
    page, merge = presenter.page(issue, repository), None
    if isinstance(issue, PullDetails):
        merge = PullRequestMeta(
            merged=issue.merged,
            merged_at=whole_seconds(issue.merged_at),
            draft=is_draft(issue.title),
            html_url=page,
        )
    return Issue(
        url=f"{presenter.root}api/v1/repos/{repository.full_name}/issues/{issue.number}",
        html_url=page,
        pull_request=merge,
        created_at=issue.created_at.replace(microsecond=0),
        updated_at=issue.updated_at.replace(microsecond=0),
        repository=_repository_meta(repository),
        assets=attachment_views(presenter, issue.files_json, repository),
        **_ISSUE_FIELDS(issue),
        **_shared_fields(presenter, issue, repository),
    )


def pull_view(
    presenter: Presenter,
    pull: PullDetails,
    repository: Repository,
    *,
    reader: int = 0,
    permissions: Mapping[int, Permission] = NO_PERMISSIONS,
) -> PullRequest:
    """Return a pull request in the form of the API.

    The private fork of a public repository is shown only to the author and the fork's owner. ``reader`` 0
    stands for all readers, for example in events. ``permissions`` are the reader's, by repository.
    """
    page = presenter.page(pull, repository)
    return PullRequest(
        id=pull.pull_id,
        url=f"{presenter.root}api/v1/repos/{repository.full_name}/pulls/{pull.number}",
        html_url=page,
        diff_url=f"{page}.diff",
        patch_url=f"{page}.patch",
        merged_at=whole_seconds(pull.merged_at),
        merge_commit_sha=pull.merge_sha,
        merged_by=presenter.user(pull.merger) if pull.merged_by else None,
        base=_branch(
            presenter,
            pull.base_branch,
            pull.merge_sha or pull.base_sha,
            repository.id,
            repository,
            permissions,
        ),
        head=_branch(
            presenter,
            pull.head_branch,
            pull.head_sha,
            pull.head_repository_id,
            _head_repository(pull, repository, reader),
            permissions,
            number=pull.number,
        ),
        draft=is_draft(pull.title),
        requested_reviewers=[
            presenter.user(one.person) for one in pull.requested_reviewers if one.team_view is None
        ],
        requested_reviewers_teams=[
            requested_team(team) for one in pull.requested_reviewers if (team := one.team) is not None
        ],
        created_at=pull.created_at.replace(microsecond=0),
        updated_at=pull.updated_at.replace(microsecond=0),
        **_PULL_FIELDS(pull),
        **_shared_fields(presenter, pull, repository),
    )


def is_draft(title: str) -> bool:
    """Return whether the title marks a pull request as work in progress."""
    return title.lower().startswith(DRAFT_PREFIXES)


def _shared_fields(presenter: Presenter, issue: IssueDetails, repository: Repository) -> dict[str, Any]:
    """Return the computed fields that issues and pull requests share."""
    assignees = [presenter.user(assignee.person) for assignee in issue.assignees]
    return {
        "user": presenter.user(issue.author),
        "labels": [label_view(presenter, label, repository.full_name) for label in issue.labels],
        "milestone": _milestone_of(issue),
        "assignee": assignees[0] if assignees else None,
        "assignees": assignees,
        "closed_at": whole_seconds(issue.closed_at),
        "state": issue.state,
        "due_date": whole_seconds(issue.due_date),
        "is_locked": issue.locked,
    }


def _milestone_of(issue: IssueDetails) -> Milestone | None:
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
    presenter: Presenter,
    name: str,
    sha: str,
    repository_id: int,
    repository: Repository | None,
    permissions: Mapping[int, Permission],
    *,
    number: int = 0,
) -> PullRequestBranch:
    """Return a branch of a pull request.

    A head from a push to ``refs/for/`` has the ref ``refs/pull/<number>/head``, and its topic as label.
    """
    label, ref = name, name
    if proposal_id(name):
        label, ref = name.rpartition(":")[0], f"refs/pull/{number}/head"
    shown = presenter.repository(repository) if repository else None
    if shown and repository_id in permissions:
        shown = msgspec.structs.replace(shown, permissions=permissions[repository_id])
    if shown and not presenter.show_email:
        owner = msgspec.structs.replace(shown.owner, email="")
        shown = msgspec.structs.replace(shown, owner=owner)
    return PullRequestBranch(label=label, ref=ref, sha=sha, repo_id=repository_id, repo=shown)


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
