"""The job that tries scheduled merges: after an event that may allow a merge, and every five minutes."""

from datetime import timedelta

import msgspec

from ingot_chassis.clock import now
from ingot_chassis.db.database import Database
from ingot_chassis.errors import Conflict, Invalid, NotAllowed, NotFound, TooLarge
from ingot_chassis.jobs.jobs import Job, Jobs
from ingot_chassis.jobs.periodic import PeriodicTask
from ingot_chassis.jobs.workers import Work
from ingot_contracts.repos.repositories import RepositoryAccess
from ingot_issues.access.rules.repositories import in_unit, may_write
from ingot_issues.clients.repos import HttpRepos
from ingot_issues.issues.store import details as issues
from ingot_issues.issues.store.details import PullDetails
from ingot_issues.merges.rules.recording import Claimed, MergeRefused, NotYetMergeable
from ingot_issues.merges.rules.saga import merge_pull
from ingot_issues.records.rules.context import RepositoryContext
from ingot_issues.records.rules.presenter import Presenter
from ingot_issues.scheduled_merges import store
from ingot_issues.scheduled_merges.rules import scheduling as scheduled_merges
from ingot_issues.scheduled_merges.rules.scheduling import TRY_MERGE, TryMerge
from ingot_issues.scheduled_merges.store import ScheduledMergeRow

TRY_EVERY = timedelta(minutes=5)
"""The interval between rounds. Rounds cover changes without an event, such as an edited rule."""
TRY_AGAIN = timedelta(seconds=1)
"""The pause after another request has claimed the pull request."""
MOST_AT_ONCE = 1000
"""Scheduled merges per round. The next round continues after them."""


class ScheduledMerges:
    """Jobs that try scheduled merges, and the rounds that add such a job for each scheduled merge."""

    def __init__(self, database: Database, jobs: Jobs, repos: HttpRepos, presenter: Presenter) -> None:
        self._db, self._jobs, self._repos, self._presenter = database, jobs, repos, presenter
        self._last_id = 0

    def handlers(self) -> dict[str, Work]:
        """Return the handlers by kind."""
        return {TRY_MERGE: self.try_merge}

    def task(self) -> PeriodicTask:
        return PeriodicTask("issues_try_scheduled_merges", TRY_EVERY, self.step)

    async def step(self) -> None:
        """Add jobs for the next ``MOST_AT_ONCE`` scheduled merges. After the last merge, start again."""
        async with self._db.read() as db:
            ids = await store.list_ids(db, self._last_id, MOST_AT_ONCE)
        self._last_id = ids[-1] if len(ids) == MOST_AT_ONCE else 0
        async with self._db.transaction() as tx:
            await scheduled_merges.wake(tx, self._jobs, ids)

    async def try_merge(self, job: Job) -> None:
        """Merge as the person who scheduled the merge, if it is allowed now.

        Cancels the scheduled merge if it can never be allowed, or if it is blocked and does not wait.
        """
        issue_id = msgspec.json.decode(job.payload, type=TryMerge).issue_id
        async with self._db.read() as db:
            row = await store.get(db, issue_id)
            pull = await issues.get_details_by_id(db, issue_id)
        if row is None or not isinstance(pull, PullDetails):
            return
        if row.waits and not pull.mergeable:
            return  # a comparison follows, and adds the job again; without waiting, repos decides now
        access = await self._access(row, pull)
        if access is None:
            return
        context = RepositoryContext(
            access.repository, row.account_id, self._presenter, self._jobs, row.restricted
        )
        is_other = row.head_sha not in ("", pull.head_sha) or row.base_branch != pull.base_branch
        if is_other:
            await self._cancel(context, issue_id, scheduled_merges.OTHER_TARGET)
        elif not may_write(access) or access.repository.archived:
            await self._cancel(context, issue_id, scheduled_merges.OTHER_RIGHTS)
        elif row.agreed_sha == pull.head_sha:  # otherwise the comparison after the push agrees or cancels
            await self._merge(job, context, row, pull)

    async def _merge(
        self, job: Job, context: RepositoryContext, row: ScheduledMergeRow, pull: PullDetails
    ) -> None:
        try:
            await merge_pull(
                self._db, self._repos, context, pull, scheduled_merges.options_of(row), principal_token=None
            )
        except Claimed:  # the other request may judge by data from before the event that added this job
            async with self._db.transaction() as tx:
                await self._jobs.finish(tx, job, again_at=now() + TRY_AGAIN)
        except Conflict:  # a branch has moved, and the comparison that follows adds the job again
            pass
        except (MergeRefused, NotAllowed, TooLarge, Invalid) as refused:
            # Events that may allow a merge that waits add the job again.
            if not (row.waits and isinstance(refused, NotYetMergeable)):
                await self._cancel(context, pull.id, _reason(refused))

    async def _access(self, row: ScheduledMergeRow, pull: PullDetails) -> RepositoryAccess | None:
        """Return the access of the person who scheduled a merge.

        Without access, cancel the scheduled merge and return None.
        """
        try:
            access = await self._repos.access_of_user_by_id(row.account_id, pull.repository_id)
            return in_unit(access, "merges")
        except NotFound:
            async with self._db.transaction() as tx:
                await store.remove(tx, pull.id)
            return None

    async def _cancel(self, context: RepositoryContext, issue_id: int, reason: str) -> None:
        async with self._db.transaction() as tx:
            await scheduled_merges.cancel(tx, context, issue_id, reason)


def _reason(refused: MergeRefused | NotAllowed | TooLarge | Invalid) -> str:
    if isinstance(refused, TooLarge):
        return scheduled_merges.TOO_LONG
    return scheduled_merges.BLOCKED if isinstance(refused, MergeRefused) else scheduled_merges.IMPOSSIBLE
