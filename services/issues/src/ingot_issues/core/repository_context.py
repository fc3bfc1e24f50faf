"""Where a use case works, and for whom: every use case takes it."""

from collections.abc import Mapping
from dataclasses import dataclass

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import NotFound
from ingot_chassis.jobs.jobs import Jobs
from ingot_contracts.repos import Repository
from ingot_issues.core.presenter import Presenter
from ingot_issues.store import comments, counters, issue_rows
from ingot_issues.store.comments import NO_DETAILS, NO_REFERENCE, CommentKind, Details


@dataclass(frozen=True)
class RepositoryContext:
    """A repository and the person who acts in it, whose account is copied here.

    ``restricted``: their token reaches some repositories only, so what they do has no effect in other repositories.
    """

    repository: Repository
    actor_id: int
    presenter: Presenter
    jobs: Jobs
    restricted: bool = False

    async def lock(self, tx: Tx, *issue_ids: int) -> None:
        """Make every other writer of the repository wait.

        Raises NotFound when the repository is deleted, or one of these issues: they were read before.
        """
        if not await counters.lock(tx, self.repository.id):
            raise NotFound
        for issue_id in issue_ids:
            if not await issue_rows.exists(tx, issue_id):
                raise NotFound

    async def add_to_timeline(
        self,
        tx: Tx,
        issue_id: int,
        kind: CommentKind,
        body: str = "",
        details: Details = NO_DETAILS,
        reference: Mapping[str, object] = NO_REFERENCE,
    ) -> None:
        """Write into the timeline of an issue what the actor did. ``reference`` are the columns ``ref_…``."""
        await comments.add(
            tx,
            repository_id=self.repository.id,
            issue_id=issue_id,
            author_id=self.actor_id,
            body=body,
            kind=kind,
            details=details,
            reference=reference,
        )
