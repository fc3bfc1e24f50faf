"""Slow work: comparing the branches of pull requests again after pushes."""

import msgspec

from ingot_chassis.database import Database
from ingot_chassis.errors import NotFound
from ingot_chassis.jobs import Job, Jobs, Work
from ingot_contracts.repos import Compare
from ingot_issues.clients.repos import Repos
from ingot_issues.core import pulls
from ingot_issues.core.pulls import CHECK, CheckPull
from ingot_issues.core.site import Site
from ingot_issues.core.views import Viewing
from ingot_issues.store import issues, repositories


class Checking:
    """Does the jobs of pull requests."""

    def __init__(self, database: Database, jobs: Jobs, repos: Repos, viewing: Viewing) -> None:
        self._db, self._jobs, self._repos, self._viewing = database, jobs, repos, viewing

    def work(self) -> dict[str, Work]:
        return {CHECK: self.check}

    async def check(self, job: Job) -> None:
        """Compare head and base as they are now, and record what that tells. Runs again when overtaken."""
        wanted = msgspec.json.decode(job.payload, type=CheckPull)
        async with self._db.read() as db:
            row = await issues.get_by_id(db, wanted.issue_id)
            repository = await repositories.get(db, row.repository_id) if row is not None else None
        if row is None or repository is None or row.state != "open":
            return
        branches = Compare(
            base_branch=row.base_branch,
            head_repository_id=row.head_repository_id,
            head_branch=row.head_branch,
            number=row.number,
        )
        try:
            compared = await self._repos.compare(repository.id, branches, None)
        except NotFound:
            return  # a branch is gone: what was known of it last stays
        site = Site(repository, wanted.pusher_id, self._viewing)
        async with self._db.transaction() as tx:
            if pulls.is_merged_by_push(row, compared, wanted.side):
                await pulls.record_merge(tx, site, row, compared.base_sha)
            else:
                await pulls.note_comparison(tx, site, row, compared)
            await self._jobs.finish(tx, job)
