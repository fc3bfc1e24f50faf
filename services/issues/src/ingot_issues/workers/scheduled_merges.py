"""Tries scheduled merges: when something happened that may allow one, and now and then for what no event says."""

from datetime import timedelta

import msgspec

from ingot_chassis.db.database import Database
from ingot_chassis.errors import Conflict, NotAllowed, NotFound
from ingot_chassis.jobs.jobs import Job, Jobs
from ingot_chassis.jobs.periodic import PeriodicTask
from ingot_chassis.jobs.workers import Work
from ingot_contracts.repos import RepositoryAccess
from ingot_issues.clients.repos import HttpRepos
from ingot_issues.core import scheduled_merges
from ingot_issues.core.access import may_write
from ingot_issues.core.merge_saga import merge_pull
from ingot_issues.core.merges import MayCome, MergeRefused
from ingot_issues.core.presenter import Presenter
from ingot_issues.core.repository_context import RepositoryContext
from ingot_issues.core.scheduled_merges import TRY_MERGE, TryMerge
from ingot_issues.store import issues
from ingot_issues.store import scheduled_merges as store
from ingot_issues.store.issues import PullDetails
from ingot_issues.store.scheduled_merges import ScheduledMergeRow

TRY_EVERY = timedelta(minutes=5)
"""For changes without an event: a rule that was edited, a check that repos read late."""
MOST_AT_ONCE = 1000
"""Scheduled merges that are tried in one round; the next one goes on behind them."""


class ScheduledMerges:
    """The job, and the rounds that add it for every scheduled merge."""

    def __init__(self, database: Database, jobs: Jobs, repos: HttpRepos, presenter: Presenter) -> None:
        self._db, self._jobs, self._repos, self._presenter = database, jobs, repos, presenter
        self._last_id = 0

    def handlers(self) -> dict[str, Work]:
        """By kind."""
        return {TRY_MERGE: self.try_merge}

    def task(self) -> PeriodicTask:
        return PeriodicTask("issues_try_scheduled_merges", TRY_EVERY, self.step)

    async def step(self) -> None:
        """Try the next ``MOST_AT_ONCE`` of them; after the last one it begins anew."""
        async with self._db.read() as db:
            ids = await store.list_ids(db, self._last_id, MOST_AT_ONCE)
        self._last_id = ids[-1] if len(ids) == MOST_AT_ONCE else 0
        async with self._db.transaction() as tx:
            await scheduled_merges.wake(tx, self._jobs, ids)

    async def try_merge(self, job: Job) -> None:
        """Merge as the person who scheduled it, unless something still refuses that. Cancel it when that is final."""
        issue_id = msgspec.json.decode(job.payload, type=TryMerge).issue_id
        async with self._db.read() as db:
            row = await store.get(db, issue_id)
            pull = await issues.get_details_by_id(db, issue_id)
        if row is None or not isinstance(pull, PullDetails) or not pull.mergeable:
            return  # a comparison follows, and adds the job again
        access = await self._access(row, pull)
        if access is None:
            return
        context = RepositoryContext(
            access.repository, row.account_id, self._presenter, self._jobs, row.restricted
        )
        if row.head_sha not in ("", pull.head_sha) or not may_write(access) or access.repository.archived:
            await self._cancel(context, issue_id)
            return
        try:
            await merge_pull(
                self._db, self._repos, context, pull, scheduled_merges.options_of(row), principal_token=None
            )
        except (MayCome, Conflict):  # what it waits for adds the job again, and so does a branch that moved
            pass
        except (MergeRefused, NotAllowed):
            await self._cancel(context, issue_id)

    async def _access(self, row: ScheduledMergeRow, pull: PullDetails) -> RepositoryAccess | None:
        """What the person may do now; None, and nothing is scheduled any more, if they may not read the repository."""
        try:
            return await self._repos.access_of_user_by_id(row.account_id, pull.repository_id)
        except NotFound:
            async with self._db.transaction() as tx:
                await store.remove(tx, pull.id)
            return None

    async def _cancel(self, context: RepositoryContext, issue_id: int) -> None:
        async with self._db.transaction() as tx:
            await scheduled_merges.cancel(tx, context, issue_id)
