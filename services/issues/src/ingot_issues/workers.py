"""Slow work: comparing branches after pushes, following references for which another service is asked, and counts."""

import asyncio

import msgspec

from ingot_chassis.database import Database
from ingot_chassis.errors import NotFound
from ingot_chassis.jobs import Job, Jobs, Work
from ingot_contracts.repos import Compare
from ingot_issues.clients.repos import Repos
from ingot_issues.core import closing, commits, pulls, references
from ingot_issues.core.commits import ReadPush
from ingot_issues.core.counts import tell_counts
from ingot_issues.core.pulls import CheckPull
from ingot_issues.core.references import Refer
from ingot_issues.core.site import Site
from ingot_issues.core.views import Viewing
from ingot_issues.store import comments, issues, repositories

TELL_SECONDS = 1.0
"""How old a count of open issues may be before it is told."""
TELL_MOST = 100


class Working:
    """Does the jobs of issues."""

    def __init__(self, database: Database, jobs: Jobs, repos: Repos, viewing: Viewing) -> None:
        self._db, self._jobs, self._repos, self._viewing = database, jobs, repos, viewing

    def work(self) -> dict[str, Work]:
        return {pulls.CHECK: self.check, references.REFER: self.refer, commits.READ: self.read}

    async def check(self, job: Job) -> None:
        """Compare head and base as they are now, and record what that tells. Runs again when overtaken."""
        wanted = msgspec.json.decode(job.payload, type=CheckPull)
        async with self._db.read() as db:
            row = await issues.get_by_id(db, wanted.issue_id)
            if row is None or row.state != "open":
                return
            repository = await repositories.get(db, row.repository_id)
            head = await repositories.get(db, row.head_repository_id)
        if repository is None:
            return
        if head is not None and head.private and not await self._may_read(row.author_id, head.id):
            return  # what is pushed to where its author was shut out does not come into the base
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
        site = Site(repository, wanted.pusher_id, self._viewing, self._jobs, wanted.confined)
        found = await references.find_in_opened(row.title, row.body)
        async with self._db.transaction() as tx:
            joined = pulls.is_joined(row, compared)
            if not joined or (wanted.side == "base" and compared.head_sha != row.head_sha):
                await pulls.note_comparison(tx, site, row, compared)
            if joined and wanted.side == "base":  # the push to the base says who merged it
                await pulls.record_merge(tx, site, row, compared.base_sha, found)
            await self._jobs.finish(tx, job)

    async def _may_read(self, account_id: int, repository_id: int) -> bool:
        try:
            await self._repos.access_of_by_id(account_id, repository_id)
        except NotFound:
            return False
        return True

    async def refer(self, job: Job) -> None:
        """Note a reference to another repository, if who wrote it may see that one."""
        wanted = msgspec.json.decode(job.payload, type=Refer)
        owner, _, name = wanted.reference.full_name.partition("/")
        try:
            access = await self._repos.access_of(wanted.actor_id, owner, name)
        except NotFound:
            return
        site = Site(access.repository, wanted.actor_id, self._viewing, self._jobs)
        source = wanted.source
        async with self._db.transaction() as tx:
            if source.comment_id and not await comments.list_by_id(tx, [source.comment_id]):
                return  # deleted meanwhile
            target = await references.arrive(tx, site, access, wanted)
            if target is not None:
                await closing.act(tx, site, target, wanted.reference.action)
            await self._jobs.finish(tx, job)

    async def read(self, job: Job) -> None:
        """Read the messages of a long push, and follow them."""
        wanted = msgspec.json.decode(job.payload, type=ReadPush)
        try:
            access = await self._repos.access_of_by_id(wanted.pusher_id, wanted.repository_id)
            history = await self._repos.history(
                wanted.repository_id, wanted.before, wanted.after, None, limit=commits.MOST
            )
        except NotFound:
            return
        site = Site(access.repository, wanted.pusher_id, self._viewing, self._jobs, wanted.confined)
        told = [(commit.sha, commit.message) for commit in history.commits]
        async with self._db.transaction() as tx:
            await commits.follow(tx, site, told, closing=wanted.closing)
            await self._jobs.finish(tx, job)


class Counting:
    """Tells how many issues are open: once for all that happened to a repository within a second."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def run(self) -> None:
        """Tell until cancelled."""
        while True:
            if await self.step() < TELL_MOST:
                await asyncio.sleep(TELL_SECONDS)

    async def step(self) -> int:
        """Tell what changed; of how many repositories it was."""
        async with self._db.read() as db:
            if not await repositories.has_untold(db):
                return 0
        async with self._db.transaction() as tx:
            return await tell_counts(tx, TELL_MOST)
