"""The context of a use case: the repository and the actor."""

from collections.abc import Mapping
from dataclasses import dataclass

from ingot_chassis.db.transaction import Tx
from ingot_chassis.errors import NotFound
from ingot_chassis.jobs.jobs import Jobs
from ingot_contracts.repos.repositories import Repository
from ingot_issues.records.rules.presenter import Presenter
from ingot_issues.records.store import issues as issue_rows
from ingot_issues.records.store import timeline
from ingot_issues.records.store.timeline import NO_DETAILS, NO_REFERENCE, CommentKind, Details
from ingot_issues.repositories.store import counters


@dataclass(frozen=True)
class RepositoryContext:
    """A repository and the actor, whose account is copied here.

    ``restricted``: the actor's token is restricted to some repositories, so their actions have no effect in
    others. ``writes_issues``: the actor may write issues here, which access to the code does not include. It
    is None if unknown.
    """

    repository: Repository
    actor_id: int
    presenter: Presenter
    jobs: Jobs
    restricted: bool = False
    writes_issues: bool | None = None

    async def lock(self, tx: Tx, *issue_ids: int) -> None:
        """Block other writers of the repository until the transaction ends.

        Raises NotFound if the repository, or one of these issues, was deleted after it was read.
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
        """Add an action of the actor to the timeline of an issue. ``reference`` has the columns ``ref_…``."""
        await timeline.add(
            tx,
            repository_id=self.repository.id,
            issue_id=issue_id,
            author_id=self.actor_id,
            body=body,
            kind=kind,
            details=details,
            reference=reference,
        )
