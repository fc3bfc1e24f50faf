"""How rows become what others see of them, in answers and in events."""

from typing import Any

import msgspec

from ingot_contracts.identity import GHOST, User
from ingot_contracts.issues import (
    Comment,
    Issue,
    Label,
    Milestone,
    PullRequest,
    PullRequestBranch,
    PullRequestMeta,
    TrackedTime,
)
from ingot_contracts.repos import Repository
from ingot_issues.store.repositories import plain
from ingot_issues.store.surroundings import Surroundings


class Viewing:
    """Knows the public root and whether addresses of people may be shown."""

    def __init__(self, public_url: str, *, show_email: bool = True) -> None:
        self.root = public_url.rstrip("/") + "/"
        self._show_email = show_email

    def user(self, account_id: int | None, around: Surroundings) -> User:
        """A person; the ghost when the account is deleted."""
        row = around.accounts.get(account_id or 0)
        if row is None:
            return GHOST
        return User(
            id=row.id,
            login=row.login,
            full_name=row.full_name,
            email=row.email if self._show_email else "",
            avatar_url=row.avatar_url,
        )

    def label(self, row: Any, repository: Repository) -> Label:
        url = f"{self.root}api/v1/repos/{repository.full_name}/labels/{row.id}"
        return Label(id=row.id, name=row.name, color=row.color, url=url)

    def milestone(self, row: Any) -> Milestone:
        return Milestone(
            id=row.id,
            title=row.title,
            description=row.description,
            state=row.state,
            open_issues=row.open_issues,
            closed_issues=row.closed_issues,
            closed_at=row.closed_at,
            due_on=row.due_on,
        )

    def time(self, row: Any) -> TrackedTime:
        return TrackedTime(
            id=row.id,
            created=row.created_at,
            time=row.seconds,
            user_id=row.account_id,
            issue_id=row.issue_id,
        )

    def issue(self, row: Any, repository: Repository, around: Surroundings) -> Issue:
        """An issue, or a pull request seen as one."""
        merge = PullRequestMeta(merged=row.merged, merged_at=row.merged_at) if row.is_pull else None
        return Issue(
            number=row.number,
            url=f"{self.root}api/v1/repos/{repository.full_name}/issues/{row.number}",
            html_url=self._page(row, repository),
            pull_request=merge,
            id=row.id,
            created_at=row.created_at,
            updated_at=row.updated_at,
            **self._shared(row, repository, around),
        )

    def pull(self, row: Any, repository: Repository, around: Surroundings, *, reader: int = 0) -> PullRequest:
        """A pull request. The private fork behind a public repository is shown to its people only.

        ``reader`` 0 is everybody, as in events.
        """
        page = self._page(row, repository)
        return PullRequest(
            id=row.pull_id,
            number=row.number,
            url=f"{self.root}api/v1/repos/{repository.full_name}/pulls/{row.number}",
            html_url=page,
            diff_url=f"{page}.diff",
            patch_url=f"{page}.patch",
            mergeable=row.mergeable,
            merged=row.merged,
            merged_at=row.merged_at,
            merge_commit_sha=row.merge_sha,
            merged_by=self.user(row.merged_by, around) if row.merged else None,
            base=self._branch(row.base_branch, row.base_sha, repository.id, repository),
            head=self._branch(
                row.head_branch,
                row.head_sha,
                row.head_repository_id,
                _head_repository(row, repository, around, reader),
            ),
            merge_base=row.merge_base,
            created_at=row.created_at,
            updated_at=row.updated_at,
            **self._shared(row, repository, around),
        )

    def comment(self, row: Any, repository: Repository, around: Surroundings) -> Comment:
        """A comment; its row carries the number of its issue."""
        page = self._page(row, repository)
        return Comment(
            id=row.id,
            html_url=f"{page}#issuecomment-{row.id}",
            pull_request_url=page if row.is_pull else "",
            issue_url="" if row.is_pull else page,
            user=self.user(row.author_id, around),
            body=row.body,
            created_at=row.created_at,
            updated_at=row.updated_at,
        )

    def _shared(self, row: Any, repository: Repository, around: Surroundings) -> dict[str, Any]:
        """The fields that issues and pull requests have in common."""
        assignees = [self.user(account_id, around) for account_id in around.assignees.get(row.id, [])]
        milestone = around.milestones.get(row.milestone_id)
        return {
            "user": self.user(row.author_id, around),
            "title": row.title,
            "body": row.body,
            "labels": [self.label(label, repository) for label in around.labels.get(row.id, [])],
            "milestone": self.milestone(milestone) if milestone is not None else None,
            "assignee": assignees[0] if assignees else None,
            "assignees": assignees,
            "state": row.state,
            "comments": row.comments,
            "closed_at": row.closed_at,
            "due_date": row.due_date,
            "is_locked": row.locked,
        }

    def _branch(
        self, name: str, sha: str, repository_id: int, repository: Repository | None
    ) -> PullRequestBranch:
        shown = plain(repository) if repository else None
        if shown and not self._show_email:
            owner = msgspec.structs.replace(shown.owner, email="")
            shown = msgspec.structs.replace(shown, owner=owner)
        return PullRequestBranch(label=name, ref=name, sha=sha, repo_id=repository_id, repo=shown)

    def _page(self, row: Any, repository: Repository) -> str:
        kind = "pulls" if row.is_pull else "issues"
        return f"{self.root}{repository.full_name}/{kind}/{row.number}"


def _head_repository(row: Any, base: Repository, around: Surroundings, reader: int) -> Repository | None:
    if row.head_repository_id == base.id:
        return base
    head = around.repositories.get(row.head_repository_id)
    if head is None or not head.private or base.private:
        return head
    return head if reader and reader in (row.author_id, head.owner.id) else None
