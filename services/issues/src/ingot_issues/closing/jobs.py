"""Jobs for references to other repositories, and for the messages of long pushes."""

import msgspec

from ingot_chassis.db.database import Database
from ingot_chassis.errors import NotFound
from ingot_chassis.jobs.jobs import Job, Jobs
from ingot_chassis.jobs.workers import Work
from ingot_contracts.repos.repositories import Repository
from ingot_issues.clients.repos import HttpRepos
from ingot_issues.closing.rules import commits
from ingot_issues.closing.rules import effects as closing
from ingot_issues.closing.rules.commits import ReadMessages
from ingot_issues.closing.rules.effects import CloseIssues
from ingot_issues.comments import store as comments
from ingot_issues.records.rules.context import RepositoryContext
from ingot_issues.records.rules.presenter import Presenter
from ingot_issues.references import rules as references
from ingot_issues.references.rules import AddReference


class ClosingJobs:
    """Jobs that add references of texts and commits."""

    def __init__(self, database: Database, jobs: Jobs, repos: HttpRepos, presenter: Presenter) -> None:
        self._db, self._jobs, self._repos, self._presenter = database, jobs, repos, presenter

    def handlers(self) -> dict[str, Work]:
        """Return the handlers by kind."""
        return {
            references.ADD_REFERENCE: self.add_reference,
            commits.READ_MESSAGES: self.read_messages,
            closing.CLOSE_ISSUES: self.close_issues,
        }

    async def add_reference(self, job: Job) -> None:
        """Add a reference to another repository, if its authors and the actor may read that repository.

        A closing keyword also closes or reopens the issue there.
        """
        addition = msgspec.json.decode(job.payload, type=AddReference)
        owner, _, name = addition.reference.full_name.partition("/")
        try:
            accesses = {
                account_id: await self._repos.access_of_user(account_id, owner, name)
                for account_id in (addition.actor_id, *addition.authors)
            }
        except NotFound:
            return
        context = self._context(accesses[addition.actor_id].repository, addition.actor_id)
        comment_id = addition.source.comment_id
        async with self._db.transaction() as tx:
            if comment_id and not await comments.list_by_id(tx, [comment_id]):
                return  # deleted in the meantime
            target = await references.receive(tx, context, accesses, addition)
            if target is not None:
                await closing.close_or_reopen(tx, context, target, addition.reference.action)
            await self._jobs.finish(tx, job)

    async def read_messages(self, job: Job) -> None:
        """Read the messages of a long push from repos, and add their references."""
        reading = msgspec.json.decode(job.payload, type=ReadMessages)
        try:
            access = await self._repos.access_of_user_by_id(reading.pusher_id, reading.repository_id)
            history = await self._repos.history(
                reading.repository_id, reading.before, reading.after, None, limit=commits.MOST
            )
        except NotFound:
            return
        context = self._context(access.repository, reading.pusher_id, restricted=reading.restricted)
        among = set(reading.among)
        commit_references = await commits.find_in_messages(
            commits.Message(commit.sha, commit.message, commit.author.login)
            for commit in history.commits
            if not among or commit.sha in among
        )
        async with self._db.transaction() as tx:
            await commits.add_references(tx, context, commit_references, proposer_id=reading.proposer_id)
            if reading.closing:
                closing_commits = [
                    closing.ClosingCommit(sha=message.sha, references=own_references)
                    for message, own_references in reversed(commit_references)
                ]
                await commits.close_issues(tx, context, access, closing_commits)
            await self._jobs.finish(tx, job)

    async def close_issues(self, job: Job) -> None:
        """Close and reopen issues named in commit messages of a push, if the pusher is allowed to."""
        request = msgspec.json.decode(job.payload, type=CloseIssues)
        try:
            access = await self._repos.access_of_user_by_id(request.pusher_id, request.repository_id)
        except NotFound:
            return
        context = self._context(access.repository, request.pusher_id, restricted=request.restricted)
        async with self._db.transaction() as tx:
            await commits.close_issues(tx, context, access, request.commits)
            await self._jobs.finish(tx, job)

    def _context(
        self, repository: Repository, actor_id: int, *, restricted: bool = False
    ) -> RepositoryContext:
        return RepositoryContext(repository, actor_id, self._presenter, self._jobs, restricted)
