"""The job that deletes the head branch of a merged pull request."""

import msgspec

from ingot_chassis.db.database import Database
from ingot_chassis.jobs.jobs import Job, Jobs
from ingot_chassis.jobs.workers import Work
from ingot_contracts.repos.repositories import Repository
from ingot_issues.clients.repos import HttpRepos
from ingot_issues.merges.rules import recording
from ingot_issues.merges.rules.recording import DeleteHeadBranch
from ingot_issues.merges.rules.saga import delete_head_branch
from ingot_issues.records.rules.context import RepositoryContext
from ingot_issues.records.rules.presenter import Presenter
from ingot_issues.repositories.store import copies as repositories


class BranchJobs:
    """Jobs that delete head branches."""

    def __init__(self, database: Database, jobs: Jobs, repos: HttpRepos, presenter: Presenter) -> None:
        self._db, self._jobs, self._repos, self._presenter = database, jobs, repos, presenter

    def handlers(self) -> dict[str, Work]:
        """Return the handlers by kind."""
        return {recording.DELETE_HEAD_BRANCH: self.delete_head_branch}

    async def delete_head_branch(self, job: Job) -> None:
        """Delete a head branch as the person who merged, unless the merge request has already deleted it."""
        deletion = msgspec.json.decode(job.payload, type=DeleteHeadBranch)
        async with self._db.read() as db:
            repository = await repositories.get(db, deletion.repository_id)
        if repository is not None:
            context = self._context(repository, deletion.actor_id)
            await delete_head_branch(self._db, self._repos, context, deletion.issue_id)

    def _context(
        self, repository: Repository, actor_id: int, *, restricted: bool = False
    ) -> RepositoryContext:
        return RepositoryContext(repository, actor_id, self._presenter, self._jobs, restricted)
