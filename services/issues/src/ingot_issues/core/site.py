"""Where something happens and who does it: what every use case is given. And how it is announced."""

from dataclasses import dataclass

from ingot_chassis.database import Tx
from ingot_chassis.errors import NotFound
from ingot_contracts.issues import (
    Changes,
    Comment,
    CommentAction,
    CommentChanged,
    IssueAction,
    IssueChanged,
    OpenIssuesCounted,
    PullRequestAction,
    PullRequestChanged,
)
from ingot_contracts.repos import Repository
from ingot_issues.core.views import Viewing, plain
from ingot_issues.store import issues, repositories
from ingot_issues.store.issues import IssueRow


@dataclass(frozen=True)
class Site:
    """A repository and the person who acts in it, of whose account there is a copy."""

    repository: Repository
    actor_id: int
    viewing: Viewing

    async def enter(self, tx: Tx) -> None:
        """Begin to write in the repository, one at a time. Raises NotFound when it is deleted."""
        if not await repositories.lock(tx, self.repository.id):
            raise NotFound

    async def announce(
        self, tx: Tx, issue_id: int, *actions: IssueAction | PullRequestAction, changes: Changes | None = None
    ) -> IssueRow:
        """Tell that something happened to an issue or pull request, as it is now; its row."""
        row = await issues.get_by_id(tx, issue_id)
        if row is None:
            raise NotFound
        if not actions:
            return row
        around = await issues.surroundings(tx, [row], self.actor_id)
        repository, sender = plain(self.repository), self.viewing.user(self.actor_id, around)
        for action in actions:
            changed = changes if action == "edited" else None
            if row.is_pull:
                pull = self.viewing.pull(row, repository, around)
                happened = PullRequestChanged(
                    action=action, pull_request=pull, repository=repository, sender=sender, changes=changed
                )
                tx.emit(happened, key=repository.id)
            elif action != "synchronized":
                issue = self.viewing.issue(row, repository, around)
                tx.emit(
                    IssueChanged(
                        action=action, issue=issue, repository=repository, sender=sender, changes=changed
                    ),
                    key=repository.id,
                )
        return row

    async def announce_comment(
        self, tx: Tx, row: IssueRow, comment: Comment, action: CommentAction, changes: Changes | None = None
    ) -> None:
        """Tell that a comment was made, edited or deleted. ``row`` is its issue as it is now."""
        around = await issues.surroundings(tx, [row], self.actor_id)
        repository = plain(self.repository)
        tx.emit(
            CommentChanged(
                action=action,
                issue=self.viewing.issue(row, repository, around),
                comment=comment,
                repository=repository,
                sender=self.viewing.user(self.actor_id, around),
                changes=changes,
                is_pull=row.is_pull,
            ),
            key=repository.id,
        )

    async def count_open(self, tx: Tx, more: int, *, is_pull: bool) -> None:
        """One more or less is open: keep the count and tell it."""
        change = {"pulls": more} if is_pull else {"issues": more}
        counted = await repositories.count_open(tx, self.repository.id, **change)
        tx.emit(
            OpenIssuesCounted(
                repository_id=self.repository.id,
                open_issues=counted.open_issues,
                open_pulls=counted.open_pulls,
            ),
            key=self.repository.id,
        )
