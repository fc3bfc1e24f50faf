"""Where something happens and who does it: what every use case is given. And how it is announced."""

from dataclasses import dataclass
from typing import Any

from ingot_chassis.database import Tx
from ingot_chassis.errors import NotFound
from ingot_chassis.jobs import Jobs
from ingot_contracts.identity import User
from ingot_contracts.issues import (
    Changes,
    Comment,
    CommentAction,
    CommentChanged,
    IssueAction,
    IssueChanged,
    PullRequestAction,
    PullRequestChanged,
)
from ingot_contracts.repos import Repository
from ingot_issues.core.views import Viewing
from ingot_issues.store import comments, issues, repositories
from ingot_issues.store.comments import NOTHING, CommentRow, Details
from ingot_issues.store.issues import IssueRow
from ingot_issues.store.repositories import plain
from ingot_issues.store.surroundings import Surroundings, people


@dataclass(frozen=True)
class Site:
    """A repository and the person who acts in it, of whose account there is a copy.

    ``confined``: their token is restricted to some repositories, so nothing follows from it in others.
    """

    repository: Repository
    actor_id: int
    viewing: Viewing
    jobs: Jobs
    confined: bool = False

    async def enter(self, tx: Tx) -> None:
        """Begin to write in the repository, one at a time. Raises NotFound when it is deleted."""
        if not await repositories.lock(tx, self.repository.id):
            raise NotFound

    async def announce(
        self, tx: Tx, issue_id: int, *actions: IssueAction | PullRequestAction, changes: Changes | None = None
    ) -> IssueRow:
        """Tell that something happened to an issue or pull request; its row as it is now, with surroundings."""
        row = await issues.get_whole_by_id(tx, issue_id, self.actor_id)
        if row is None:
            raise NotFound
        self.tell(tx, row, *actions, changes=changes)
        return row

    def tell(
        self,
        tx: Tx,
        row: IssueRow,
        *actions: IssueAction | PullRequestAction,
        changes: Changes | None = None,
    ) -> None:
        """The same, of a row as it is now, with the actor among its surroundings."""
        around = Surroundings.of([row])
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

    async def announce_comment(
        self, tx: Tx, told: CommentRow, action: CommentAction | None, changes: Changes | None = None
    ) -> Comment:
        """Tell that a comment was made, edited or deleted, unless there is nothing to tell; its view."""
        row = await issues.get_whole_by_id(tx, told.issue_id, self.actor_id)
        if row is None:
            raise NotFound
        around = Surroundings.of([row])
        if told.author_id not in around.accounts:
            around.accounts |= (await people(tx, [told.author_id])).accounts
        repository = plain(self.repository)
        comment = self.viewing.comment(told, repository, around)
        if action is not None:
            happened = CommentChanged(
                action=action,
                issue=self.viewing.issue(row, repository, around),
                comment=comment,
                repository=repository,
                sender=self.viewing.user(self.actor_id, around),
                changes=changes,
                is_pull=row.is_pull,
            )
            tx.emit(happened, key=repository.id)
        return comment

    async def sender(self, tx: Tx) -> User:
        """The actor, as events show them."""
        return self.viewing.user(self.actor_id, await people(tx, [self.actor_id]))

    async def note(
        self, tx: Tx, issue_id: int, kind: int, body: str = "", details: Details = NOTHING, **because: Any
    ) -> None:
        """Write into the timeline what happened to an issue. ``because`` as for ``comments.add``."""
        await comments.add(
            tx,
            repository_id=self.repository.id,
            issue_id=issue_id,
            author_id=self.actor_id,
            body=body,
            kind=kind,
            details=details,
            **because,
        )
