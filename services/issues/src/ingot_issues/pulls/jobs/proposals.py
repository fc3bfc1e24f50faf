"""The job after a push to ``refs/for/``: compares the commits, then opens or updates a pull request."""

import msgspec

from ingot_chassis.db.database import Database
from ingot_chassis.errors import Invalid, NotFound
from ingot_chassis.jobs.jobs import Job, Jobs
from ingot_chassis.jobs.workers import Work
from ingot_contracts.repos.comparisons import CompareHeads, Head
from ingot_issues.clients.repos import HttpRepos
from ingot_issues.pulls.rules.proposals import PROPOSE, Propose, get_open, propose, texts_of
from ingot_issues.records.rules.context import RepositoryContext
from ingot_issues.records.rules.presenter import Presenter
from ingot_issues.references.rules import references_of
from ingot_issues.repositories.store import copies as repositories


class ProposalJobs:
    """Jobs that open or update the pull request of a proposal."""

    def __init__(self, database: Database, jobs: Jobs, repos: HttpRepos, presenter: Presenter) -> None:
        self._db, self._jobs, self._repos, self._presenter = database, jobs, repos, presenter

    def handlers(self) -> dict[str, Work]:
        """Return the handlers by kind."""
        return {PROPOSE: self.propose}

    async def propose(self, job: Job) -> None:
        """Open or update the pull request, unless the base branch or the repository is deleted."""
        task = msgspec.json.decode(job.payload, type=Propose)
        async with self._db.read() as db:
            repository = await repositories.get(db, task.repository_id)
        if repository is None:
            return
        heads = [Head(repository_id=task.repository_id, branch=task.head)]
        question = CompareHeads(base_branch=task.base_branch, heads=heads)
        try:
            [comparison] = await self._repos.compare_heads(task.repository_id, question)
        except NotFound:
            return
        if comparison is None:
            return
        async with self._db.read() as db:
            pull = await get_open(db, task)
        references = await references_of(*texts_of(pull, task))
        context = RepositoryContext(repository, task.pusher_id, self._presenter, self._jobs, task.restricted)
        try:
            async with self._db.transaction() as tx:
                await propose(tx, context, task, comparison, references)
                await self._jobs.finish(tx, job)
        except Invalid:  # the base branch contains all commits by now
            return
