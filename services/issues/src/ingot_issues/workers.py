"""Slow work: comparing branches after pushes, following references for which another service is asked, and counts."""

import asyncio

import msgspec

from ingot_chassis.database import Database
from ingot_chassis.errors import NotFound
from ingot_chassis.jobs import Job, Jobs, Work
from ingot_contracts.pulls import CompareHeads, Comparison, Head, Merged
from ingot_contracts.repos import Repository
from ingot_issues.clients.repos import Repos
from ingot_issues.core import checks, closing, commits, merges, references
from ingot_issues.core.checks import CheckPulls
from ingot_issues.core.commits import ReadPush
from ingot_issues.core.counts import tell_count
from ingot_issues.core.references import Refer
from ingot_issues.core.site import Site
from ingot_issues.core.views import Viewing
from ingot_issues.store import comments, issues, repositories
from ingot_issues.store.issues import IssueRow

TELL_SECONDS = 1.0
"""How old a count of open issues may be before it is told."""
TELL_MOST = 100


class Working:
    """Does the jobs of issues."""

    def __init__(self, database: Database, jobs: Jobs, repos: Repos, viewing: Viewing) -> None:
        self._db, self._jobs, self._repos, self._viewing = database, jobs, repos, viewing

    def work(self) -> dict[str, Work]:
        return {
            checks.CHECK: self.check,
            merges.TAKE: self.take_branch,
            references.REFER: self.refer,
            commits.READ: self.read,
        }

    async def check(self, job: Job) -> None:
        """Compare heads and their base as they are now, and record what that tells. Runs again when overtaken."""
        wanted = msgspec.json.decode(job.payload, type=CheckPulls)
        async with self._db.read() as db:
            repository = await repositories.get(db, wanted.repository_id)
            rows = await issues.list_open(db, wanted.issue_ids)
            heads = await repositories.get_many(db, {row.head_repository_id for row in rows})
        rows = [row for row in rows if row.base_branch == wanted.base_branch]
        if repository is None or not rows:
            return
        asked = [await self._head(row, heads) for row in rows]
        try:
            found = await self._repos.compare_heads(
                repository.id, CompareHeads(base_branch=wanted.base_branch, heads=asked)
            )
        except NotFound:
            return  # the base is gone: what was known last stays
        compared = [(row, one) for row, one in zip(rows, found, strict=True) if one is not None]
        await self._record(job, wanted, repository, compared)

    async def _head(self, row: IssueRow, heads: dict[int, Repository]) -> Head:
        """What to compare. What is pushed to where the author was shut out does not come in: no branch, only what is kept."""
        head = heads.get(row.head_repository_id)
        shut = head is not None and head.private and not await self._may_read(row.author_id, head.id)
        branch = "" if shut else row.head_branch
        return Head(repository_id=row.head_repository_id, branch=branch, number=row.number)

    async def _record(
        self,
        job: Job,
        wanted: CheckPulls,
        repository: Repository,
        compared: list[tuple[IssueRow, Comparison]],
    ) -> None:
        """Note the comparisons. What the base has brought is merged; its push says by whom."""
        site = Site(repository, wanted.pusher_id, self._viewing, self._jobs, wanted.confined)
        joined = [(row, one) for row, one in compared if checks.is_joined(row, one)]
        noted = [
            (row, one)
            for row, one in compared
            if (row, one) not in joined or (wanted.side == "base" and one.head_sha != row.head_sha)
        ]
        merged = joined if wanted.side == "base" else []
        found = [await references.find_in_opened(row.title, row.body) for row, _ in merged]
        async with self._db.transaction() as tx:
            await checks.note_comparisons(tx, site, noted)
            for (row, one), referred in zip(merged, found, strict=True):
                await merges.record_merge(tx, site, row, Merged(sha=one.base_sha), referred)
            await self._jobs.finish(tx, job)

    async def take_branch(self, job: Job) -> None:
        """Delete a head branch for whoever merged it, if their request did not come so far."""
        wanted = msgspec.json.decode(job.payload, type=merges.TakeBranch)
        async with self._db.read() as db:
            repository = await repositories.get(db, wanted.repository_id)
        if repository is not None:
            site = Site(repository, wanted.actor_id, self._viewing, self._jobs)
            await merges.take_branch(self._db, self._repos, site, wanted.issue_id)

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
            changed = await repositories.list_untold(db, TELL_MOST)
        told = 0
        for repository_id in changed:
            async with self._db.transaction() as tx:
                told += await tell_count(tx, repository_id)
        return told
