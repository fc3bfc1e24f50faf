"""The job that compares pull requests with their base branch, and records merges by pushes."""

from dataclasses import replace
from datetime import timedelta

import msgspec

from ingot_chassis.clock import now
from ingot_chassis.db.database import Database
from ingot_chassis.errors import NotFound
from ingot_chassis.jobs.jobs import Job, Jobs
from ingot_chassis.jobs.workers import Work
from ingot_contracts.repos.comparisons import CompareHeads, Comparison, Head
from ingot_contracts.repos.imports import GHOST_ID
from ingot_contracts.repos.merges import Merged
from ingot_contracts.repos.repositories import Repository
from ingot_issues.access.rules.repositories import in_unit, may_write
from ingot_issues.accounts import store as accounts
from ingot_issues.clients.repos import HttpRepos
from ingot_issues.merges.rules import recording as merges
from ingot_issues.pull_heads import rules as pull_heads
from ingot_issues.pulls.rules import mergeability
from ingot_issues.pulls.rules.mergeability import CheckMergeability
from ingot_issues.records.rules.context import RepositoryContext
from ingot_issues.records.rules.presenter import Presenter
from ingot_issues.records.store import issues as issue_rows
from ingot_issues.records.store.issues import PullRow
from ingot_issues.references.rules import references_of
from ingot_issues.repositories.store import copies as repositories
from ingot_issues.scheduled_merges import store as scheduled_merge_rows
from ingot_issues.scheduled_merges.rules import scheduling as scheduled_merges

COMPARE_AGAIN = timedelta(seconds=1)
"""The pause before a retry if the record is outdated. Such a retry does not count as a failure."""


class ComparisonJobs:
    """Jobs that compare pull requests again after a push, an edit or a reopening."""

    def __init__(self, database: Database, jobs: Jobs, repos: HttpRepos, presenter: Presenter) -> None:
        self._db, self._jobs, self._repos, self._presenter = database, jobs, repos, presenter

    def handlers(self) -> dict[str, Work]:
        """Return the handlers by kind."""
        return {mergeability.CHECK: self.check_mergeability}

    async def check_mergeability(self, job: Job) -> None:
        """Compare heads with their current base, and record the results.

        Runs again if the record is outdated.
        """
        check = msgspec.json.decode(job.payload, type=CheckMergeability)
        async with self._db.read() as db:
            repository = await repositories.get(db, check.repository_id)
            rows = await issue_rows.list_open_pulls(db, check.issue_ids)
            head_repositories = await repositories.get_many(db, {row.head_repository_id for row in rows})
            authors = [row.author_id for row in rows if row.head_repository_id != row.repository_id]
            restricted = await accounts.list_granted_only(db, authors)
        if moved := [row for row in rows if row.base_branch != check.base_branch]:
            async with self._db.transaction() as tx:
                await mergeability.follow_base(tx, self._jobs, check, moved)
        rows = [row for row in rows if row.base_branch == check.base_branch]
        if repository is None or not rows:
            return
        heads = [
            await self._head(
                row,
                head_repositories,
                follows_branch=not check.edit_id,
                is_restricted=row.author_id in restricted,
            )
            for row in rows
        ]
        context = self._context(repository, check.pusher_id, restricted=check.restricted)
        try:
            comparisons = await self._repos.compare_heads(
                repository.id, CompareHeads(base_branch=check.base_branch, heads=heads)
            )
        except NotFound:
            return  # the base branch is deleted: the last comparison stays
        finally:
            await pull_heads.requeue_closed(self._db, context, rows)
        compared = [
            (row, comparison)
            for row, comparison in zip(rows, comparisons, strict=True)
            if comparison is not None
        ]
        try:
            await self._record(job, check, context, compared)
        except mergeability.Outdated:
            async with self._db.transaction() as tx:
                await self._jobs.finish(tx, job, again_at=now() + COMPARE_AGAIN)

    async def _head(
        self,
        row: PullRow,
        head_repositories: dict[int, Repository],
        *,
        follows_branch: bool,
        is_restricted: bool,
    ) -> Head:
        """Return the head to compare.

        Without a branch, repos uses the commits that it stores under the number. So no new commit of a
        private repository is copied after the author has lost access to it. To a restricted author, a fork is
        private. Without ``follows_branch``, the last compared head is used, because no push announced a new
        one. Imported heads of the ghost account are in the base repository itself.
        """
        repository = head_repositories.get(row.head_repository_id)
        hidden = (
            repository is not None
            and (repository.private or is_restricted)
            and not (row.author_id == GHOST_ID and repository.id == row.repository_id)
            and not await self._may_read(row.author_id, repository.id)
        )
        branch = row.head_branch if follows_branch and not hidden else ""
        counted = row.changed_files is not None
        return Head(
            repository_id=row.head_repository_id,
            branch=branch,
            number=row.number,
            counted_base=row.merge_base if counted else "",
            counted_head=row.head_sha if counted else "",
        )

    async def _record(
        self,
        job: Job,
        check: CheckMergeability,
        context: RepositoryContext,
        compared: list[tuple[PullRow, Comparison]],
    ) -> None:
        """Record the comparisons.

        If a push has brought the commits of a pull request to the base, the pusher has merged it. This needs
        the setting ``autodetect_manual_merge``; otherwise the pull request stays open. A pull request merged
        while it was closed has no merger and closes no issues. Its text may be newer than the merge.

        Pushes of a repeated import merge nothing, because the source reports its merges.
        """
        repository = context.repository
        moved = [row.id for row, comparison in compared if comparison.head_sha != row.head_sha]
        dismisses = bool(moved) and await self._repos.dismisses_approvals(repository.id, check.base_branch)
        disagreed, trusted = await self._disagreed(check, compared)
        detected = compared if repository.autodetect_manual_merge and not check.imported else []
        is_merged = mergeability.may_be_merged_by_push
        if check.reopened:
            is_merged = mergeability.is_merged_while_closed
        merged_by_push = [pair for pair in detected if is_merged(*pair)]
        if check.side == "base":
            merged_by_push = [pair for pair in merged_by_push if await self._was_merged_by_push(check, *pair)]
        recorded = [
            (row, comparison)
            for row, comparison in compared
            if (row, comparison) not in merged_by_push
            or (check.side == "base" and comparison.head_sha != row.head_sha)
        ]
        merged = merged_by_push if check.side == "base" or check.reopened else []
        merged_references = [
            [] if check.reopened else await references_of(row.title, row.body) for row, _ in merged
        ]
        async with self._db.transaction() as tx:
            if not trusted:
                await scheduled_merges.cancel_all(tx, context, disagreed)
            await mergeability.record_comparisons(
                tx, context, recorded, dismisses=dismisses, imported=check.imported
            )
            for (row, comparison), own_references in zip(merged, merged_references, strict=True):
                # For a closed one, the merger and the commit of the base are unknown. The base contains its
                # head.
                merge = Merged(sha=comparison.head_sha if check.reopened else comparison.base_sha)
                merger = replace(context, actor_id=0) if check.reopened else context
                await merges.record_merge(tx, merger, row, merge, own_references)
            if trusted:
                heads = {row.id for row, comparison in compared if comparison.head_sha == check.sha}
                await scheduled_merges.agree(tx, context, heads.intersection(disagreed), check.sha)
            await self._jobs.finish(tx, job)

    async def _disagreed(
        self, check: CheckMergeability, compared: list[tuple[PullRow, Comparison]]
    ) -> tuple[list[int], bool]:
        """Return ids of pull requests whose heads differ from scheduled merges, and if the push is trusted.

        No heads differ after a push to the base, because its pusher did not move them. A push is trusted if
        no heads differ, or if it is not restricted and its pusher may merge. The credential of a restricted
        push may be a deploy key, which acts in the name of the owner.
        """
        if check.side == "base" or not compared:
            return [], True
        async with self._db.read() as db:
            agreed = await scheduled_merge_rows.agreed_heads(db, [row.id for row, _ in compared])
        disagreed = [
            row.id
            for row, comparison in compared
            if agreed.get(row.id, comparison.head_sha) != comparison.head_sha
        ]
        trusted = not disagreed or (
            not check.restricted
            and await self._may_write(check.pusher_id, check.repository_id)
            and await self._may_merge(check)
        )
        return disagreed, trusted

    async def _was_merged_by_push(
        self, check: CheckMergeability, pull: PullRow, comparison: Comparison
    ) -> bool:
        """Return whether the push added the head of the pull request to the base.

        The head at the time of the push counts, because the head branch may have moved since.
        """
        if comparison.head_sha == pull.head_sha:
            return True
        head = check.heads.get(pull.id, pull.head_sha)
        has_head = head == comparison.head_sha or await self._contains(check, comparison.base_sha, head)
        had_head = head != pull.head_sha and await self._contains(check, check.before or pull.base_sha, head)
        return has_head and not had_head

    async def _contains(self, check: CheckMergeability, base: str, sha: str) -> bool:
        """Return whether ``sha`` is ``base`` or an ancestor of it. False if no ref reaches one of them."""
        try:
            ahead = await self._repos.history(check.repository_id, base, sha, None, limit=1)
        except NotFound:
            return False
        return ahead.total == 0

    async def _may_write(self, account_id: int, repository_id: int) -> bool:
        try:
            access = await self._repos.access_of_user_by_id(account_id, repository_id)
            return may_write(in_unit(access, "code"))
        except NotFound:
            return False

    async def _may_merge(self, check: CheckMergeability) -> bool:
        """Return whether the rule of the base branch lets the pusher merge."""
        rule = await self._repos.merge_rule(
            check.repository_id, check.base_branch, check.sha, None, actor_id=check.pusher_id
        )
        return not rule.excludes_caller

    async def _may_read(self, account_id: int, repository_id: int) -> bool:
        try:
            access = await self._repos.access_of_user_by_id(account_id, repository_id)
        except NotFound:
            return False
        return access.of("code") != "none"

    def _context(
        self, repository: Repository, actor_id: int, *, restricted: bool = False
    ) -> RepositoryContext:
        return RepositoryContext(repository, actor_id, self._presenter, self._jobs, restricted)
