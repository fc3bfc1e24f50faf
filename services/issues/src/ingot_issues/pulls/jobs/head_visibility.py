"""The job that shows or hides the head of a pull request in repos."""

import msgspec

from ingot_chassis.clock import now
from ingot_chassis.db.database import Database
from ingot_chassis.errors import NotFound
from ingot_chassis.jobs.jobs import Job, Jobs
from ingot_chassis.jobs.workers import Work
from ingot_contracts.repos.comparisons import PullHead
from ingot_issues.clients.repos import HttpRepos
from ingot_issues.pull_heads import rules as pull_heads
from ingot_issues.pull_heads import store as pull_head_rows
from ingot_issues.pull_heads.rules import SetPullHead
from ingot_issues.pulls.rules import mergeability
from ingot_issues.pulls.rules.mergeability import CheckMergeability
from ingot_issues.records.store import issues as issue_rows
from ingot_issues.records.store.issues import PullRow
from ingot_issues.records.store.states import State
from ingot_issues.repositories.store import counters


class HeadJobs:
    """Jobs that send the visibility of heads to repos."""

    def __init__(self, database: Database, jobs: Jobs, repos: HttpRepos) -> None:
        self._db, self._jobs, self._repos = database, jobs, repos

    def handlers(self) -> dict[str, Work]:
        """Return the handlers by kind."""
        return {pull_heads.SET_HEAD: self.set_pull_head}

    async def set_pull_head(self, job: Job) -> None:
        """Show or hide the head of a pull request in repos. Retries if its state has changed since.

        A repository that repos does not have is skipped.
        """
        task = msgspec.json.decode(job.payload, type=SetPullHead)
        async with self._db.read() as db:
            state = pull_heads.state_of(await issue_rows.get_pull_by_id(db, task.issue_id))
        try:
            await self._repos.set_pull_head(task.repository_id, task.number, PullHead(state=state))
        except NotFound:
            if state != "gone" and await self._repos.exists(task.repository_id):
                raise  # during an update repos may be an older release
        async with self._db.transaction() as tx:
            await counters.lock(tx, task.repository_id)
            pull = await issue_rows.get_pull_by_id(tx, task.issue_id)
            if pull_heads.state_of(pull) != state:
                await self._jobs.finish(tx, job, again_at=now())
                return
            if pull is not None:
                await pull_head_rows.record(tx, pull.pull_id, hidden=state == "hidden")
            if (
                pull is not None and pull.state == State.OPEN
            ):  # its branches may have moved while it was closed
                await mergeability.add_check(tx, self._jobs, _check_of(task, pull))
            await self._jobs.finish(tx, job)


def _check_of(task: SetPullHead, pull: PullRow) -> CheckMergeability:
    return CheckMergeability(
        repository_id=task.repository_id,
        base_branch=pull.base_branch,
        issue_ids=[pull.id],
        sha=pull.head_sha,
        pusher_id=task.actor_id,
        restricted=task.restricted,
        side="head",
        reopened=True,
    )
